//! The models that a load is forecast with, by name: several to choose from, or one alone.

pub mod arima;
mod arima_gru;
pub(crate) mod baseline;
mod blend;
mod corrector;
mod daily_seasonal_naive;
mod ets;
mod gbdt;
pub(crate) mod gru;
pub(crate) mod smoothing;
pub(crate) mod swish_net;

use std::num::NonZeroUsize;

use evenkeel_units::words;

use self::arima::Arima;
use self::arima_gru::ArimaGru;
use self::baseline::Naive;
use self::blend::Blend;
use self::daily_seasonal_naive::DailySeasonalNaive;
use self::ets::Ets;
use self::gbdt::Gbdt;
use self::gru::GruModel;
use self::smoothing::{Alpha, Variant};
use self::swish_net::SwishModel;
use crate::model::Model;
use crate::point_model::PointModel as _;
use crate::rolling_model::RollingModel;

words! {
    #[derive(Default)]
    pub enum ModelSet {
        /// In service the largest load until there is capacity for it, by
        /// [`PeakForecaster`](crate::PeakForecaster); for single steps, a blend of several models.
        #[default]
        Auto = Blend::NAME,
        SHpa = smoothing::SHpa::NAME,
        /// Triple exponential smoothing with a fixed factor.
        Tes = smoothing::Tes::NAME,
        /// The last value.
        Naive = Naive::NAME,
        /// The value of a day ago.
        SeasonalNaive = DailySeasonalNaive::NAME,
        Arima = Arima::NAME,
        /// Exponential smoothing in state space form.
        Ets = Ets::NAME,
        /// Gradient-boosted trees.
        Gbdt = Gbdt::NAME,
        /// Recurrent networks on the load's own changes.
        Gru = GruModel::NAME,
        /// An ARIMA model, and recurrent networks on its errors.
        ArimaGru = ArimaGru::NAME,
        /// One network for many loads.
        SwishNet = SwishModel::NAME,
    }
    accepted: "auto, s-hpa, tes, naive, seasonal-naive, arima, ets, gbdt, gru, arima-gru or swish-net"
}

const BLENDED: [ModelSet; 5] = [
    ModelSet::Naive,
    ModelSet::SeasonalNaive,
    ModelSet::Arima,
    ModelSet::Ets,
    ModelSet::Gbdt,
];

impl ModelSet {
    /// Forecasts only once its parameters were estimated, by [`Model::fit`] or, of `swish-net`,
    /// before.
    pub const fn is_fitted(self) -> bool {
        matches!(
            self,
            Self::Arima | Self::Ets | Self::Gbdt | Self::Gru | Self::ArimaGru | Self::SwishNet
        )
    }

    /// The same for the hours ahead.
    pub(crate) fn model_for_hours_ahead(self, horizon: NonZeroUsize) -> Box<dyn Model> {
        match self {
            Self::Auto => Box::new(Blend::at_each_step(blended(horizon), horizon)),
            other => other.model(horizon),
        }
    }

    /// A model that has seen nothing, for forecasts of `horizon` steps.
    pub(crate) fn model(self, horizon: NonZeroUsize) -> Box<dyn Model> {
        match self {
            Self::Auto => Box::new(Blend::towards(blended(horizon), horizon)),
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

fn blended(horizon: NonZeroUsize) -> Vec<Box<dyn Model>> {
    BLENDED.map(|one| one.model(horizon)).into()
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
