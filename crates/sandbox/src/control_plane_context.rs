//! The time that every part of the control plane goes by, and where it tells of its work.

use super::recorder::Recorder;
use super::{SandboxEvent, SandboxEventSink, Timeline};

/// The time and the ears of a part.
#[derive(Debug, Clone)]
pub struct ControlPlaneContext {
    /// The clock of the cluster, and when the scenario began on it.
    pub timeline: Timeline,
    /// The sink of the events of the run.
    pub events: SandboxEventSink,
    pub recorder: Recorder,
}

impl ControlPlaneContext {
    /// Sends an event to the sink, with the time of now.
    pub fn tell(&self, event: SandboxEvent) {
        self.events.tell(self.timeline.elapsed(), event);
    }
}
