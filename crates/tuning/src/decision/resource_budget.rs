//! The amounts that a node and a namespace's quotas can still give in a round. An amount given to
//! one Pod is gone for the next.

use evenkeel_placement::headroom;
use evenkeel_placement::node_table::NodeState;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::{Amount, Ratio};

use super::resource_decision::{TuningDecision, TuningInput};

/// Possible growth of limits and requests; `None` where nothing holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceBudget {
    pub limits: CpuMemory<Option<Amount>>,
    pub requests: CpuMemory<Option<Amount>>,
}

impl ResourceBudget {
    /// Limits under the headroom rule, requests as far as kubelet can set them aside.
    pub fn of_node(node: &NodeState, ratio: Ratio) -> Self {
        let left = headroom::left(&node.load, ratio);
        Self {
            limits: CpuMemory::from_fn(|resource| left[resource.resource()]),
            requests: CpuMemory::from_fn(|resource| {
                let of = resource.resource();
                let allocatable = node.detail.allocatable[of]?;
                Some(allocatable.saturating_sub(node.detail.committed[of]))
            }),
        }
    }

    pub fn without(&self, given: &ResourceGrants) -> Self {
        let less = |all: &CpuMemory<Option<Amount>>, given: &CpuMemory<Amount>| {
            CpuMemory::from_fn(|resource| {
                let left = all[resource];
                left.map(|left| left.saturating_sub(given[resource]))
            })
        };
        Self {
            limits: less(&self.limits, &given.limits),
            requests: less(&self.requests, &given.requests),
        }
    }

    /// Possible growth of a limit; of a Guaranteed Pod's, its request grows with it.
    pub fn for_limit(&self, resource: TunedResource, guaranteed: bool) -> Option<Amount> {
        let requests = self.requests[resource].filter(|_| guaranteed);
        [self.limits[resource], requests]
            .into_iter()
            .flatten()
            .min()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceGrants {
    limits: CpuMemory<Amount>,
    requests: CpuMemory<Amount>,
}

impl ResourceGrants {
    pub fn count(&mut self, container: &TuningInput, decision: &TuningDecision) {
        let resource = container.resource;
        let (before, after) = (container.current, decision.values);
        for (given, before, after) in [
            (&mut self.limits, before.limit, after.limit),
            (&mut self.requests, before.request, after.request),
        ] {
            let before = before.unwrap_or_default();
            let grown = after.unwrap_or_default().saturating_sub(before);
            given[resource] = given[resource].saturating_add(grown);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::request_and_limit::RequestAndLimit;

    use super::*;
    use crate::decision::{Trend, TuningBounds};

    fn both(amount: u64) -> CpuMemory<Option<Amount>> {
        CpuMemory::from_fn(|_| Some(Amount::new(amount)))
    }

    fn values(request: u64, limit: u64) -> RequestAndLimit {
        RequestAndLimit {
            request: Some(Amount::new(request)),
            limit: Some(Amount::new(limit)),
        }
    }

    /// A decision on cpu.
    fn count(given: &mut ResourceGrants, before: RequestAndLimit, after: RequestAndLimit) {
        let container = TuningInput {
            resource: TunedResource::Cpu,
            current: before,
            original: None,
            was_killed: false,
            guaranteed: false,
            scaled_by: false,
            working_set: None,
            bounds: TuningBounds::default(),
        };
        let decision = TuningDecision {
            trend: Trend::Rising,
            target: Amount::ZERO,
            values: after,
            limited_by: None,
        };
        given.count(&container, &decision);
    }

    #[test]
    fn what_one_is_given_is_not_there_for_the_next_and_what_is_taken_comes_later() {
        let room = ResourceBudget {
            limits: both(200),
            requests: both(100),
        };
        let mut given = ResourceGrants::default();
        count(&mut given, values(100, 300), values(130, 350));
        let left = room.without(&given);
        let amount = |value| Some(Amount::new(value));
        assert_eq!(left.for_limit(TunedResource::Cpu, false), amount(150));
        assert_eq!(left.for_limit(TunedResource::Cpu, true), amount(70));
        assert_eq!(left.for_limit(TunedResource::Memory, false), amount(200));
        // It is not certain yet that kubelet takes it away.
        count(&mut given, values(100, 300), values(50, 100));
        assert_eq!(room.without(&given), left);
        count(&mut given, values(100, 300), values(100, 900));
        let left = room.without(&given);
        assert_eq!(left.for_limit(TunedResource::Cpu, false), amount(0));
    }

    #[test]
    fn what_nothing_holds_stays_so() {
        let mut given = ResourceGrants::default();
        count(&mut given, values(1, 1), values(9, 9));
        let left = ResourceBudget::default().without(&given);
        assert_eq!(left, ResourceBudget::default());
        assert_eq!(left.for_limit(TunedResource::Cpu, true), None);
    }
}
