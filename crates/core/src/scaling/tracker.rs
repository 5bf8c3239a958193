//! The whole memory of one target: measurements in, a decision out.
//!
//! Each resource has its history and, scored on it, the models of its load. Models follow the
//! 15-second grid and take a step once it is over, so that it does not matter when within a step
//! its measurement came. Two replicas that are fed the same measurements decide the same; one that
//! starts later takes over the floor that is in force until it knows better.

mod followed;

use jiff::{SignedDuration, Timestamp};

use self::followed::{Followed, Seen};
use super::decide::Floor;
use super::hpa_aware::PodCapacity;
use super::ownership::Contribution;
use super::{Decision, Load, Mode, Observation, Policy, State, Strategy, decide, horizon};
use crate::forecast::{
    Accuracy, ModelSet, NotReady, PointModel as _, Resolution, SHpa, SampleError, Shared, Step,
    Trust,
};
use crate::units::Resource;

/// For how long a floor counts once it has been written: as long as it may outlive everyone who
/// could renew it or take it back.
const FLOOR_STANDS: SignedDuration = SignedDuration::from_mins(10);

/// One target's memory.
#[derive(Debug, Default)]
pub struct Tracker {
    followed: Vec<Followed>,
    state: State,
    begun: bool,
}

/// What is known of a target at one tick, beside its measurements.
#[derive(Debug, Clone, Copy)]
pub struct TickInput<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// CR: the `spec.replicas` of the target.
    pub current: i32,
    /// What reacts to the load now.
    pub reaction: Reaction,
    /// What its load is predicted with; `None` for nothing.
    pub models: Option<ModelSet>,
    /// The resources that it scales by, with what one Pod is to carry of each.
    pub capacities: &'a [(Resource, PodCapacity)],
    /// The floor that is in force, as the record of the bounds has it.
    pub recorded: Option<Floor>,
    /// What the models of all targets share.
    pub shared: &'a Shared,
}

/// What reacts to the load as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The target's HPA, which asks for this many; `None` where it is blind itself.
    Autoscaler(Option<i32>),
    /// Nothing but the HPA's rule, applied to what is measured here.
    Rule,
}

/// What was decided, and what it was decided from.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The decision.
    pub decision: Decision,
    /// The loads, in the order of the resources that the target scales by.
    pub loads: Vec<LoadReport>,
    /// How far ahead was looked.
    pub horizon: SignedDuration,
    /// What prediction contributes to the bounds; only in mode floor, and only where it raises the
    /// user's least.
    pub contribution: Option<Contribution>,
}

/// One load of a target, in the resource's base unit.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadReport {
    /// The resource.
    pub resource: Resource,
    /// The sum over the Pods at the newest measurement, however old.
    pub now: Option<f64>,
    /// When that was.
    pub measured: Option<Timestamp>,
    /// Whether that is recent enough to act on.
    pub fresh: bool,
    /// What one Pod is to carry.
    pub capacity: PodCapacity,
    /// The model that is listened to, or would be if it were trusted; `None` where nothing predicts.
    pub model: Option<ModelReport>,
    /// The models that have too little history, and when they will be ready.
    pub lacking: Vec<NotReady>,
}

/// A model and what it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelReport {
    /// The name.
    pub name: &'static str,
    /// What it forecasts for one horizon from now.
    pub at_horizon: Option<Step>,
    /// Whether it may be acted on.
    pub trust: Trust,
    /// The figures behind that.
    pub accuracy: Accuracy,
}

impl Tracker {
    /// Takes values of the past from elsewhere and learns from them; what has been measured here
    /// stays. Returns how many filled a gap.
    pub fn refill(
        &mut self,
        resource: Resource,
        resolution: Resolution,
        points: impl Iterator<Item = (Timestamp, f64)>,
        now: Timestamp,
    ) -> usize {
        let followed = self.of(resource);
        let filled = points
            .filter(|&(at, value)| followed.history.refill(resolution, at, value, now) == Ok(true));
        let filled = filled.count();
        if filled > 0 {
            followed.forget_models();
        }
        filled
    }

    /// Takes the sum over the Pods of the time `at`. Where the clock was set back by more than the
    /// finest ring holds, all begins anew: what is known lies in a time that has not come, and would
    /// hold everything up until it has.
    ///
    /// # Errors
    /// As [`crate::forecast::History::insert`]; nothing changes then.
    pub fn measure(
        &mut self,
        resource: Resource,
        at: Timestamp,
        sum: f64,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        if self.of(resource).is_ahead_of(at, now) {
            *self = Self::default();
        }
        self.of(resource).measure(at, sum, now)
    }

    /// Decides what the target is to have now. `policy.strategy` is overruled by what the models
    /// say: D-HPA stands in only for `s-hpa`.
    pub fn tick(&mut self, policy: &Policy, input: &TickInput<'_>) -> Report {
        let now = input.now;
        self.adopt(input.recorded);
        for followed in &mut self.followed {
            followed.follow(policy.horizon, input);
        }
        let steps = horizon::steps(policy.horizon, policy.max_age, Resolution::Fine.step());
        let seen = input.capacities.iter().map(|&(resource, capacity)| {
            let of_resource = |followed: &&Followed| followed.resource == resource;
            let followed = self.followed.iter().find(of_resource);
            Seen::new((resource, capacity), followed, steps, input.shared)
        });
        let seen: Vec<_> = seen.collect();
        let loads: Vec<_> = seen.iter().map(Seen::load).collect();
        let policy = Policy {
            strategy: strategy(input.models, &seen),
            ..policy.clone()
        };
        let observation = Observation {
            now,
            current: input.current,
            reactive: reactive(&policy, input, &loads),
            loads: &loads,
        };
        let (decision, state) = decide(&policy, std::mem::take(&mut self.state), &observation);
        self.state = state;
        let contribution = self.contribution(&policy, now);
        let fresh = loads
            .iter()
            .map(|load| load.used(now, policy.max_age).is_some());
        let fresh: Vec<_> = fresh.collect();
        let at = now.checked_add(policy.horizon).unwrap_or(Timestamp::MAX);
        let reports = seen.into_iter().zip(fresh);
        Report {
            decision,
            loads: reports
                .map(|(seen, fresh)| seen.report(at, fresh))
                .collect(),
            horizon: policy.horizon,
            contribution,
        }
    }

    /// The memory of the target in bytes, itself included, as far as it grows with what is followed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let followed: usize = self.followed.iter().map(Followed::bytes).sum();
        size_of::<Self>() + followed
    }

    fn of(&mut self, resource: Resource) -> &mut Followed {
        let known = self
            .followed
            .iter()
            .position(|followed| followed.resource == resource);
        let index = known.unwrap_or_else(|| {
            self.followed.reserve_exact(1);
            self.followed.push(Followed::new(resource));
            self.followed.len() - 1
        });
        &mut self.followed[index]
    }

    /// Takes over the floor that is in force at the first tick; later it is only followed down, as
    /// whoever decides meanwhile takes it back.
    fn adopt(&mut self, recorded: Option<Floor>) {
        let adopted = if std::mem::replace(&mut self.begun, true) {
            self.state.adopted
        } else {
            recorded
        };
        self.state.adopted = adopted.zip(recorded).map(|(adopted, recorded)| Floor {
            replicas: adopted.replicas.min(recorded.replicas),
            ..adopted
        });
    }

    fn contribution(&self, policy: &Policy, now: Timestamp) -> Option<Contribution> {
        let floor = self.state.floor.filter(|_| policy.mode == Mode::Floor)?;
        if floor.replicas <= policy.bounds.min() {
            return None;
        }
        let until = match self.state.adopted {
            Some(adopted) if adopted.until == floor.until => adopted.until,
            _ => now.checked_add(FLOOR_STANDS).unwrap_or(Timestamp::MAX),
        };
        Some(Contribution {
            min: Some(floor.replicas),
            max: None,
            until,
        })
    }
}

/// D-HPA belongs to `s-hpa`; the other models are heard by themselves.
fn strategy(models: Option<ModelSet>, seen: &[Seen]) -> Strategy {
    let s_hpa = |seen: &Seen| {
        let selected = seen.selected.as_ref();
        selected.is_some_and(|selected| selected.model == SHpa::NAME && selected.trust.is_trusted())
    };
    match models {
        None => Strategy::Off,
        Some(ModelSet::SHpa) => Strategy::DsHpa,
        Some(ModelSet::Auto) if seen.iter().any(s_hpa) => Strategy::DsHpa,
        Some(ModelSet::Auto) => Strategy::Forecast,
    }
}

/// What the load as it is now asks for. Where nothing but the rule asks, a load that is not known
/// may not take replicas away, and without any that is known there is no answer.
fn reactive(policy: &Policy, input: &TickInput<'_>, loads: &[Load<'_>]) -> Option<i32> {
    if let Reaction::Autoscaler(desired) = input.reaction {
        return desired;
    }
    let used = |load: &Load<'_>| load.used(input.now, policy.max_age);
    let count = |load: &Load<'_>| {
        let capacity = load.capacity;
        Some(capacity.reactive(input.current, used(load)?, policy.tolerance))
    };
    let asked = loads.iter().filter_map(count).max()?;
    let blind = loads.iter().any(|load| used(load).is_none());
    Some(if blind {
        asked.max(input.current)
    } else {
        asked
    })
}

#[cfg(test)]
mod tests;
