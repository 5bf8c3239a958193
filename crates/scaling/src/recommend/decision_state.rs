//! The memory of one target from one tick to the next, and the changes of its count.

use evenkeel_hpa::{HpaMemory, ScaleEvents};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::{SignedDuration, Timestamp};

use super::decision::Floor;
use super::ds_hpa::ActiveForecast;
use super::policy::TargetPolicy;
use super::provider_state::ProviderState;
use crate::bounds_record::contest::Contest;

/// The time that a write may take to be made and seen.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_mins(1);

/// A scale-out that prediction asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleOut {
    /// The time of the decision.
    pub at: Timestamp,
    /// The replicas that were asked for.
    pub replicas: i32,
}

/// A scale-in ahead of a falling load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictiveScaleIn {
    /// The time of the decision.
    pub at: Timestamp,
    /// The replicas that were left; more where the load has asked for more since.
    pub replicas: i32,
}

/// A count that was asked for, and has not been seen since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedCount {
    pub replicas: i32,
    /// When it was last asked for.
    pub at: Timestamp,
    /// Since when a change has been asked for at every tick.
    pub since: Timestamp,
    /// The generation that the object had then.
    pub generation: Option<i64>,
    /// True once the API server has taken it.
    pub is_written: bool,
}

/// The count of a target, as it is seen at a tick.
#[derive(Debug, Clone, Copy)]
pub struct CountSeen {
    pub current: i32,
    /// The count that the last decider reported, perhaps another replica that led.
    pub told: Option<i32>,
    /// `metadata.generation`, which each change of the object's spec makes greater by one.
    pub generation: Option<i64>,
}

impl RequestedCount {
    /// True where it should have been seen by now.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) >= ON_ITS_WAY
    }
}

/// A change of the count, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountChange {
    pub from: i32,
    pub to: i32,
    /// True where the count is the one that was asked for.
    pub is_own: bool,
    /// When it was asked for; of another writer's change, when it was seen.
    pub at: Timestamp,
}

/// The memory that one tick hands on to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecisionState {
    /// The forecast that stands.
    pub active_forecast: Option<ActiveForecast>,
    /// The floor that was decided here last.
    pub floor: Option<Floor>,
    /// The proposals for it and its changes, from which it follows how it may go down; of a target by portraits,
    /// those for the count that prediction asks for.
    pub way_down: HpaMemory,
    /// A floor of another decider, found in force as after a restart: it stands until a model here
    /// has been judged, or until it lapses.
    pub adopted: Option<Floor>,
    /// The changes of the count, as observed.
    pub events: ScaleEvents,
    /// The count at the last tick.
    pub current: Option<i32>,
    /// The last scale-out beyond the replicas that there were.
    pub last_out: Option<ScaleOut>,
    /// The last time that prediction took replicas, or a part of a floor, away.
    pub last_in: Option<PredictiveScaleIn>,
    /// The count that was asked for, in mode direct.
    pub asked: Option<RequestedCount>,
    /// The count that was written here or by another replica; `None` once another writer has set another one.
    pub own: Option<i32>,
    /// The contests about the count, in mode direct.
    pub contest: Contest,
    /// The generation of the object at the last tick.
    pub generation: Option<i64>,
    /// The memory of the providers that know the loads, for a target with portraits.
    pub speaking: ProviderState,
}

impl DecisionState {
    /// The floor in force: the one that was decided here, or a higher one that was taken over.
    pub(crate) fn floor_in_force(&self) -> Option<Floor> {
        let all = self.floor.into_iter().chain(self.adopted);
        all.reduce(Floor::higher)
    }

    /// Takes note of what was decided: a scale-in ahead of the load has left no fewer replicas than were asked for
    /// since.
    pub(super) fn note_asked(&mut self, replicas: i32) {
        if let Some(last) = &mut self.last_in {
            last.replicas = last.replicas.max(replicas);
        }
    }

    /// Takes note of the count at `now`, and gives its change.
    pub fn observe(
        &mut self,
        policy: &TargetPolicy,
        seen: CountSeen,
        now: Timestamp,
    ) -> Option<CountChange> {
        let CountSeen { current, told, .. } = seen;
        let before = self.current.replace(current);
        self.generation = seen.generation.or(self.generation);
        let is_overwritten = self.is_overwritten();
        let Some(from) = before.filter(|&before| before != current) else {
            if policy.mode == ScalingMode::Direct && is_overwritten {
                (self.asked, self.own) = (None, None);
                self.contest.undo(now);
            }
            return None;
        };
        let asked = self.asked.take().filter(|asked| asked.replicas == current);
        let at = asked.map_or(now, |asked| asked.at);
        let is_own = asked.is_some() || told == Some(current);
        let own = std::mem::replace(&mut self.own, is_own.then_some(current));
        let behavior = policy.behavior.as_ref();
        self.events.record(behavior, from, current, at);
        // Zero is how a user switches scaling off, unless it is one of the counts that are decided. A change of a count
        // that was not written here undoes nothing.
        let is_switch = current == 0 && policy.bounds.min() > 0;
        let is_undone = !is_switch && (own == Some(from) || is_overwritten);
        if policy.mode == ScalingMode::Direct && !is_own && is_undone {
            self.contest.undo(now);
        }
        Some(CountChange {
            from,
            to: current,
            is_own,
            at,
        })
    }

    /// True where the count that was asked for was written, and the object has been changed at least twice since it was
    /// asked for: another writer has replaced it. Where the write failed, both changes are others'.
    fn is_overwritten(&self) -> bool {
        let written = self.asked.filter(|asked| asked.is_written);
        let asked = written.and_then(|asked| asked.generation);
        let since = self.generation.zip(asked).map(|(now, then)| now - then);
        since.is_some_and(|changes| changes >= 2)
    }

    /// Takes note that this count has been written. A count that was asked for before says nothing of the
    /// one that is asked for now.
    pub(crate) fn written(&mut self, replicas: i32) {
        let asked = self.asked.as_mut();
        if let Some(asked) = asked.filter(|asked| asked.replicas == replicas) {
            asked.is_written = true;
        }
    }

    /// Takes note of the count that is asked for. One that has just been asked for may still come,
    /// when nothing is asked for any more.
    pub(super) fn ask(&mut self, replicas: i32, current: i32, now: Timestamp) {
        let before = self.asked.filter(|asked| asked.at <= now);
        self.asked = if replicas == current {
            before.filter(|asked| now.duration_since(asked.at) < ON_ITS_WAY)
        } else {
            Some(RequestedCount {
                replicas,
                at: now,
                since: before.map_or(now, |asked| asked.since),
                generation: self.generation,
                is_written: before.is_some_and(|asked| {
                    let is_same = asked.replicas == replicas && asked.generation == self.generation;
                    is_same && asked.is_written
                }),
            })
        };
    }
}
