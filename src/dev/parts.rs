//! What every simulated part of the cluster goes by, and by what it tells what it does.

use super::recorder::Recorder;
use super::{Events, Pace};

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
