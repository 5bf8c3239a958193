//! One tick of one target: what prediction adds to the reaction, held by cool-down, the HPA's
//! scaleUp rules and the bounds, in the form that the target's mode wants.
//!
//! Only what prediction adds is held back; what reacts to the load now has passed the HPA's rules
//! already. Kubernetes jumps to a raised minimum past all `behavior`, so the floor itself moves by
//! those rules, from the count as it is.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Behavior, ScaleEvents, scale_up_limit};
use super::ds_hpa::{self, InForce, Proposal};
use super::{LimitedBy, Mode, Observation, Policy, hpa_aware, reason};

/// After a scale-out ahead of the load, the time to the next without `behavior` (thesis 3.4).
const AFTER_OUT: SignedDuration = SignedDuration::from_mins(3);
/// After a scale-in ahead of the load, the time to the next unless `behavior` has a window.
const AFTER_IN: SignedDuration = SignedDuration::from_mins(5);

/// What a target is to have, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The replicas; in mode floor, the `minReplicas`.
    pub replicas: i32,
    /// Why, in words for the user.
    pub reason: String,
    /// The rule that kept it from what the load asks for.
    pub limited_by: Option<LimitedBy>,
}

/// A raised minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// The `minReplicas`.
    pub replicas: i32,
    /// When it lapses unless it is renewed.
    pub until: Timestamp,
}

/// What one tick hands on to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The forecast that stands.
    pub in_force: Option<InForce>,
    /// The floor that was decided last.
    pub floor: Option<Floor>,
    /// The changes of the count, as observed.
    pub events: ScaleEvents,
    /// The count at the last tick.
    pub current: Option<i32>,
    /// When prediction last asked for more than there was.
    pub last_out: Option<Timestamp>,
    /// When prediction last took replicas away.
    pub last_in: Option<Timestamp>,
}

/// What a target is to have now, and what the next tick has to know of it.
#[must_use]
pub fn decide(
    policy: &Policy,
    mut state: State,
    observation: &Observation<'_>,
) -> (Decision, State) {
    let Observation { now, current, .. } = *observation;
    if let Some(previous) = state.current.replace(current).filter(|&was| was != current) {
        let behavior = policy.behavior.as_ref();
        state.events.record(behavior, previous, current, now);
    }
    if policy.mode == Mode::Off || current <= 0 {
        (state.in_force, state.floor) = (None, None);
        let reason = reason::idle(policy.mode);
        let kept = Decision {
            replicas: current,
            reason,
            limited_by: None,
        };
        return (kept, state);
    }
    let mut tick = Tick {
        policy,
        observation,
        state: &mut state,
    };
    let decision = match policy.mode {
        Mode::Floor => tick.floor(),
        Mode::Off | Mode::Recommend | Mode::Direct => tick.replicas(),
    };
    (decision, state)
}

struct Tick<'a> {
    policy: &'a Policy,
    observation: &'a Observation<'a>,
    state: &'a mut State,
}

impl Tick<'_> {
    fn floor(&mut self) -> Decision {
        let Self {
            policy,
            observation,
            ..
        } = *self;
        let now = observation.now;
        let user = policy.bounds.min().max(1);
        let before = self.state.floor.filter(|floor| now < floor.until);
        let proposal = ds_hpa::propose(policy, observation, &mut self.state.in_force);
        let (floor, limited_by) = match proposal {
            Some(proposal) => {
                let from = before.map_or(user, |floor| floor.replicas);
                let (held, by) = self.held(proposal, from.max(observation.current));
                let (replicas, by) = self.bounded(held, by);
                let until = now.checked_add(policy.horizon).unwrap_or(Timestamp::MAX);
                let by = by.filter(|by| !matches!(by, LimitedBy::MinReplicas(_)));
                let replicas = replicas.max(1);
                (Some(Floor { replicas, until }), by)
            }
            None if self.blind() => {
                let (limit, _) = self.limit();
                let kept = before.map(|floor| Floor {
                    replicas: floor.replicas.min(limit),
                    ..floor
                });
                (kept, Some(LimitedBy::MissingData))
            }
            None => (None, None),
        };
        let was = before.map_or(user, |floor| floor.replicas);
        let replicas = floor.map_or(user, |floor| floor.replicas.max(user));
        if replicas > was.max(observation.current) {
            self.state.last_out = Some(now);
        }
        self.state.floor = floor;
        Decision {
            replicas,
            reason: self.reason(proposal, ("floor", was, replicas), limited_by),
            limited_by,
        }
    }

    fn replicas(&mut self) -> Decision {
        let Self {
            policy,
            observation,
            ..
        } = *self;
        let Observation { now, current, .. } = *observation;
        let proposal = ds_hpa::propose(policy, observation, &mut self.state.in_force);
        let reactive = observation.reactive.unwrap_or(current);
        let (mut wanted, mut limited_by) = (reactive, None);
        if let Some(proposal) = proposal {
            let (held, by) = self.held(proposal, current);
            limited_by = by;
            if held > reactive {
                wanted = held;
                self.state.last_out = (held > current).then_some(now).or(self.state.last_out);
            }
        }
        if let Some((fewer, by)) = self.early(wanted, proposal) {
            (wanted, limited_by) = (fewer, by);
        }
        if observation.reactive.is_none() && self.blind() {
            limited_by = Some(LimitedBy::MissingData);
        }
        let (replicas, limited_by) = self.bounded(wanted, limited_by);
        Decision {
            replicas,
            reason: self.reason(proposal, ("replicas", current, replicas), limited_by),
            limited_by,
        }
    }

    /// How far the HPA itself could scale out now.
    fn limit(&self) -> (i32, LimitedBy) {
        let Observation { now, current, .. } = *self.observation;
        let behavior = self.policy.behavior.as_ref();
        scale_up_limit(behavior, current, &self.state.events, now)
    }

    /// A proposal as far as it may go beyond `from`, which is what there is already.
    fn held(&self, proposal: Proposal, from: i32) -> (i32, Option<LimitedBy>) {
        let now = self.observation.now;
        let (limit, rule) = self.limit();
        let pause = after_out(self.policy.behavior.as_ref());
        let (most, by) = match over(self.state.last_out, pause, now) {
            Some(until) if from < limit => (from.min(limit), LimitedBy::CoolDown { until }),
            _ => (limit, rule),
        };
        if proposal.replicas > most {
            (most, Some(by))
        } else {
            (proposal.replicas, None)
        }
    }

    /// Fewer replicas ahead of a falling load, where that is asked for and safe. What reacts to the
    /// load now may remember higher ones; it does not take back what was taken away early.
    fn early(
        &mut self,
        wanted: i32,
        proposal: Option<Proposal>,
    ) -> Option<(i32, Option<LimitedBy>)> {
        let Observation { now, current, .. } = *self.observation;
        let needed = ds_hpa::early(self.policy, self.observation)?;
        let asked = proposal.map_or(needed, |proposal| proposal.replicas.max(needed));
        if asked > current || asked >= wanted || self.observation.reactive.is_none() {
            return None;
        }
        if asked == current {
            return Some((current, None));
        }
        let pause = after_in(self.policy.behavior.as_ref());
        if let Some(until) = over(self.state.last_in, pause, now) {
            return Some((wanted.min(current), Some(LimitedBy::CoolDown { until })));
        }
        self.state.last_in = Some(now);
        Some((asked, None))
    }

    fn bounded(&self, wanted: i32, by: Option<LimitedBy>) -> (i32, Option<LimitedBy>) {
        let bounds = self.policy.bounds;
        let replicas = hpa_aware::replicas(self.observation.current, wanted, bounds);
        let by = match replicas.cmp(&wanted) {
            std::cmp::Ordering::Less => Some(LimitedBy::MaxReplicas(bounds.max())),
            std::cmp::Ordering::Equal => by,
            std::cmp::Ordering::Greater => by.or(Some(LimitedBy::MinReplicas(bounds.min()))),
        };
        (replicas, by)
    }

    /// Whether no load at all is known.
    fn blind(&self) -> bool {
        let Observation { now, loads, .. } = *self.observation;
        let mut used = loads.iter().map(|load| load.used(now, self.policy.max_age));
        used.all(|used| used.is_none())
    }

    fn reason(
        &self,
        proposal: Option<Proposal>,
        change: (&'static str, i32, i32),
        limited_by: Option<LimitedBy>,
    ) -> String {
        reason::Reason {
            policy: self.policy,
            observation: self.observation,
            proposal,
            change,
            limited_by,
        }
        .to_string()
    }
}

/// When the pause that began at `last` is over; `None` where it is already.
fn over(last: Option<Timestamp>, pause: SignedDuration, now: Timestamp) -> Option<Timestamp> {
    let until = last?.checked_add(pause).ok()?;
    (now < until).then_some(until)
}

/// With `behavior`, its policies and its window govern how soon the next scale-out follows.
fn after_out(behavior: Option<&Behavior>) -> SignedDuration {
    behavior.map_or(AFTER_OUT, |behavior| {
        let seconds = behavior.scale_up.stabilization_window_seconds;
        SignedDuration::from_secs(i64::from(seconds.unwrap_or(0)))
    })
}

fn after_in(behavior: Option<&Behavior>) -> SignedDuration {
    let seconds = behavior.and_then(|rules| rules.scale_down.stabilization_window_seconds);
    seconds.map_or(AFTER_IN, |seconds| {
        SignedDuration::from_secs(i64::from(seconds))
    })
}

#[cfg(test)]
mod tests;
