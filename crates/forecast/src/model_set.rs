//! The models that a load is forecast with, by name: several to choose from, or one alone.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::arima::Arima;
use super::arima_gru::ArimaGru;
use super::baseline::Naive;
use super::blend::Blend;
use super::daily_seasonal_naive::DailySeasonalNaive;
use super::ets::Ets;
use super::gbdt::Gbdt;
use super::gru::GruModel;
use super::model::Model;
use super::point_model::PointModel as _;
use super::rolling_model::RollingModel;
use super::smoothing::{self, Alpha, Variant};
use super::swish_net::SwishModel;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelSet {
    /// In service the largest load until there is capacity for it, by
    /// [`PeakForecaster`](super::PeakForecaster); for single steps, a blend of several models.
    #[default]
    Auto,
    SHpa,
    /// Triple exponential smoothing with a fixed factor.
    Tes,
    /// The last value.
    Naive,
    /// The value of a day ago.
    SeasonalNaive,
    Arima,
    /// Exponential smoothing in state space form.
    Ets,
    /// Gradient-boosted trees.
    Gbdt,
    /// Recurrent networks on the load's own changes.
    Gru,
    /// An ARIMA model, and recurrent networks on its errors.
    ArimaGru,
    /// One network for many loads.
    SwishNet,
}

const BLENDED: [ModelSet; 5] = [
    ModelSet::Naive,
    ModelSet::SeasonalNaive,
    ModelSet::Arima,
    ModelSet::Ets,
    ModelSet::Gbdt,
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not accepted; accepted: auto, s-hpa, tes, naive, seasonal-naive, arima, ets, gbdt, gru, arima-gru or swish-net"
)]
pub struct UnknownModel {
    pub given: String,
}

impl ModelSet {
    pub const ALL: [Self; 11] = [
        Self::Auto,
        Self::SHpa,
        Self::Tes,
        Self::Naive,
        Self::SeasonalNaive,
        Self::Arima,
        Self::Ets,
        Self::Gbdt,
        Self::Gru,
        Self::ArimaGru,
        Self::SwishNet,
    ];

    /// Forecasts only once its parameters were estimated, by [`Model::fit`] or, of `swish-net`,
    /// before.
    pub const fn is_fitted(self) -> bool {
        matches!(
            self,
            Self::Arima | Self::Ets | Self::Gbdt | Self::Gru | Self::ArimaGru | Self::SwishNet
        )
    }

    /// The configured word; that of one model is the model's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => Blend::NAME,
            Self::SHpa => smoothing::SHpa::NAME,
            Self::Tes => smoothing::Tes::NAME,
            Self::Naive => Naive::NAME,
            Self::SeasonalNaive => DailySeasonalNaive::NAME,
            Self::Arima => Arima::NAME,
            Self::Ets => Ets::NAME,
            Self::Gbdt => Gbdt::NAME,
            Self::Gru => GruModel::NAME,
            Self::ArimaGru => ArimaGru::NAME,
            Self::SwishNet => SwishModel::NAME,
        }
    }

    /// A model that has seen nothing, for forecasts of `horizon` steps.
    pub(crate) fn model(self, horizon: NonZeroUsize) -> Box<dyn Model> {
        match self {
            Self::Auto => {
                let members = BLENDED.map(|one| one.model(horizon));
                Box::new(Blend::towards(members.into(), horizon))
            }
            Self::SHpa => Box::new(RollingModel::towards(smoothing::SHpa::default(), horizon)),
            Self::Tes => {
                // Triple smoothing by 0.2 weighs the last four minutes of 15-second steps.
                let tes = smoothing::Tes::new(Alpha::clamped(0.2), Variant::Brown);
                Box::new(RollingModel::towards(tes, horizon))
            }
            Self::Naive => Box::new(RollingModel::towards(Naive::default(), horizon)),
            Self::SeasonalNaive => Box::new(DailySeasonalNaive::towards(horizon)),
            Self::Arima => Box::new(RollingModel::towards(Arima::default(), horizon)),
            Self::Ets => Box::new(RollingModel::towards(Ets::default(), horizon)),
            Self::Gbdt => Box::new(Gbdt::towards(horizon)),
            Self::Gru => Box::new(RollingModel::towards(GruModel::towards(horizon), horizon)),
            Self::ArimaGru => Box::new(RollingModel::towards(ArimaGru::towards(horizon), horizon)),
            Self::SwishNet => Box::new(SwishModel::towards(horizon)),
        }
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
            assert_eq!(set.model(NonZeroUsize::MIN).name(), set.as_str());
        }
        let refused = "holt".parse::<ModelSet>().unwrap_err().to_string();
        let told = "\"holt\" is not accepted; accepted: auto, s-hpa, tes, naive, seasonal-naive, arima, ets, gbdt, gru, arima-gru or swish-net";
        assert_eq!(refused, told);
    }
}
