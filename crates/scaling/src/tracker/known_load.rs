//! The known loads of a target, for a forecast beside its ticks.

use evenkeel_forecast::{ModelSet, RegularSeries};
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::LoadTracker;
use crate::load::hpa_aware::PodCapacity;

/// A load that is forecast, with its past.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownLoad {
    pub signal: Signal,
    /// The model that it is forecast by.
    pub model: ModelSet,
    /// The load that one Pod is to carry.
    pub capacity: PodCapacity,
    /// Its highest minute in each ten minutes of the last eight days.
    pub highs: RegularSeries,
}

/// The loads of a workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownLoads {
    pub loads: Vec<KnownLoad>,
    /// True while their past is still being read.
    pub is_filling: bool,
}

impl LoadTracker {
    /// The loads that are forecast, and of which something is known.
    pub(crate) fn known_loads(&self, now: Timestamp) -> Vec<KnownLoad> {
        let known = self.loads.iter().filter_map(|load| {
            let (model, capacity) = load.forecast_by?;
            Some(KnownLoad {
                signal: load.signal.clone(),
                model,
                capacity,
                highs: load.history.ten_minute_highs(now)?,
            })
        });
        known.collect()
    }
}
