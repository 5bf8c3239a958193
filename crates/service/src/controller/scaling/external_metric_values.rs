//! The loads that the replicas of each target must be ready for, after the newest tick. Readers
//! take no lock and read by namespace, because each HPA asks for the loads of its own.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use evenkeel_scaling::external_metrics::ServedLoad;

pub type LoadsByNamespace = HashMap<Arc<str>, Vec<ServedLoad>>;

/// The newest loads of all targets; clones share them.
#[derive(Debug, Clone, Default)]
pub struct ServedLoads(Arc<ArcSwapOption<LoadsByNamespace>>);

impl ServedLoads {
    /// The loads after the newest tick; `None` before the first.
    pub fn newest(&self) -> Option<Arc<LoadsByNamespace>> {
        self.0.load_full()
    }

    /// Takes the place of the loads of the tick before.
    pub fn publish(&self, loads: impl IntoIterator<Item = (Arc<str>, ServedLoad)>) {
        let mut by_namespace = LoadsByNamespace::new();
        for (namespace, load) in loads {
            by_namespace.entry(namespace).or_default().push(load);
        }
        self.0.store(Some(Arc::new(by_namespace)));
    }
}
