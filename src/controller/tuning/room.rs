//! What is left to give in a round: of a node's headroom, and of a namespace's quota.

use evenkeel_core::tuning::{Container, CpuMemory, Decision, TunedResource};
use evenkeel_core::units::Amount;
use evenkeel_kubernetes::namespace_limits::NamespaceLimits;

/// What a node can still give.
pub(super) struct Left {
    /// Under the rule of headroom.
    pub(super) headroom: CpuMemory<Option<Amount>>,
    /// What kubelet can set aside.
    pub(super) unrequested: CpuMemory<Option<Amount>>,
}

/// What is around a Pod that is decided on.
pub(super) struct Around<'a> {
    pub(super) left: Left,
    /// What this round has given to others of the node.
    pub(super) given: &'a mut Given,
    pub(super) limits: &'a mut NamespaceLimits,
    pub(super) scaled_by: CpuMemory<bool>,
    /// True where what is decided is also done.
    pub(super) is_resized: bool,
}

/// What a round has given to Pods of one node.
#[derive(Default)]
pub(super) struct Given {
    pub(super) limits: CpuMemory<Amount>,
    pub(super) requests: CpuMemory<Amount>,
}

impl Around<'_> {
    /// The amount that the node can still give a Pod.
    pub(super) fn room(&self, resource: TunedResource, guaranteed: bool) -> Option<Amount> {
        let less =
            |left: Option<Amount>, given: Amount| left.map(|left| left.saturating_sub(given));
        let headroom = less(self.left.headroom[resource], self.given.limits[resource]);
        let unrequested = less(
            self.left.unrequested[resource],
            self.given.requests[resource],
        );
        let unrequested = unrequested.filter(|_| guaranteed);
        [headroom, unrequested].into_iter().flatten().min()
    }

    /// Takes what a decision gives away from what is left.
    pub(super) fn give(&mut self, container: &Container, decision: &Decision) {
        if !self.is_resized {
            return;
        }
        let resource = container.resource;
        let grown = |after: Option<Amount>, before: Option<Amount>| {
            let before = before.unwrap_or_default();
            after.unwrap_or_default().saturating_sub(before)
        };
        let limit = grown(decision.values.limit, container.current.limit);
        let request = grown(decision.values.request, container.current.request);
        let Given { limits, requests } = &mut *self.given;
        limits[resource] = limits[resource].saturating_add(limit);
        requests[resource] = requests[resource].saturating_add(request);
        let quotas = &mut *self.limits;
        for (quota, grown) in [
            (&mut quotas.quota_limits[resource], limit),
            (&mut quotas.quota_requests[resource], request),
        ] {
            *quota = quota.map(|left| left.saturating_sub(grown));
        }
    }
}
