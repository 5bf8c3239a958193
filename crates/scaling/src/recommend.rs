//! The decision of one tick of one target: the count that prediction adds to the reaction, held
//! back by cool-down, the HPA's scaleUp rules and the bounds, in the form that the target's mode
//! wants.
//!
//! Only the count that prediction adds is held back; the reaction to the load as it is now has
//! passed the HPA's rules already. Kubernetes jumps to a raised minimum past all `behavior`, and
//! follows a lowered one past its stabilisation window, so the floor itself moves by those rules.

use evenkeel_hpa::{Behavior, HpaMemory};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::{SignedDuration, Timestamp};

use self::decision::ScalingDecision;
use self::decision_basis::DecisionBasis;
use self::ds_hpa::PredictiveProposal;
use self::input::DecisionInput;
use self::policy::{Strategy, TargetPolicy};
use self::reason::{DecisionChange, DecisionReason, PredictionClause};
use crate::limits::{LimitedBy, scale_up_limit};
use crate::load::hpa_aware;

pub mod decision;
pub mod decision_basis;
pub mod decision_state;
pub mod ds_hpa;
mod early_scale_in;
pub mod expected_load;
mod floor;
pub mod input;
pub mod merged_portraits;
pub mod policy;
mod portraits;
mod provider_state;
mod reason;
mod scale_down;
pub mod traffic;
pub mod traffic_fit;
pub(crate) mod traffic_need;

pub use decision_state::{
    CountChange, CountSeen, DecisionState, PredictiveScaleIn, RequestedCount, ScaleOut,
};
pub(crate) use portraits::portray;
pub use provider_state::ProviderState;

/// The pause from a scale-out ahead of the load to the next one, without `behavior` (`CLBP` 3.4).
const AFTER_OUT: SignedDuration = SignedDuration::from_mins(3);

/// The decision of one tick; `state` goes on to the next.
pub fn decide(
    policy: &TargetPolicy,
    state: &mut DecisionState,
    input: &DecisionInput<'_>,
) -> ScalingDecision {
    let DecisionInput { now, current, .. } = *input;
    let seen = CountSeen {
        current,
        told: None,
        generation: None,
    };
    state.observe(policy, seen, now);
    if policy.mode != ScalingMode::Direct {
        state.asked = None;
    }
    let sleeps = input
        .portrayed
        .map_or(!input.is_asleep, |portrayed| portrayed.rests_at_zero);
    let idle = policy.mode == ScalingMode::Off || (current <= 0 && sleeps);
    if idle || policy.mode != ScalingMode::Floor || input.strategy == Strategy::Off {
        state.floor = None;
    }
    let goes_down = policy.mode == ScalingMode::Floor || input.portrayed.is_some();
    if idle || !goes_down || input.strategy == Strategy::Off {
        state.way_down = HpaMemory::default();
    }
    if idle {
        (state.active_forecast, state.adopted) = (None, None);
        return left(current, reason::idle(policy.mode), None);
    }
    let contested = state.contest.until(now);
    if let Some(until) = contested.filter(|_| policy.mode == ScalingMode::Direct) {
        let limit = LimitedBy::Contested { until };
        let reason = format!("replicas stay {current}, limited by {limit}");
        return left(current, reason, Some(limit));
    }
    let mut tick = DecisionContext {
        policy,
        input,
        state,
    };
    let decision = match (policy.mode, input.portrayed) {
        (ScalingMode::Floor, _) => tick.floor(),
        (ScalingMode::Off | ScalingMode::Recommend | ScalingMode::Direct, None) => {
            let decision = tick.replicas();
            tick.state.note_asked(decision.replicas);
            decision
        }
        (ScalingMode::Off | ScalingMode::Recommend | ScalingMode::Direct, Some(portrayed)) => {
            tick.by_portraits(portrayed)
        }
    };
    if policy.mode == ScalingMode::Direct {
        tick.state.ask(decision.replicas, current, now);
    }
    decision
}

/// The decision that leaves the count as it is.
const fn left(current: i32, reason: String, limited_by: Option<LimitedBy>) -> ScalingDecision {
    ScalingDecision {
        replicas: current,
        reason,
        limited_by,
        grounds: DecisionBasis::Nothing,
    }
}

struct DecisionContext<'a> {
    policy: &'a TargetPolicy,
    input: &'a DecisionInput<'a>,
    state: &'a mut DecisionState,
}

impl DecisionContext<'_> {
    fn replicas(&mut self) -> ScalingDecision {
        let Self { policy, input, .. } = *self;
        let current = input.current;
        let proposal = ds_hpa::propose(policy, input, &mut self.state.active_forecast);
        let proposal = proposal.as_ref();
        let reactive = input.reactive.unwrap_or(current);
        let (mut wanted, mut limited_by) = (reactive, None);
        if let Some(proposal) = proposal {
            let (held, by) = self.held(proposal);
            limited_by = by;
            if held > reactive {
                wanted = held;
                self.note(policy.bounds.clamp(held));
            }
        }
        let early = self.early(wanted, proposal);
        if let Some(early) = early.filter(|_| input.reactive.is_some()) {
            (wanted, limited_by) = (early.replicas, early.limited_by);
        }
        if self.input.has_unknown_traffic() && wanted < current {
            (wanted, limited_by) = (current, Some(LimitedBy::MissingData));
        }
        let blind = self.blind(proposal);
        let mut grounds = DecisionBasis::of(proposal.filter(|_| !blind));
        if input.reactive.is_none() && blind {
            limited_by = Some(if self.is_estimated() {
                LimitedBy::EstimatedLoad
            } else {
                LimitedBy::MissingData
            });
            grounds = DecisionBasis::LastKnown;
        }
        let (replicas, limited_by) = self.bounded(wanted, limited_by);
        let change = DecisionChange {
            name: "replicas",
            from: current,
            to: replicas,
        };
        ScalingDecision {
            replicas,
            reason: self.reason(proposal, change, limited_by),
            limited_by,
            grounds,
        }
    }

    /// The most replicas that the HPA itself could scale out to now, and the rule that says so.
    fn limit(&self) -> (i32, LimitedBy) {
        let DecisionInput { now, current, .. } = *self.input;
        let behavior = self.policy.behavior.as_ref();
        scale_up_limit(behavior, current, &self.state.events, now)
    }

    /// The count of a proposal as far as the HPA's rules and the cool-down allow it, and the rule
    /// that limits it.
    fn held(&self, proposal: &PredictiveProposal) -> (i32, Option<LimitedBy>) {
        let current = self.input.current;
        let (limit, rule) = self.limit();
        // The forecasts of `auto` agree from tick to tick, those of a single model need not (`[CLBP]`
        // 3.4).
        let paused = self.input.strategy == Strategy::DsHpa || proposal.is_by_fitted_model();
        let cool_down = self.cool_down().filter(|_| paused);
        let (most, by) = match cool_down {
            _ if !self.knows(proposal) => (current, LimitedBy::MissingData),
            Some(CoolDown { replicas, until }) if replicas < limit => {
                (replicas, LimitedBy::CoolDown { until })
            }
            _ => (limit, rule),
        };
        if proposal.replicas > most {
            (most, Some(by))
        } else {
            (proposal.replicas, None)
        }
    }

    /// The cool-down after the last scale-out, unless it is over.
    fn cool_down(&self) -> Option<CoolDown> {
        let DecisionInput { now, current, .. } = *self.input;
        let last = self.state.last_out?;
        let pause = after_out(self.policy.behavior.as_ref());
        Some(CoolDown {
            replicas: current.max(last.replicas),
            until: end_of_pause(last.at, pause, now)?,
        })
    }

    /// Remembers a count beyond the replicas that there are or will be; the cool-down begins with
    /// it.
    fn note(&mut self, replicas: i32) {
        let cool_down = self.cool_down();
        if replicas > cool_down.map_or(self.input.current, |one| one.replicas) {
            let at = self.input.now;
            self.state.last_out = Some(ScaleOut { at, replicas });
        }
    }

    fn bounded(&self, wanted: i32, by: Option<LimitedBy>) -> (i32, Option<LimitedBy>) {
        let bounds = self.policy.bounds;
        let replicas = hpa_aware::replicas(self.input.current, wanted, bounds);
        let by = match replicas.cmp(&wanted) {
            std::cmp::Ordering::Less => Some(LimitedBy::MaxReplicas(bounds.max())),
            std::cmp::Ordering::Equal => by,
            std::cmp::Ordering::Greater => by.or(Some(LimitedBy::MinReplicas(bounds.min()))),
        };
        (replicas, by)
    }

    /// True where the load behind a proposal is not known any more; without one, where no load is.
    fn blind(&self, proposal: Option<&PredictiveProposal>) -> bool {
        let DecisionInput { now, loads, .. } = *self.input;
        match proposal {
            Some(proposal) => !self.knows(proposal),
            None => loads
                .iter()
                .all(|load| load.fresh(now, self.policy.max_age).is_none()),
        }
    }

    /// True where a load that is forecast is estimated, since Pods that carry it are not measured for
    /// it yet.
    fn is_estimated(&self) -> bool {
        let DecisionInput { now, loads, .. } = *self.input;
        let mut forecast = loads.iter().filter(|load| load.is_forecast);
        forecast.any(|load| load.is_estimated(now, self.policy.max_age))
    }

    /// True if the current value of the traffic, or of a load that only Evenkeel reacts to, is
    /// unknown. Other loads do not undo a decision that was based on it.
    fn is_alone_in_the_dark(&self) -> bool {
        let DecisionInput { now, loads, .. } = *self.input;
        if self.input.has_unknown_traffic() {
            return true;
        }
        let mut alone = loads
            .iter()
            .filter(|load| load.is_forecast && load.only_here);
        alone.any(|load| load.fresh(now, self.policy.max_age).is_none())
    }

    /// True where the load that a proposal is made of is known as it is now.
    fn knows(&self, proposal: &PredictiveProposal) -> bool {
        let DecisionInput { now, loads, .. } = *self.input;
        let Some(signal) = proposal.signal() else {
            return true;
        };
        let mut of_signal = loads.iter().filter(|load| load.signal == signal);
        of_signal.any(|load| load.fresh(now, self.policy.max_age).is_some())
    }

    const fn because<'a>(
        &'a self,
        proposal: Option<&'a PredictiveProposal>,
    ) -> PredictionClause<'a> {
        PredictionClause {
            policy: self.policy,
            input: self.input,
            proposal,
            reaction: self.input.reaction,
        }
    }

    fn reason(
        &self,
        proposal: Option<&PredictiveProposal>,
        change: DecisionChange,
        limited_by: Option<LimitedBy>,
    ) -> String {
        DecisionReason {
            because: self.because(proposal),
            adopted: self.state.adopted,
            change,
            limited_by,
        }
        .to_string()
    }
}

/// The pause after a scale-out.
#[derive(Debug, Clone, Copy)]
struct CoolDown {
    /// The replicas that there are, or will be once the scale-out is done.
    replicas: i32,
    until: Timestamp,
}

/// The end of the pause that began at `last`; `None` where it is over already.
fn end_of_pause(last: Timestamp, pause: SignedDuration, now: Timestamp) -> Option<Timestamp> {
    let until = last.checked_add(pause).ok()?;
    (now < until).then_some(until)
}

/// With `behavior`, its policies and its window govern how soon the next scale-out follows.
fn after_out(behavior: Option<&Behavior>) -> SignedDuration {
    behavior.map_or(AFTER_OUT, |behavior| {
        let seconds = behavior.scale_up.stabilization_window_seconds;
        SignedDuration::from_secs(i64::from(seconds.unwrap_or(0)))
    })
}

#[cfg(test)]
mod tests;
