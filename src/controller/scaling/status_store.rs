//! State of every target after the newest tick, read without a lock by the API and by the metrics.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::api::scaling::TargetStatus;
use evenkeel_core::scaling::ScalingMode;

/// The newest state of all targets; clones share it.
#[derive(Debug, Clone, Default)]
pub struct StatusStore(Arc<ArcSwap<Vec<BoardEntry>>>);

#[derive(Debug, Clone)]
pub struct BoardEntry {
    /// The mode that holds; the status has it as a word for readers.
    pub mode: ScalingMode,
    pub status: Arc<TargetStatus>,
    /// Decisions since the start, by the rule that limited them.
    pub decisions: Arc<[(&'static str, u64)]>,
}

impl StatusStore {
    #[must_use]
    pub fn targets(&self) -> Arc<Vec<BoardEntry>> {
        self.0.load_full()
    }

    pub fn publish(&self, targets: Vec<BoardEntry>) {
        self.0.store(Arc::new(targets));
    }
}

impl From<TargetStatus> for BoardEntry {
    /// A target that has not decided yet.
    fn from(status: TargetStatus) -> Self {
        Self {
            mode: status.mode.parse().unwrap_or_default(),
            status: Arc::new(status),
            decisions: Arc::default(),
        }
    }
}
