//! The place where a program around the service leaves its comparison of a replay for the page.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::api::replay::ReplayComparison;

/// Clones share the comparison.
#[derive(Debug, Clone, Default)]
pub struct ReplayBoard(Arc<ArcSwapOption<ReplayComparison>>);

impl ReplayBoard {
    pub fn put(&self, comparison: ReplayComparison) {
        self.0.store(Some(Arc::new(comparison)));
    }

    /// The last one that was put here.
    pub fn newest(&self) -> Option<Arc<ReplayComparison>> {
        self.0.load_full()
    }
}
