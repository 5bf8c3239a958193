//! The rules of a replica profile.

use jiff::SignedDuration;

use crate::replica_counts::ReplicaCounts;
use crate::replica_profile::direction::Direction;

/// The rules of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileRules {
    pub wanted: ReplicaCounts,
    pub paused: bool,
    pub direction: Direction,
    /// The time for which a Pod takes no traffic before it is deleted.
    pub drain: SignedDuration,
}
