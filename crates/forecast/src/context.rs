//! The input of a model's forecast of one load.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::calendar::Calendar;
use super::historical_load::HistoricalLoad;
use super::network::SwishLoad;
use super::peak::{GlobalPeaks, PeakContext};
use super::residual_checks::ResidualChecks;
use super::trainer::Trainer;

/// The past of one load, its place in time, and the assets that all targets share.
#[derive(Debug, Clone, Copy)]
pub struct ForecastContext<'a> {
    pub history: &'a dyn HistoricalLoad,
    /// The newest step of the grid that models have observed; forecasts begin one step later.
    pub origin: Timestamp,
    /// Distance of the steps; above zero.
    pub step: SignedDuration,
    pub shared: &'a ModelAssets,
}

#[derive(Debug)]
pub struct ModelAssets {
    pub calendar: Calendar,
    pub peaks: Arc<GlobalPeaks>,
    /// Fits the models that need a library; without a trainer these have no forecast.
    pub trainer: Option<Arc<dyn Trainer>>,
    /// Without it `swish-net` has no forecast.
    pub swish: Option<SwishLoad>,
    /// Applied when a model is fitted.
    pub residual_checks: ResidualChecks,
}

impl ModelAssets {
    /// The same with the network of one load.
    pub fn with_swish(&self, swish: Option<SwishLoad>) -> Self {
        Self {
            calendar: self.calendar.clone(),
            peaks: Arc::clone(&self.peaks),
            trainer: self.trainer.clone(),
            swish,
            residual_checks: self.residual_checks,
        }
    }

    pub fn for_peaks(&self) -> PeakContext<'_> {
        PeakContext {
            calendar: &self.calendar,
            global: &self.peaks,
        }
    }
}

impl Default for ModelAssets {
    /// UTC, the shipped weights, no trainer and no network; the verdicts of residual checks are reported.
    fn default() -> Self {
        Self {
            calendar: Calendar::default(),
            peaks: GlobalPeaks::shipped(),
            trainer: None,
            swish: None,
            residual_checks: ResidualChecks::default(),
        }
    }
}

impl ForecastContext<'_> {
    /// False where the load at the origin was uncertain ([`LoadRingBuffer::bridge`]): models
    /// observe such a step but are not judged by it.
    pub(crate) fn is_judged(&self) -> bool {
        !self.history.is_uncertain(self.origin)
    }

    /// `ahead` steps after the origin; `None` beyond [`Timestamp::MAX`].
    pub(crate) fn time_of(&self, ahead: usize) -> Option<Timestamp> {
        let distance = self.step.checked_mul(i32::try_from(ahead).ok()?)?;
        self.origin.checked_add(distance).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_ring_buffer::LoadRingBuffer;

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
