//! One tick of one target: what prediction adds to the reaction, held by cool-down, the HPA's
//! scaleUp rules and the bounds, in the form that the target's mode wants.
//!
//! Only what prediction adds is held back; what reacts to the load now has passed the HPA's rules
//! already. Kubernetes jumps to a raised minimum past all `behavior`, so the floor itself moves by
//! those rules, from the count as it is.

use jiff::{SignedDuration, Timestamp};

use super::ds_hpa::{self, InForce, Proposal};
use super::grounds::Grounds;
use super::hpa::{Behavior, ScaleEvents};
use super::limit::scale_up_limit;
use super::{LimitedBy, Mode, Observation, Policy, Predicted, hpa_aware, reason};
use crate::forecast::{Distrust, Trust};
use crate::units::Resource;

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
    /// What it rests on.
    pub grounds: Grounds,
}

/// A raised minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// The `minReplicas`.
    pub replicas: i32,
    /// When it lapses unless it is renewed.
    pub until: Timestamp,
}

/// A count that prediction asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raise {
    /// When.
    pub at: Timestamp,
    /// The count.
    pub replicas: i32,
}

/// What one tick hands on to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The forecast that stands.
    pub in_force: Option<InForce>,
    /// The floor that was decided last.
    pub floor: Option<Floor>,
    /// A floor that somebody else decided and that is in force, as after a restart: it stands until
    /// a model here has been judged, or until it lapses.
    pub adopted: Option<Floor>,
    /// The changes of the count, as observed.
    pub events: ScaleEvents,
    /// The count at the last tick.
    pub current: Option<i32>,
    /// What prediction last asked for beyond what there was.
    pub last_out: Option<Raise>,
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
        (state.in_force, state.floor, state.adopted) = (None, None, None);
        let reason = reason::idle(policy.mode);
        let kept = Decision {
            replicas: current,
            reason,
            limited_by: None,
            grounds: Grounds::Nothing,
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
        // What was lowered stays lowered: a floor that rises again would be a new decision.
        self.state.adopted = self.adopted().map(|floor| self.kept(floor));
        let before = self.state.floor.filter(|floor| now < floor.until);
        let before = before.or(self.state.adopted);
        let proposal = ds_hpa::propose(policy, observation, &mut self.state.in_force);
        let blind = self.blind(proposal);
        let (floor, limited_by) = match proposal {
            _ if blind => {
                let kept = before.map(|floor| self.kept(floor));
                (kept, Some(LimitedBy::MissingData))
            }
            Some(proposal) => {
                let (held, by) = self.held(proposal);
                let (replicas, by) = self.bounded(held, by);
                self.note(replicas);
                let until = now.checked_add(policy.horizon).unwrap_or(Timestamp::MAX);
                let by = by.filter(|by| !matches!(by, LimitedBy::MinReplicas(_)));
                let replicas = replicas.max(1);
                let floor = Floor { replicas, until };
                // What was asked for stands for its horizon: forecasts and D-HPA take turns, and
                // each tick's own word would move the floor up and down.
                let standing = before.map(|floor| self.kept(floor));
                let floor = standing
                    .filter(|standing| standing.replicas > replicas)
                    .unwrap_or(floor);
                (Some(floor), by)
            }
            None => (None, None),
        };
        let floor = floor.into_iter().chain(self.state.adopted).reduce(higher);
        let was = before.map_or(user, |floor| floor.replicas.max(user));
        let replicas = floor.map_or(user, |floor| floor.replicas.max(user));
        self.state.floor = floor;
        Decision {
            replicas,
            reason: self.reason(proposal, ("floor", was, replicas), limited_by),
            limited_by,
            grounds: match floor {
                _ if !blind => Grounds::of(proposal),
                Some(_) => Grounds::LastKnown,
                None => Grounds::Nothing,
            },
        }
    }

    /// The floor that was taken over, while nothing here knows better.
    fn adopted(&self) -> Option<Floor> {
        let Observation { now, loads, .. } = *self.observation;
        let unproven = |predicted: &Predicted<'_>| {
            matches!(predicted.trust, Trust::Untrusted(Distrust::Unproven { .. }))
        };
        let judged = loads.iter().any(|load| {
            let fresh = load.used(now, self.policy.max_age).is_some();
            fresh
                && load
                    .predicted
                    .is_some_and(|predicted| !unproven(&predicted))
        });
        let stands = !judged && self.policy.strategy != super::Strategy::Off;
        self.state
            .adopted
            .filter(|floor| stands && now < floor.until)
    }

    /// An earlier floor as far as it may still go.
    fn kept(&self, floor: Floor) -> Floor {
        let most = self.limit().0.min(self.policy.bounds.max());
        let replicas = floor.replicas.min(most);
        Floor { replicas, ..floor }
    }

    fn replicas(&mut self) -> Decision {
        let Self {
            policy,
            observation,
            ..
        } = *self;
        let current = observation.current;
        let proposal = ds_hpa::propose(policy, observation, &mut self.state.in_force);
        let reactive = observation.reactive.unwrap_or(current);
        let (mut wanted, mut limited_by) = (reactive, None);
        if let Some(proposal) = proposal {
            let (held, by) = self.held(proposal);
            limited_by = by;
            if held > reactive {
                wanted = held;
                self.note(policy.bounds.clamp(held));
            }
        }
        if let Some((fewer, by)) = self.early(wanted, proposal) {
            (wanted, limited_by) = (fewer, by);
        }
        let blind = self.blind(proposal);
        let mut grounds = Grounds::of(proposal.filter(|_| !blind));
        if observation.reactive.is_none() && blind {
            limited_by = Some(LimitedBy::MissingData);
            grounds = Grounds::LastKnown;
        }
        let (replicas, limited_by) = self.bounded(wanted, limited_by);
        Decision {
            replicas,
            reason: self.reason(proposal, ("replicas", current, replicas), limited_by),
            limited_by,
            grounds,
        }
    }

    /// How far the HPA itself could scale out now.
    fn limit(&self) -> (i32, LimitedBy) {
        let Observation { now, current, .. } = *self.observation;
        let behavior = self.policy.behavior.as_ref();
        scale_up_limit(behavior, current, &self.state.events, now)
    }

    /// A proposal as far as it may go.
    fn held(&self, proposal: Proposal) -> (i32, Option<LimitedBy>) {
        let current = self.observation.current;
        let (limit, rule) = self.limit();
        let (there, until) = self.there();
        let (most, by) = match until {
            _ if !self.knows(proposal.resource()) => (current, LimitedBy::MissingData),
            Some(until) if there < limit => (there, LimitedBy::CoolDown { until }),
            _ => (limit, rule),
        };
        if proposal.replicas > most {
            (most, Some(by))
        } else {
            (proposal.replicas, None)
        }
    }

    /// What there is, or will be once it has followed what was asked for in the cool-down that
    /// ends at the time that is returned.
    fn there(&self) -> (i32, Option<Timestamp>) {
        let Observation { now, current, .. } = *self.observation;
        let pause = after_out(self.policy.behavior.as_ref());
        let last = self.state.last_out;
        let Some((raise, until)) = last.and_then(|last| Some((last, over(last.at, pause, now)?)))
        else {
            return (current, None);
        };
        (current.max(raise.replicas), Some(until))
    }

    /// Remembers a count that goes beyond what there is; the cool-down begins with it.
    fn note(&mut self, replicas: i32) {
        if replicas > self.there().0 {
            let at = self.observation.now;
            self.state.last_out = Some(Raise { at, replicas });
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
        if let Some(until) = self.state.last_in.and_then(|last| over(last, pause, now)) {
            return Some((wanted.min(current), Some(LimitedBy::CoolDown { until })));
        }
        // A recommendation takes nothing away, so nothing has to settle after it.
        if self.policy.mode == Mode::Direct {
            self.state.last_in = Some(now);
        }
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

    /// Whether what a proposal rests on is not known any more; without one, whether nothing is.
    fn blind(&self, proposal: Option<Proposal>) -> bool {
        match proposal {
            Some(proposal) => !self.knows(proposal.resource()),
            None => Resource::ALL.iter().all(|&resource| !self.knows(resource)),
        }
    }

    /// Whether the load of a resource is known as it is now.
    fn knows(&self, resource: Resource) -> bool {
        let Observation { now, loads, .. } = *self.observation;
        let mut of_resource = loads.iter().filter(|load| load.resource == resource);
        of_resource.any(|load| load.used(now, self.policy.max_age).is_some())
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
            adopted: self.state.adopted,
            change,
            limited_by,
        }
        .to_string()
    }
}

/// The higher of two floors; of equals the one that is in force for longer.
fn higher(a: Floor, b: Floor) -> Floor {
    if (b.replicas, b.until) > (a.replicas, a.until) {
        b
    } else {
        a
    }
}

/// When the pause that began at `last` is over; `None` where it is already.
fn over(last: Timestamp, pause: SignedDuration, now: Timestamp) -> Option<Timestamp> {
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

fn after_in(behavior: Option<&Behavior>) -> SignedDuration {
    let seconds = behavior.and_then(|rules| rules.scale_down.stabilization_window_seconds);
    seconds.map_or(AFTER_IN, |seconds| {
        SignedDuration::from_secs(i64::from(seconds))
    })
}

#[cfg(test)]
mod tests;
