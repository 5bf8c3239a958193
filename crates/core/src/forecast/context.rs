//! Everything a model may read when it forecasts one load.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::calendar::Calendar;
use super::historical_load::HistoricalLoad;
use super::network::SwishLoad;
use super::peak::{GlobalPeaks, PeakContext};
use super::trainer::Trainer;

/// The past of one load, its place in time, and what the models of all targets share.
#[derive(Debug, Clone, Copy)]
pub struct ForecastContext<'a> {
    /// The past of the load.
    pub history: &'a dyn HistoricalLoad,
    /// The time of the newest step of the grid that models have observed; forecasts begin one step
    /// later.
    pub origin: Timestamp,
    /// The distance of the steps of that grid; above zero.
    pub step: SignedDuration,
    /// The part that is the same for all targets.
    pub shared: &'a ModelAssets,
}

/// The context that the models of all targets share.
#[derive(Debug)]
pub struct ModelAssets {
    /// The calendar that the loads live by.
    pub calendar: Calendar,
    /// The weights of the model `global`.
    pub peaks: Arc<GlobalPeaks>,
    /// Fits the models that need a library; without a trainer these forecast nothing.
    pub trainer: Option<Arc<dyn Trainer>>,
    /// The network of `swish-net`, which forecasts nothing without one.
    pub swish: Option<SwishLoad>,
}

impl ModelAssets {
    /// The part that forecasts of peaks read.
    pub(crate) fn for_peaks(&self) -> PeakContext<'_> {
        PeakContext {
            calendar: &self.calendar,
            global: &self.peaks,
        }
    }
}

impl Default for ModelAssets {
    /// The calendar of UTC, the weights that are shipped, no trainer and no network.
    fn default() -> Self {
        Self {
            calendar: Calendar::default(),
            peaks: GlobalPeaks::shipped(),
            trainer: None,
            swish: None,
        }
    }
}

impl ForecastContext<'_> {
    /// False where the load at the origin was uncertain (see [`LoadRingBuffer::bridge`]): models follow such a
    /// step, and are not judged by it.
    #[must_use]
    pub(super) fn is_judged(&self) -> bool {
        !self.history.is_uncertain(self.origin)
    }

    /// The time of the step `ahead` steps after the origin; `None` beyond [`Timestamp::MAX`].
    #[must_use]
    pub(super) fn time_of(&self, ahead: usize) -> Option<Timestamp> {
        let distance = self.step.checked_mul(i32::try_from(ahead).ok()?)?;
        self.origin.checked_add(distance).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::load_ring_buffer::LoadRingBuffer;

    #[test]
    fn steps_count_from_the_origin() {
        let (history, shared) = (LoadRingBuffer::default(), ModelAssets::default());
        let context = ForecastContext {
            history: &history,
            origin: "2027-01-15T23:59:30Z".parse().unwrap(),
            step: SignedDuration::from_secs(15),
            shared: &shared,
        };
        assert_eq!(context.time_of(3), "2027-01-16T00:00:15Z".parse().ok());
        assert_eq!(context.time_of(usize::MAX), None);
    }
}
