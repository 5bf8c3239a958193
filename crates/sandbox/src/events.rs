//! Events of a run, for the listener that shows or records them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;
use jiff::SignedDuration;

use crate::engine::Loads;

#[derive(Debug, Clone)]
pub enum SandboxEvent {
    PodPlaced {
        pod: PodName,
        annotations: BTreeMap<String, String>,
        node: String,
        /// 0 to 10; `None` if the extender was not asked.
        score: Option<i64>,
        /// The in-tree sum and the extender's addition.
        why: String,
    },
    /// No node takes a Pod.
    PodRefused {
        pod: PodName,
        /// Text of the Pod's condition.
        message: String,
    },
    /// An extender did not answer in time, and the Pod was placed without it.
    ExtenderSkipped { pod: PodName },
    Scaled {
        namespace: String,
        workload: String,
        from: u32,
        to: u32,
        why: String,
    },
    /// Loads of nodes and workloads at one step.
    Loads(Loads),
}

/// With the event's time in the scenario.
type Listener = dyn Fn(SignedDuration, SandboxEvent) + Send + Sync;

/// Clones have the same listener.
#[derive(Clone)]
pub struct SandboxEventSink(Arc<Listener>);

impl Default for SandboxEventSink {
    fn default() -> Self {
        Self::new(|_, _| ())
    }
}

impl fmt::Debug for SandboxEventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl SandboxEventSink {
    /// `listener` must not block.
    pub fn new(listener: impl Fn(SignedDuration, SandboxEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// `at` is in time of the scenario.
    pub fn tell(&self, at: SignedDuration, event: SandboxEvent) {
        (self.0)(at, event);
    }
}
