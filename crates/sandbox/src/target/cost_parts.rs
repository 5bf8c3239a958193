//! The costs of a replay by parts of its time, which show whether they agree.

use jiff::{SignedDuration, Timestamp};

use evenkeel_core::scaling::pareto_frontier::Cost;

/// The length of a part: two of them are a day with its night.
pub const PART: SignedDuration = SignedDuration::from_hours(12);

/// The parts up to now.
#[derive(Debug, Default)]
pub(super) struct ReplayCostParts {
    /// The end of the part that has begun.
    end: Option<Timestamp>,
    /// The cost at its begin.
    before: Cost,
    costs: Vec<Cost>,
}

impl ReplayCostParts {
    /// It is `now`, and `cost` is all that was counted up to now; nothing at the first call.
    pub(super) fn reach(&mut self, now: Timestamp, cost: Cost) {
        let is_over = self.end.is_some_and(|end| now >= end);
        if is_over {
            self.costs.push(cost.since(&self.before));
            self.before = cost;
        }
        if is_over || self.end.is_none() {
            self.end = Some(now.checked_add(PART).unwrap_or(Timestamp::MAX));
        }
    }

    /// The cost of each part, where `cost` is that of all of them.
    pub(super) fn up_to(mut self, cost: Cost) -> Vec<Cost> {
        if self.end.is_some() {
            self.costs.push(cost.since(&self.before));
        }
        self.costs
    }
}
