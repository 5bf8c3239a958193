//! The Pods of a target, as a trial knows them.

use std::sync::Arc;

use evenkeel_hpa::{Behavior, Tolerances};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_units::narrowed;

use super::hpa_rate_limits;
use super::hpa_rate_limits::ScalingRateLimits;
use super::pareto_frontier::is_avoidably_under_provisioned;
use crate::load::horizon::Horizon;
use crate::load::hpa_aware::PodCapacity;

/// The minutes that counts are remembered for: the longest lead, and one more.
pub(super) const RING: usize = 20;

/// The factor within which two amounts are about as much.
const ABOUT: f32 = 1.1;

/// The Pods of a target and the rules of its HPA, as a trial knows them.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPods {
    capacity: PodCapacity,
    bounds: ReplicaBounds,
    /// The whole minutes from a load until the Pods that were asked for on its measurement are ready.
    pub(super) lead: usize,
    pub(super) tolerances: Tolerances,
    /// The minutes of a block of those for which the HPA looks back before it takes Pods away.
    block: usize,
    /// How far it may go in a minute, where that is ever met.
    pub(super) limits: Option<Arc<ScalingRateLimits>>,
}

/// The properties that decide if results for some Pods hold for others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PodsKind {
    per_pod: f32,
    lead: u8,
}

impl PodsKind {
    /// True where each carries about as much, and they come about as late.
    pub(crate) fn is_like(self, other: Self) -> bool {
        let more = self.per_pod / other.per_pod;
        (1.0 / ABOUT..=ABOUT).contains(&more) && self.lead.abs_diff(other.lead) <= 1
    }
}

impl TrialPods {
    /// The Pods of a target for one of its loads, with the default rules of the HPA.
    pub fn new(capacity: PodCapacity, bounds: ReplicaBounds, horizon: &Horizon) -> Self {
        let Horizon { lag, lead } = horizon;
        let reach = lead.total().saturating_add(lag.total());
        let minutes = reach.as_secs().saturating_add(59) / 60;
        let minutes = usize::try_from(minutes).unwrap_or(RING);
        Self {
            capacity,
            bounds,
            lead: minutes.clamp(1, RING - 1),
            tolerances: Tolerances::default(),
            block: hpa_rate_limits::block(None),
            limits: None,
        }
    }

    /// The same where the HPA has rules of its own.
    pub(crate) fn ruled_by(self, tolerances: Tolerances, behavior: Option<&Behavior>) -> Self {
        Self {
            tolerances,
            block: hpa_rate_limits::block(behavior),
            limits: ScalingRateLimits::new(behavior).map(Arc::new),
            ..self
        }
    }

    /// The properties that are stored beside the results for these Pods.
    pub(crate) fn kind(&self) -> PodsKind {
        PodsKind {
            per_pod: narrowed(self.per_pod()).unwrap_or(f32::MAX),
            lead: u8::try_from(self.lead).unwrap_or(u8::MAX),
        }
    }

    /// The block of minutes that a minute lies in; `None` where the HPA does not look back.
    pub(super) const fn block(&self, minute: usize) -> Option<usize> {
        minute.checked_div(self.block)
    }

    /// True if so many ready Pods are under-provisioned where more were allowed.
    pub(super) fn carry_too_much(&self, load: f64, ready: u16) -> bool {
        let most = self.bounds.max();
        is_avoidably_under_provisioned(load, i32::from(ready), self.capacity, most)
    }

    pub(super) fn per_pod(&self) -> f64 {
        self.capacity.request() * self.capacity.target()
    }

    pub(super) fn most(&self) -> u16 {
        u16::try_from(self.bounds.max()).unwrap_or(u16::MAX)
    }

    /// The count that carries a load, each Pod so much, within the bounds.
    pub(super) fn count(&self, load: f64, each: f64) -> u16 {
        let least = u16::try_from(self.bounds.min().max(1)).unwrap_or(u16::MAX);
        let count = (load / each).ceil().min(f64::from(self.most()));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "loads are not negative, and the most is of 16 bits"
        )]
        let count = count as u16;
        count.max(least)
    }
}
