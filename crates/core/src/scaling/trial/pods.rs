//! The Pods of a target, as a trial knows them.

use crate::scaling::bounds::Bounds;
use crate::scaling::horizon::Lead;
use crate::scaling::hpa_aware::PodCapacity;

/// The load over the target from which Pods carry too much: the HPA's own tolerance.
pub const TOO_MUCH: f64 = 1.1;
/// The minutes that counts are remembered for: the longest lead, and one more.
pub(super) const RING: usize = 20;

/// The Pods that a trial is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialPods {
    capacity: PodCapacity,
    bounds: Bounds,
    /// The whole minutes from a measured load until the Pods that it asked for are ready.
    pub(super) lead: usize,
}

impl TrialPods {
    /// The Pods of a target by one of its loads.
    #[must_use]
    pub fn new(capacity: PodCapacity, bounds: Bounds, lead: &Lead) -> Self {
        let minutes = lead.total().as_secs().saturating_add(59) / 60;
        let minutes = usize::try_from(minutes).unwrap_or(RING);
        Self {
            capacity,
            bounds,
            lead: minutes.clamp(1, RING - 1),
        }
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
