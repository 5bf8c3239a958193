//! The newest round of measurements, as the scaling loop takes it.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use evenkeel_scaling::tick::ScalingSample;
use jiff::Timestamp;

use crate::metrics::MetricsRound;

/// The place of the newest round; clones share it.
#[derive(Debug, Clone, Default)]
pub struct LatestScalingSample(Arc<ArcSwapOption<ScalingSample>>);

impl LatestScalingSample {
    /// Takes a round that was asked for at `at`.
    pub fn put(&self, round: &MetricsRound, at: Timestamp) {
        let sample = ScalingSample::new(Arc::clone(&round.usage), round.pods_as_of, at);
        self.0.store(Some(Arc::new(sample)));
    }

    pub(super) fn newest(&self) -> Option<Arc<ScalingSample>> {
        self.0.load_full()
    }
}
