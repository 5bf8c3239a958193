//! The circumstances of a plan: the time, and the replica that plans.

use jiff::Timestamp;

/// The circumstances of a plan.
#[derive(Debug, Clone, Copy)]
pub struct ScalingContext<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// The name of this replica in Events.
    pub reporter: &'a str,
}
