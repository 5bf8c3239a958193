//! Scaling in ahead of a falling load (`CLBP` 3.4), where the user allows it.
//!
//! The upper 95 % bound of the forecast and the load as it is now say how few replicas are enough. The
//! stabilisation window, which waits for a load that has fallen, does not hold then. The scaleDown policies
//! and the cool-down do.

use evenkeel_hpa::{Behavior, ScaleEvents, scale_down_limit};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::{SignedDuration, Timestamp};

use super::ds_hpa::PredictiveProposal;
use super::input::DecisionInput;
use super::{DecisionContext, PredictiveScaleIn, ds_hpa, end_of_pause};
use crate::limits::LimitedBy;

/// The pause from a scale-in ahead of the load to the next one, unless `behavior` has a window.
const AFTER_IN: SignedDuration = SignedDuration::from_mins(5);

/// The replicas that are enough ahead of a falling load, and the rule that keeps them from being fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EarlyCount {
    pub(super) replicas: i32,
    pub(super) limited_by: Option<LimitedBy>,
}

impl EarlyCount {
    const fn of(replicas: i32) -> Self {
        Self {
            replicas,
            limited_by: None,
        }
    }
}

impl DecisionContext<'_> {
    /// Fewer replicas than `wanted` ahead of a falling load; `None` where that is not allowed or not safe.
    /// The reaction may remember higher loads for as long as the cool-down lasts: it gives no replicas back
    /// that neither the load nor the forecast asks for.
    pub(super) fn early(
        &mut self,
        wanted: i32,
        proposal: Option<&PredictiveProposal>,
    ) -> Option<EarlyCount> {
        let DecisionInput { now, current, .. } = *self.input;
        let enough = self.enough(proposal)?;
        let asked = enough.max(self.least(current, &self.state.events));
        if asked >= wanted {
            return None;
        }
        // A recommendation takes nothing away, so nothing has to settle after it.
        if self.policy.mode != ScalingMode::Direct {
            return (asked <= current).then_some(EarlyCount::of(asked));
        }
        if let Some((last, until)) = self.cool_down_in() {
            let count = within_cool_down(asked, last, until);
            return Some(count).filter(|count| count.replicas < wanted);
        }
        if asked < current {
            let (at, replicas) = (now, asked);
            self.state.last_in = Some(PredictiveScaleIn { at, replicas });
        }
        (asked <= current).then_some(EarlyCount::of(asked))
    }

    /// The lower floor ahead of a falling load, where `before` stands and `proposed` is asked for; `None` where
    /// it goes down as any other. The floor gives back no more than it holds: below it, the HPA decides by its own
    /// window.
    pub(super) fn early_floor(
        &mut self,
        before: i32,
        proposed: i32,
        proposal: Option<&PredictiveProposal>,
    ) -> Option<EarlyCount> {
        let now = self.input.now;
        let enough = self.enough(proposal)?.max(proposed);
        let least = self.least(before, &self.state.way_down.scale_events);
        let asked = enough.max(least);
        if asked >= before {
            return None;
        }
        if let Some((last, until)) = self.cool_down_in() {
            let count = within_cool_down(asked, last, until);
            return Some(count).filter(|count| count.replicas < before);
        }
        let (at, replicas) = (now, asked);
        self.state.last_in = Some(PredictiveScaleIn { at, replicas });
        Some(EarlyCount {
            replicas,
            limited_by: (least > enough).then_some(LimitedBy::ScaleDownPolicies),
        })
    }

    /// The replicas that the loads as they are now, the upper bounds of their forecasts and `proposal` ask for.
    fn enough(&self, proposal: Option<&PredictiveProposal>) -> Option<i32> {
        let needed = ds_hpa::early(self.policy, self.input)?;
        Some(proposal.map_or(needed, |proposal| proposal.replicas.max(needed)))
    }

    /// The last scale-in ahead of the load with the end of the cool-down after it, unless that is over.
    fn cool_down_in(&self) -> Option<(PredictiveScaleIn, Timestamp)> {
        let pause = after_in(self.policy.behavior.as_ref());
        let last = self.state.last_in?;
        Some((last, end_of_pause(last.at, pause, self.input.now)?))
    }

    /// The fewest replicas that the scaleDown policies allow to follow on `count` after these changes of it.
    fn least(&self, count: i32, changes: &ScaleEvents) -> i32 {
        let rules = self.policy.behavior.as_ref();
        rules.map_or(0, |rules| {
            scale_down_limit(&rules.scale_down, count, changes, self.input.now).min(count)
        })
    }
}

/// No fewer replicas than the last scale-in left.
fn within_cool_down(asked: i32, last: PredictiveScaleIn, until: Timestamp) -> EarlyCount {
    EarlyCount {
        replicas: asked.max(last.replicas),
        limited_by: (asked < last.replicas).then_some(LimitedBy::CoolDown { until }),
    }
}

/// The cool-down: the stabilisation window of the user, else that of `CLBP` 3.4.
fn after_in(behavior: Option<&Behavior>) -> SignedDuration {
    let seconds = behavior.and_then(|rules| rules.scale_down.stabilization_window_seconds);
    seconds.map_or(AFTER_IN, |seconds| {
        SignedDuration::from_secs(i64::from(seconds))
    })
}
