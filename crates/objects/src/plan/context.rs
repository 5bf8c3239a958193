//! The circumstances of a plan: the time, and the replica that plans.

use jiff::Timestamp;

use crate::plan::event::{EventContent, RegardingObject};
use crate::plan::write::Write;

/// The circumstances of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// The name of this replica in Events.
    pub reporter: &'a str,
}

impl PlanContext<'_> {
    /// The writes of Events on one object.
    pub fn writes_of(
        &self,
        events: &[EventContent<'_>],
        regarding: &RegardingObject,
    ) -> Vec<Write> {
        let events = events.iter();
        let writes = events.map(|event| event.at(regarding, self.reporter, self.now));
        writes.collect()
    }
}
