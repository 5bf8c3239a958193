//! The time that every part of the control plane goes by, and where it tells of its work.

use super::recorder::Recorder;
use super::{Event, Events, Timeline};

/// The time and the ears of a part.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The clock of the cluster, and when the scenario began on it.
    pub timeline: Timeline,
    /// For whoever watches the run.
    pub events: Events,
    pub recorder: Recorder,
}

impl Parts {
    /// Tells whoever watches the run of something that happens now.
    pub fn tell(&self, event: Event) {
        self.events.tell(self.timeline.elapsed(), event);
    }
}
