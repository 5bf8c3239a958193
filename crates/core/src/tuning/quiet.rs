//! Whether a workload may be resized, as far as its horizontal scaling goes: who changes replicas and
//! resources at once measures the one by the other.

use jiff::{SignedDuration, Timestamp};

/// What is known of the horizontal scaling of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quiet {
    /// When its replicas or bounds were last changed.
    pub scaled: Option<Timestamp>,
    /// True where a forecast asks for other replicas than it has.
    pub is_called_for: bool,
}

impl Quiet {
    /// True where nothing has scaled the workload for `fresh`, and no forecast is about to.
    #[must_use]
    pub fn allows(&self, now: Timestamp, fresh: SignedDuration) -> bool {
        let is_fresh = |at: Timestamp| now.duration_since(at) < fresh;
        !self.is_called_for && !self.scaled.is_some_and(is_fresh)
    }
}
