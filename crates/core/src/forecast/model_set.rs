//! The models that a load is forecast with, by name: several to choose from, or one alone.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::arima::Arima;
use super::baseline::Naive;
use super::daily::DailySeasonalNaive;
use super::ets::Ets;
use super::model::Model;
use super::point_model::PointModel as _;
use super::rolling::Rolling;
use super::smoothing::{self, Alpha, Variant};

/// The models that a load is forecast with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelSet {
    /// Several, of which the best is in use.
    #[default]
    Auto,
    /// The model `s-hpa` alone.
    SHpa,
    /// Triple exponential smoothing with a fixed factor, alone.
    Tes,
    /// The last value.
    Naive,
    /// The value of a day ago.
    SeasonalNaive,
    /// An ARIMA model, alone.
    Arima,
    /// Exponential smoothing in state space form, alone.
    Ets,
}

/// A word that names no models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted: auto, s-hpa, tes, naive, seasonal-naive, arima or ets")]
pub struct UnknownModel {
    /// The word that was refused.
    pub given: String,
}

impl ModelSet {
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::SHpa,
        Self::Tes,
        Self::Naive,
        Self::SeasonalNaive,
        Self::Arima,
        Self::Ets,
    ];

    /// True for models that forecast only once their parameters were estimated on the past, by [`Model::fit`].
    #[must_use]
    pub const fn is_fitted(self) -> bool {
        matches!(self, Self::Arima | Self::Ets)
    }

    /// The word for it; that of one model is the model's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::SHpa => smoothing::SHpa::NAME,
            Self::Tes => smoothing::Tes::NAME,
            Self::Naive => Naive::NAME,
            Self::SeasonalNaive => DailySeasonalNaive::NAME,
            Self::Arima => Arima::NAME,
            Self::Ets => Ets::NAME,
        }
    }

    /// Models that have seen nothing, scored `horizon` steps ahead; of equals the first is preferred.
    pub(super) fn models(self, horizon: NonZeroUsize) -> Vec<Box<dyn Model>> {
        let model: Box<dyn Model> = match self {
            Self::Auto => {
                let all = [Self::SHpa, Self::Tes, Self::SeasonalNaive];
                return all.iter().flat_map(|one| one.models(horizon)).collect();
            }
            Self::SHpa => Box::new(Rolling::towards(smoothing::SHpa::default(), horizon)),
            Self::Tes => {
                // Triple smoothing by 0.2 weighs the last four minutes of 15-second steps.
                let tes = smoothing::Tes::new(Alpha::clamped(0.2), Variant::Brown);
                Box::new(Rolling::towards(tes, horizon))
            }
            Self::Naive => Box::new(Rolling::towards(Naive::default(), horizon)),
            Self::SeasonalNaive => Box::new(DailySeasonalNaive::towards(horizon)),
            Self::Arima => Box::new(Rolling::towards(Arima::default(), horizon)),
            Self::Ets => Box::new(Rolling::towards(Ets::default(), horizon)),
        };
        vec![model]
    }
}

impl fmt::Display for ModelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ModelSet {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| UnknownModel {
            given: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_alone_goes_by_its_own_name() {
        for set in ModelSet::ALL {
            assert_eq!(set.as_str().parse(), Ok(set));
            let models = set.models(NonZeroUsize::MIN);
            let names: Vec<_> = models.iter().map(|model| model.name()).collect();
            match set {
                ModelSet::Auto => assert_eq!(names, ["s-hpa", "tes", "seasonal-naive"]),
                one => assert_eq!(names, [one.as_str()]),
            }
        }
        let refused = "holt".parse::<ModelSet>().unwrap_err().to_string();
        let told =
            "\"holt\" is not accepted: auto, s-hpa, tes, naive, seasonal-naive, arima or ets";
        assert_eq!(refused, told);
    }
}
