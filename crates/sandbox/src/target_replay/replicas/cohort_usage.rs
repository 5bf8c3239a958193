//! The use of the Pods of a cohort.

use evenkeel_units::Resource;
use jiff::SignedDuration;

use super::Cohort;
use crate::target_replay::settings::ReplayTarget;

impl Cohort {
    /// Use of each Pod; a serving one carries `each`.
    pub(super) fn used(&self, target: &ReplayTarget, each: f64, at: SignedDuration) -> f64 {
        // A starting Pod uses extra cpu, but no extra memory that it would release later.
        let busy = target.resource == Resource::Cpu;
        let carried = target.capacity.request() * target.capacity.target();
        let warm_up = if busy {
            carried * target.edges.warm_up
        } else {
            0.0
        };
        match self.end {
            Some(end) => end.load,
            None if self.is_cutoff => 0.0,
            None if self.ready > at => warm_up,
            None if self.ready.saturating_add(target.edges.settling) > at => each + warm_up,
            None => each,
        }
    }
}
