//! The pauses between Events of one reason.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// The least time between two Events of one reason, and between two recommendations.
const QUIET: SignedDuration = SignedDuration::from_mins(5);

/// When each reason last had an Event, of one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct EventPauses(BTreeMap<&'static str, Timestamp>);

impl EventPauses {
    /// True where an Event of `reason` may be written at `now`, which is then noted.
    pub(super) fn allow(&mut self, reason: &'static str, now: Timestamp) -> bool {
        let last = self.0.get(reason).copied();
        let quiet = last.is_some_and(|last| now.duration_since(last) < QUIET);
        if !quiet {
            self.0.insert(reason, now);
        }
        !quiet
    }
}
