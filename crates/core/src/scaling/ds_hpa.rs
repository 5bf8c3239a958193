//! DS-HPA: S-HPA forecasts while it may, D-HPA while it cannot (paper 2.2 and 2.3).
//!
//! A trusted forecast is put in force and stands for one horizon. While it stands, and while there
//! is none, D-HPA watches the load with a target that its growth lowers: it scales out earlier and
//! in later than the plain rule. It speaks up only where it differs from the plain rule, and the
//! larger of both counts holds. The paper's growth is a difference; as a fraction it has no unit,
//! and by its magnitude both directions lower the target, which is what the paper describes.

use jiff::{SignedDuration, Timestamp};

use super::hpa_aware::{PodCapacity, within};
use super::{Load, Observation, Policy, ScaleDown, Strategy};
use crate::forecast::{Forecast, SHpa, Trust};
use crate::units::{Ratio, Resource, count_as_f64, replicas_ceil};

/// What a model forecasts of a load, and whether it has earned to be heard.
#[derive(Debug, Clone, Copy)]
pub struct Predicted<'a> {
    /// The name of the model.
    pub model: &'static str,
    /// Its forecast.
    pub forecast: &'a Forecast,
    /// Whether it was lately better than the naive one at the horizon in use.
    pub trust: Trust,
}

/// D-HPA's target and what it is made of (paper 11 and 12).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DynamicThreshold {
    /// The mean utilisation.
    pub mean: f64,
    /// g: the last change, as a fraction of the value before it; 0 when that is 0 or missing.
    pub growth: f64,
    /// The last utilisation.
    pub last: f64,
    /// T_down: `clamp(T - mean |g|, T / 2, T)`.
    pub target: f64,
}

impl DynamicThreshold {
    /// The threshold for the sums `recent`, oldest first, carried by `current` Pods; `None` where
    /// there is none. All sums are taken relative to the Pods of now, so that a change of the count
    /// is no change of the load.
    #[must_use]
    pub fn of(recent: &[f64], current: i32, capacity: PodCapacity) -> Option<Self> {
        let &newest = recent.last()?;
        let whole = f64::from(current) * capacity.request();
        let mean = recent.iter().sum::<f64>() / count_as_f64(recent.len()) / whole;
        let before = recent.len().checked_sub(2).map(|index| recent[index]);
        let growth = before
            .filter(|&before| before != 0.0)
            .map_or(0.0, |before| (newest - before) / before);
        let most = capacity.target();
        Some(Self {
            mean,
            growth,
            last: newest / whole,
            target: (most - mean * growth.abs()).clamp(0.5 * most, most),
        })
    }

    /// The count that D-HPA wants: `ceil(CR x / T_down)` outside of the tolerance, and no more than
    /// CR while the load falls.
    #[must_use]
    pub fn desired(&self, current: i32, tolerance: Ratio) -> i32 {
        let ratio = self.last / self.target;
        if within(ratio, tolerance) {
            return current;
        }
        let desired = replicas_ceil(f64::from(current) * ratio);
        if self.growth < 0.0 {
            desired.min(current)
        } else {
            desired
        }
    }
}

/// A forecast that stands until it is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InForce {
    /// DR for the mean that was forecast.
    pub replicas: i32,
    /// The resource that needs the most replicas.
    pub resource: Resource,
    /// What was forecast of it.
    pub mean: f64,
    /// When it is due, and stops to stand.
    pub until: Timestamp,
    /// The model.
    pub model: &'static str,
}

/// What speaks for a count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// A trusted forecast.
    Forecast(InForce),
    /// D-HPA's target for a resource.
    DynamicThreshold(Resource, DynamicThreshold),
}

/// A count that prediction asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// The count, without any bound.
    pub replicas: i32,
    /// What speaks for it.
    pub basis: Basis,
}

impl Proposal {
    /// The resource whose load speaks.
    #[must_use]
    pub const fn resource(&self) -> Resource {
        match self.basis {
            Basis::Forecast(forecast) => forecast.resource,
            Basis::DynamicThreshold(resource, _) => resource,
        }
    }
}

/// Carries the forecast in force on to now, and says what prediction asks for; `None` where it has
/// nothing to add to the plain rule.
pub(super) fn propose(
    policy: &Policy,
    observation: &Observation<'_>,
    in_force: &mut Option<InForce>,
) -> Option<Proposal> {
    let now = observation.now;
    *in_force = in_force.filter(|forecast| stands(forecast, policy, observation));
    let between = in_force.is_some();
    if !between || policy.strategy == Strategy::Forecast {
        *in_force = forecast(policy, observation).or(*in_force);
    }
    let forecast = in_force.map(|forecast| Proposal {
        replicas: forecast.replicas,
        basis: Basis::Forecast(forecast),
    });
    let reactive = (between || forecast.is_none()) && policy.strategy == Strategy::DsHpa;
    let loads = observation.loads.iter().filter(|_| reactive);
    let thresholds = loads.filter_map(|load| {
        load.used(now, policy.max_age)?;
        dynamic_threshold(load, observation.current, policy.tolerance)
    });
    let all = forecast.into_iter().chain(thresholds);
    all.reduce(|most, next| {
        if next.replicas > most.replicas {
            next
        } else {
            most
        }
    })
}

/// Whether a forecast made earlier is still to be heard: not yet due, and its model not distrusted
/// since.
fn stands(forecast: &InForce, policy: &Policy, observation: &Observation<'_>) -> bool {
    let mut of_resource = observation
        .loads
        .iter()
        .filter(|load| load.resource == forecast.resource);
    let distrusted = of_resource.any(|load| {
        load.predicted
            .is_some_and(|predicted| !predicted.trust.is_trusted())
    });
    let from = forecast.until.checked_sub(policy.horizon);
    let begun = from.is_ok_and(|from| from <= observation.now);
    policy.strategy != Strategy::Off && begun && observation.now < forecast.until && !distrusted
}

fn forecast(policy: &Policy, observation: &Observation<'_>) -> Option<InForce> {
    if policy.strategy == Strategy::Off {
        return None;
    }
    let until = observation.now.checked_add(policy.horizon).ok()?;
    let counts = observation.loads.iter().filter_map(|load| {
        let predicted = trusted(load, policy, observation.now)?;
        let mean = predicted.forecast.at(until)?.mean;
        Some(InForce {
            replicas: load.capacity.desired_for_sum(mean),
            resource: load.resource,
            mean,
            until,
            model: predicted.model,
        })
    });
    counts.reduce(|most, next| {
        if next.replicas > most.replicas {
            next
        } else {
            most
        }
    })
}

fn trusted<'a>(load: &Load<'a>, policy: &Policy, now: Timestamp) -> Option<Predicted<'a>> {
    load.used(now, policy.max_age)?;
    let enough = load.recent.len() >= SHpa::NEED || policy.strategy != Strategy::DsHpa;
    load.predicted
        .filter(|predicted| enough && predicted.trust.is_trusted())
}

fn dynamic_threshold(load: &Load<'_>, current: i32, tolerance: Ratio) -> Option<Proposal> {
    let threshold = DynamicThreshold::of(load.recent, current, load.capacity)?;
    let used = load.recent.last()?;
    let replicas = threshold.desired(current, tolerance);
    (replicas > load.capacity.reactive(current, *used, tolerance)).then_some(Proposal {
        replicas,
        basis: Basis::DynamicThreshold(load.resource, threshold),
    })
}

/// The count that carries every load as it is now and the upper 95 % bound of what it will be,
/// where scaling in ahead is allowed and each has a fresh measurement and a trusted forecast.
pub(super) fn early(policy: &Policy, observation: &Observation<'_>) -> Option<i32> {
    if policy.scale_down != ScaleDown::Early || policy.strategy == Strategy::Off {
        return None;
    }
    let until = observation.now.checked_add(policy.horizon).ok()?;
    let upper = observation.loads.iter().map(|load| {
        let predicted = trusted(load, policy, observation.now)?;
        let upper = highest(predicted.forecast, until)?;
        let used = load.used(observation.now, policy.max_age)?;
        let now = load
            .capacity
            .reactive(observation.current, used, policy.tolerance);
        Some(load.capacity.desired_for_sum(upper).max(now))
    });
    upper.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// The highest upper bound up to `until`: what is taken away now is missing all that time.
fn highest(forecast: &Forecast, until: Timestamp) -> Option<f64> {
    let last = forecast.index(until)?;
    let within = forecast.steps.get(..=last)?.iter();
    within
        .map(|step| step.interval95.upper)
        .max_by(f64::total_cmp)
}

/// The age that a measurement has at `now`, for telling.
pub(super) fn age(load: &Load<'_>, now: Timestamp) -> Option<SignedDuration> {
    load.measured.map(|at| now.duration_since(at))
}
