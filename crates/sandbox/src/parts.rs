//! What every simulated part of the cluster goes by, and by what it tells what it does.

use jiff::Timestamp;

use super::recorder::Recorder;
use super::{Event, Events, Pace};

/// The time and the ears of a part.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The scenario's time.
    pub pace: Pace,
    /// For whoever watches the run.
    pub events: Events,
    /// For `kubectl describe`.
    pub recorder: Recorder,
}

impl Parts {
    /// Tells whoever watches the run what has happened at a time of the clock.
    pub fn tell(&self, now: Timestamp, event: Event) {
        self.events.tell(self.pace.scenario(now), event);
    }
}
