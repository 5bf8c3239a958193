//! The time and the event sink of every part of the control plane.

use super::recorder::Recorder;
use super::{SandboxEvent, SandboxEventSink, Timeline};

#[derive(Debug, Clone)]
pub struct ControlPlaneContext {
    /// The cluster's clock, and the begin of the scenario on it.
    pub timeline: Timeline,
    pub events: SandboxEventSink,
    pub recorder: Recorder,
}

impl ControlPlaneContext {
    /// With the present time.
    pub fn tell(&self, event: SandboxEvent) {
        self.events.tell(self.timeline.elapsed(), event);
    }
}
