//! What holds for each target: whose word counts, what it scales by, and why it is refused.
//!
//! The autoscaler comes before the workload, the workload before the namespace, the namespace
//! before the configuration; with KEDA its ScaledObject stands before the HPA that it makes.
//! Nothing is a target in a namespace that has not opted in. What is refused is told, and its
//! bounds are put back.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::bounds::Ledger;
use super::owner::Owner;
use super::problem::Problem;
use super::{Member, Memory, Observed};
use crate::autoscaler::{Autoscaler, MetricTarget};
use crate::scaling_policy::{Predict, ScalingPolicy};
use evenkeel_core::forecast::{ModelSet, Shared};
use evenkeel_core::scaling::decide::Floor;
use evenkeel_core::scaling::hpa_aware::{PodCapacity, TOLERANCE};
use evenkeel_core::scaling::ownership::ObjectBounds;
use evenkeel_core::scaling::tracker::{Reaction, TickInput};
use evenkeel_core::scaling::{Bounds, Mode, Policy, ScaleDown, Strategy, horizon};
use evenkeel_core::units::{Amount, Quantity, Ratio, Resource, count_as_f64};

/// What the configuration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How decisions act where nothing else says.
    pub mode: Mode,
    /// What is predicted with where nothing else says.
    pub predict: Predict,
    /// The time between two ticks.
    pub interval: SignedDuration,
    /// Measurements older than this move nothing.
    pub max_age: SignedDuration,
}

/// What holds for what was observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The mode in effect; off where it is no target.
    pub mode: Mode,
    /// What is to be decided; `None` where it is no target or refused.
    pub target: Option<Target>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// The bounds of its object, with whose they are; `None` where it has none.
    pub bounds: Option<Ledger>,
}

impl Resolved {
    /// Whether a floor is wanted and another writer has been left the field; what is put back
    /// anyway is not contested.
    #[must_use]
    pub fn is_contested(&self) -> bool {
        let wanted = self.mode == Mode::Floor && self.target.is_some();
        wanted && self.bounds.as_ref().is_some_and(Ledger::is_contested)
    }
}

/// A target as a tick needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The policy.
    pub policy: Policy,
    /// What its load is predicted with.
    pub models: Option<ModelSet>,
    /// The resources that it scales by.
    pub capacities: Vec<(Resource, PodCapacity)>,
    /// What reacts to its load.
    pub reaction: Reaction,
    /// The replicas that it has.
    pub current: i32,
    /// The floor that is in force.
    pub floor: Option<Floor>,
}

impl Target {
    /// The input of a tick at `now`.
    #[must_use]
    pub fn input<'a>(&'a self, now: Timestamp, shared: &'a Shared) -> TickInput<'a> {
        TickInput {
            now,
            current: self.current,
            reaction: self.reaction,
            models: self.models,
            capacities: &self.capacities,
            recorded: self.floor,
            shared,
        }
    }
}

/// Whether each of the targets shares its workload with another HPA.
#[must_use]
pub fn conflicts(targets: &[Observed]) -> Vec<bool> {
    let key = |observed: &Observed| (observed.namespace.clone(), observed.reference.clone());
    let mut autoscalers: BTreeMap<_, usize> = BTreeMap::new();
    for observed in targets
        .iter()
        .filter(|observed| observed.autoscaler.is_some())
    {
        *autoscalers.entry(key(observed)).or_default() += 1;
    }
    let shared = |observed: &Observed| {
        autoscalers
            .get(&key(observed))
            .is_some_and(|&count| count > 1)
    };
    let conflict = targets
        .iter()
        .map(|observed| observed.autoscaler.is_some() && shared(observed));
    conflict.collect()
}

/// What holds for a target. `conflict` is what [`conflicts`] says of it, `memory` that of its plans.
#[must_use]
pub fn resolve(
    observed: &Observed,
    conflict: bool,
    settings: &Settings,
    memory: &Memory,
    now: Timestamp,
) -> Resolved {
    let owner = Owner::of(observed);
    let remembered = memory.record(now);
    let bounds = owner.and_then(|owner| Ledger::read(&owner, remembered, now));
    let said = Said::of(observed);
    let mode = said.mode(observed, settings, owner.is_some());
    let mut resolved = Resolved {
        mode,
        target: None,
        problems: Vec::new(),
        bounds,
    };
    if mode == Mode::Off {
        return resolved;
    }
    let user = resolved.bounds.as_ref().map(Ledger::user);
    let rules = Rules {
        observed,
        said: &said,
        settings,
    };
    match rules.target(mode, conflict, user) {
        Ok((mut target, problems)) => {
            target.floor = resolved
                .bounds
                .as_ref()
                .and_then(|bounds| bounds.floor(now));
            resolved.mode = target.policy.mode;
            (resolved.target, resolved.problems) = (Some(target), problems);
        }
        // Who opted in to be placed did not ask for recommendations on what has none.
        Err(Problem::NoResourceMetric) if !said.by_anybody(observed) => resolved.mode = Mode::Off,
        Err(problem) => resolved.problems.push(problem),
    }
    resolved
}

/// What the annotations of a target's objects say, each object asked after the one before it.
struct Said {
    policy: ScalingPolicy,
    /// Whether the workload itself asks to be scaled.
    asked: bool,
}

impl Said {
    fn of(observed: &Observed) -> Self {
        let scaled_object = observed.scaled_object.as_deref();
        let autoscaler = observed.autoscaler.as_deref();
        let workload = observed.workload.as_deref();
        let objects = [
            scaled_object.map(|object| &object.metadata),
            autoscaler.map(|object| &object.metadata),
            workload.map(|object| &object.metadata),
        ];
        let mut said = Self {
            policy: ScalingPolicy::default(),
            asked: false,
        };
        for metadata in objects.into_iter().flatten() {
            // Of what is not accepted the user is told where the object is watched.
            let (policy, _) = ScalingPolicy::parse(&metadata.annotations);
            said.asked |= policy.asks_for_scaling();
            said.policy = over(said.policy, policy);
        }
        said
    }

    /// Whether the objects or their namespace say anything of scaling.
    fn by_anybody(&self, observed: &Observed) -> bool {
        self.asked || observed.namespace_policy.scaling.is_some()
    }

    fn mode(&self, observed: &Observed, settings: &Settings, known: bool) -> Mode {
        // Until KEDA has made its HPA there is nothing to scale by; a pause takes the HPA away.
        let scaled = match &observed.scaled_object {
            Some(object) => observed.autoscaler.is_some() || object.is_paused(),
            None => observed.autoscaler.is_some() || self.asked,
        };
        if !observed.namespace_policy.enabled || !known || !scaled {
            return Mode::Off;
        }
        let said = self.policy.scaling.or(observed.namespace_policy.scaling);
        said.unwrap_or(settings.mode)
    }
}

/// The first says what it says, the second the rest.
fn over(first: ScalingPolicy, second: ScalingPolicy) -> ScalingPolicy {
    ScalingPolicy {
        predict: first.predict.or(second.predict),
        scaling: first.scaling.or(second.scaling),
        min_replicas: first.min_replicas.or(second.min_replicas),
        max_replicas: first.max_replicas.or(second.max_replicas),
        target: first.target.or(second.target),
        scale_down: first.scale_down.or(second.scale_down),
    }
}

struct Rules<'a> {
    observed: &'a Observed,
    said: &'a Said,
    settings: &'a Settings,
}

impl Rules<'_> {
    /// The target, with what is wrong but does not stop it.
    fn target(
        &self,
        mode: Mode,
        conflict: bool,
        user: Option<ObjectBounds>,
    ) -> Result<(Target, Vec<Problem>), Problem> {
        let Observed {
            autoscaler,
            scaled_object,
            reference,
            ..
        } = self.observed;
        if conflict {
            return Err(Problem::TargetConflict(reference.clone()));
        }
        if scaled_object
            .as_ref()
            .is_some_and(|object| object.is_paused())
        {
            return Err(Problem::Paused);
        }
        let (mut mode, mut problems) = (mode, Vec::new());
        if autoscaler.is_none() && mode == Mode::Floor {
            (mode, problems) = (Mode::Recommend, vec![Problem::NoAutoscaler]);
        }
        let bounds = self.bounds(user)?;
        let current = self
            .current()
            .ok_or_else(|| Problem::NoWorkload(reference.clone()))?;
        let capacities = self.capacities(&mut problems)?;
        let target = Target {
            policy: self.policy(mode, bounds),
            models: match self.said.policy.predict.unwrap_or(self.settings.predict) {
                Predict::Auto => Some(ModelSet::Auto),
                Predict::DsHpa => Some(ModelSet::SHpa),
                Predict::Off => None,
            },
            capacities,
            reaction: autoscaler.as_deref().map_or(Reaction::Rule, reaction),
            current,
            floor: None,
        };
        Ok((target, problems))
    }

    fn policy(&self, mode: Mode, bounds: Bounds) -> Policy {
        let behavior = self.observed.autoscaler.as_ref();
        let behavior = behavior.and_then(|autoscaler| autoscaler.spec.behavior.clone());
        let own = behavior
            .as_ref()
            .and_then(|behavior| behavior.scale_up.tolerance);
        let own =
            own.and_then(|own| Ratio::new(Amount::new(own.milli_ceil()).as_f64() / 1000.0).ok());
        let usual = Ratio::new(TOLERANCE).expect("the HPA's tolerance is finite");
        let mut start_to_ready = self.observed.pods.start_to_ready.clone();
        Policy {
            mode,
            bounds,
            behavior,
            tolerance: own.unwrap_or(usual),
            scale_down: self.said.policy.scale_down.unwrap_or(ScaleDown::Reactive),
            strategy: Strategy::Off,
            horizon: horizon::horizon(&mut start_to_ready, self.settings.interval),
            max_age: self.settings.max_age,
        }
    }

    /// The user's bounds. Those of an HPA begin with 1: it never takes the last Pod, and KEDA takes
    /// it only from what has nothing to do.
    fn bounds(&self, user: Option<ObjectBounds>) -> Result<Bounds, Problem> {
        let said = self.said.policy;
        let (min, max) = match user {
            Some(ObjectBounds { min, max }) => (min.unwrap_or(1).max(1), max),
            None => said
                .min_replicas
                .zip(said.max_replicas)
                .ok_or(Problem::BoundsMissing)?,
        };
        Bounds::new(min, max).map_err(Problem::InvalidBounds)
    }

    fn current(&self) -> Option<i32> {
        let workload = self
            .observed
            .workload
            .as_ref()
            .map(|workload| workload.replicas);
        let status = self.observed.autoscaler.as_ref();
        workload.or(status.and_then(|autoscaler| autoscaler.status.current_replicas))
    }

    /// What one Pod is to carry of each resource that the target scales by.
    fn capacities(
        &self,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<(Resource, PodCapacity)>, Problem> {
        let wanted = self.wanted();
        if wanted.is_empty() {
            return Err(Problem::NoResourceMetric);
        }
        let members = &self.observed.pods.members;
        let mut capacities: Vec<(Resource, PodCapacity)> = Vec::new();
        let mut without = None;
        for (resource, target) in wanted {
            let capacity = match target {
                MetricTarget::AverageValue(value) => of_value(resource, value),
                MetricTarget::Utilization(share) => mean_request(members, resource)
                    .and_then(|mean| PodCapacity::new(mean, share).ok()),
            };
            match capacity {
                Some(capacity) => capacities.push((resource, capacity)),
                None if members.is_empty() => {}
                None => without = without.or(Some(Problem::NoRequests(resource))),
            }
        }
        match without {
            Some(problem) if capacities.is_empty() => return Err(problem),
            without => problems.extend(without),
        }
        Ok(capacities)
    }

    fn wanted(&self) -> Vec<(Resource, MetricTarget)> {
        if let Some(autoscaler) = &self.observed.autoscaler {
            let metrics = autoscaler.spec.metrics.resources();
            return metrics
                .map(|metric| (metric.resource, metric.target))
                .collect();
        }
        let target = self.said.policy.target.unwrap_or_default();
        let share = |resource| Some((resource, MetricTarget::Utilization(target.of(resource)?)));
        Resource::ALL.into_iter().filter_map(share).collect()
    }
}

/// What the HPA asks for, unless it says that it cannot know; before its first look it says 0.
fn reaction(autoscaler: &Autoscaler) -> Reaction {
    let status = &autoscaler.status;
    let active = status.scaling_active != Some(false);
    Reaction::Autoscaler(
        status
            .desired_replicas
            .filter(|&desired| active && desired > 0),
    )
}

/// The mean request of the Pods that stay, of those that request anything.
fn mean_request(members: &[Member], resource: Resource) -> Option<f64> {
    let stay = members.iter().filter(|member| !member.terminating);
    let requests: Vec<_> = stay
        .filter_map(|member| member.requests[resource])
        .collect();
    let sum: Amount = requests.iter().copied().sum();
    (!requests.is_empty()).then(|| sum.as_f64() / count_as_f64(requests.len()))
}

/// A fixed value for each Pod is a request that is to be used wholly.
fn of_value(resource: Resource, value: Quantity) -> Option<PodCapacity> {
    let value = match resource {
        Resource::Cpu => Amount::new(value.milli_ceil()),
        _ => Amount::new(value.ceil()),
    };
    let whole = Ratio::new(1.0).expect("1 is finite");
    PodCapacity::new(value.as_f64(), whole).ok()
}
