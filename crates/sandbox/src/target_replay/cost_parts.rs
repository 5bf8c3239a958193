//! Costs of a replay by parts of its time, which show whether they agree.

use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use jiff::{SignedDuration, Timestamp};

/// Two parts are a day with its night.
pub const PART: SignedDuration = SignedDuration::from_hours(12);

#[derive(Debug, Default)]
pub(super) struct ReplayCostParts {
    /// End of the present part.
    end: Option<Timestamp>,
    /// At the begin of the present part.
    before: Cost,
    costs: Vec<Cost>,
}

impl ReplayCostParts {
    /// `cost` is the total up to `now`; nothing happens at the first call.
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

    /// By part; `cost` is the total.
    pub(super) fn up_to(mut self, cost: Cost) -> Vec<Cost> {
        if self.end.is_some() {
            self.costs.push(cost.since(&self.before));
        }
        self.costs
    }
}
