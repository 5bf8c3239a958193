//! State of every target after the newest tick, read without a lock by the API and by the metrics.

use std::sync::Arc;

use arc_swap::ArcSwap;
use evenkeel_scaling::status::dashboard::ScalingStatus;

/// The newest state of all targets; clones share it.
#[derive(Debug, Clone, Default)]
pub struct StatusStore(Arc<ArcSwap<Vec<Arc<ScalingStatus>>>>);

impl StatusStore {
    pub fn targets(&self) -> Arc<Vec<Arc<ScalingStatus>>> {
        self.0.load_full()
    }

    pub fn publish(&self, targets: Vec<Arc<ScalingStatus>>) {
        self.0.store(Arc::new(targets));
    }
}
