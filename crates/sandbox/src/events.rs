//! Events of a run, for the listener that shows or records them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::engine::Loads;
use evenkeel_core::placement::usage::PodName;

/// Something that happened in the cluster.
#[derive(Debug, Clone)]
pub enum SandboxEvent {
    /// A Pod was bound.
    PodPlaced {
        pod: PodName,
        /// The annotations of the Pod.
        annotations: BTreeMap<String, String>,
        node: String,
        /// The extender's score of the node, 0 to 10; `None` where it was not asked.
        score: Option<i64>,
        /// The in-tree sum and what the extender added to it.
        why: String,
    },
    /// No node takes a Pod.
    PodRefused {
        pod: PodName,
        /// The text of its condition.
        message: String,
    },
    /// An extender did not answer in time, and the Pod was placed without it.
    ExtenderSkipped { pod: PodName },
    /// A workload was scaled.
    Scaled {
        namespace: String,
        workload: String,
        from: u32,
        /// Replicas from now on.
        to: u32,
        why: String,
    },
    /// The loads of nodes and workloads at one step.
    Loads(Loads),
}

/// Takes events with their time in the scenario.
type Listener = dyn Fn(SignedDuration, SandboxEvent) + Send + Sync;

/// Passes events to one listener; clones have the same listener.
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
    /// Tells `listener`, which must not block.
    pub fn new(listener: impl Fn(SignedDuration, SandboxEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Tells of an event at a time of the scenario.
    pub fn tell(&self, at: SignedDuration, event: SandboxEvent) {
        (self.0)(at, event);
    }
}
