//! What every simulated part of the cluster goes by, and by what it tells what it does.

use super::recorder::Recorder;
use super::{Event, Events, Timeline};

/// The time and the ears of a part.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The clock of the cluster, and when the scenario began on it.
    pub timeline: Timeline,
    /// For whoever watches the run.
    pub events: Events,
    /// For `kubectl describe`.
    pub recorder: Recorder,
}

impl Parts {
    /// Tells whoever watches the run of something that happens now.
    pub fn tell(&self, event: Event) {
        self.events.tell(self.timeline.elapsed(), event);
    }
}
