//! DS-HPA (`DS-HPA`): S-HPA forecasts where it can (2.2), D-HPA watches the load where it cannot
//! (2.3).
//!
//! A trusted forecast becomes the active one and stands for one horizon. While it stands, and while
//! there is none, D-HPA compares the load with a target that the load's growth lowers: it scales out
//! earlier and in later than the HPA's own rule, and proposes something only where it differs from
//! that rule. The larger of both counts holds. The paper writes the growth as a difference; as a
//! fraction it has no unit, and its magnitude lowers the target in both directions, as the paper
//! describes.

use evenkeel_forecast::{Forecast, ModelSet, SHpa};
use evenkeel_hpa::Tolerances;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_units::{count_as_f64, replicas_ceil};
use jiff::Timestamp;

use super::decision_basis::DecisionBasis;
use super::expected_load::ExpectedLoad;
use super::input::{DecisionInput, Prediction, SignalLoad};
use super::policy::{Strategy, TargetPolicy};
use super::traffic_need::{TrafficNeed, TrafficStanding};
use crate::load::horizon;
use crate::load::hpa_aware::PodCapacity;

/// D-HPA's target and the figures that it follows from (`DS-HPA` (11), (12)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DynamicThreshold {
    /// The mean utilisation of the recent sums.
    pub mean: f64,
    /// g: the last change, as a fraction of the value before it; 0 when that is 0 or missing.
    pub growth: f64,
    /// The utilisation of the newest sum.
    pub last: f64,
    /// T_down: `clamp(T - mean |g|, T / 2, T)`.
    pub target: f64,
}

impl DynamicThreshold {
    /// The threshold for the sums `recent`, oldest first, carried by `current` Pods; `None` where
    /// there is none. All sums are taken relative to the Pods of now, so that a change of the count
    /// is no change of the load.
    pub fn of(recent: &[f64], current: i32, capacity: PodCapacity) -> Option<Self> {
        let newest = *recent.last().filter(|_| current > 0)?;
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
    pub fn desired(&self, current: i32, tolerances: Tolerances) -> i32 {
        let ratio = self.last / self.target;
        if tolerances.contain(ratio) {
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

/// A trusted forecast, which stands until it is due.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveForecast {
    /// DR for that load.
    pub replicas: i32,
    /// The signal that needs the most replicas.
    pub signal: Signal,
    /// The load that capacity is to be there for, in its base unit: the quantile of the largest load
    /// until then that the risk asks for, or the mean of models that know no such quantile.
    pub load: f64,
    /// When the forecast is due, and no longer stands.
    pub until: Timestamp,
    /// The name of the model.
    pub model: &'static str,
}

/// Why prediction proposes a count.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Basis {
    /// A trusted forecast, which is now the active one.
    Forecast(ActiveForecast),
    /// D-HPA's target for a signal.
    DynamicThreshold(Signal, DynamicThreshold),
    /// The need of the traffic.
    Traffic(TrafficNeed),
}

/// A count that prediction asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PredictiveProposal {
    /// The count, without any bound.
    pub replicas: i32,
    /// Why it is proposed.
    pub basis: Basis,
}

impl PredictiveProposal {
    /// The signal of the load that asks for the count; `None` for traffic, which is always known
    /// when it asks for a count.
    pub(crate) const fn signal(&self) -> Option<&Signal> {
        match &self.basis {
            Basis::Forecast(forecast) => Some(&forecast.signal),
            Basis::DynamicThreshold(signal, _) => Some(signal),
            Basis::Traffic(_) => None,
        }
    }

    /// True if it rests on the forecast of one fitted model, and not of one that stands in for it.
    pub(crate) fn is_by_fitted_model(&self) -> bool {
        let Basis::Forecast(forecast) = &self.basis else {
            return false;
        };
        ModelSet::named(forecast.model).is_some_and(ModelSet::is_fitted)
    }
}

impl DecisionBasis {
    /// Those of a decision on what prediction asks for.
    pub(crate) fn of(proposal: Option<&PredictiveProposal>) -> Self {
        match proposal.map(|proposal| &proposal.basis) {
            None => Self::Reaction,
            Some(Basis::Forecast(_)) => Self::Forecast,
            Some(Basis::Traffic(_)) => Self::Traffic,
            Some(Basis::DynamicThreshold(..)) => Self::DynamicThreshold,
        }
    }
}

/// Carries the active forecast on to now and returns the count that prediction asks for; `None`
/// where it has nothing to add to the HPA's own rule. Of several counts the largest holds, so that the
/// traffic and the loads are contributors that can only add to each other.
pub(crate) fn propose(
    policy: &TargetPolicy,
    input: &DecisionInput<'_>,
    active: &mut Option<ActiveForecast>,
) -> Option<PredictiveProposal> {
    let now = input.now;
    *active = active.take().filter(|forecast| stands(forecast, input));
    let between = active.is_some();
    if !between || input.strategy == Strategy::Forecast {
        *active = forecast(policy, input).or(active.take());
    }
    let forecast = active.as_ref().map(|forecast| PredictiveProposal {
        replicas: forecast.replicas,
        basis: Basis::Forecast(forecast.clone()),
    });
    let reactive = (between || forecast.is_none()) && input.strategy == Strategy::DsHpa;
    let forecast_loads = input.loads.iter().filter(|load| load.is_forecast);
    let loads = forecast_loads.filter(|_| reactive);
    let thresholds = loads.filter_map(|load| {
        load.fresh(now, policy.max_age)?;
        dynamic_threshold(load, input.current, policy.tolerances)
    });
    let traffic = input.traffic.and_then(TrafficStanding::need);
    let traffic = traffic.map(|need| PredictiveProposal {
        replicas: need.replicas,
        basis: Basis::Traffic(need.clone()),
    });
    let all = forecast.into_iter().chain(thresholds).chain(traffic);
    all.reduce(|most, next| {
        if next.replicas > most.replicas {
            next
        } else {
            most
        }
    })
}

/// True while a forecast made earlier still holds: it is not due, and its model has not lost its
/// trust since.
fn stands(forecast: &ActiveForecast, input: &DecisionInput<'_>) -> bool {
    let mut of_signal = input
        .loads
        .iter()
        .filter(|load| *load.signal == forecast.signal);
    let distrusted =
        of_signal.any(|load| load.prediction.is_some_and(|one| !one.trust.is_trusted()));
    // One that is due later than any horizon was made before the clock was set back.
    let begun = forecast.until.duration_since(input.now) <= horizon::MOST;
    input.strategy != Strategy::Off && begun && input.now < forecast.until && !distrusted
}

fn forecast(policy: &TargetPolicy, input: &DecisionInput<'_>) -> Option<ActiveForecast> {
    let counts = input.loads.iter();
    let counts = counts.filter_map(|load| forecast_of(load, policy, input));
    counts.reduce(|most, next| {
        if next.replicas > most.replicas {
            next
        } else {
            most
        }
    })
}

/// The trusted forecast of one load, as a floor would be made of it.
fn forecast_of(
    load: &SignalLoad<'_>,
    policy: &TargetPolicy,
    input: &DecisionInput<'_>,
) -> Option<ActiveForecast> {
    if input.strategy == Strategy::Off {
        return None;
    }
    let until = input.now.checked_add(input.ahead).ok()?;
    let prediction = trusted(load, policy, input)?;
    let covered = prediction.cover;
    let covered = covered.or_else(|| Some(prediction.forecast.at(until)?.mean))?;
    Some(ActiveForecast {
        replicas: load.capacity.desired_for_sum(covered),
        signal: load.signal.clone(),
        load: covered,
        until,
        model: prediction.model,
    })
}

/// The load of one signal that replicas have to be ready for, with `active`, the forecast that stands:
/// the larger of the load as it is now and of what a floor is made of. `None` for a load that is not
/// known as it is now, and for one that is reacted to only, since what is made of it would feed on the
/// Pods that it adds.
pub(crate) fn expected(
    load: &SignalLoad<'_>,
    policy: &TargetPolicy,
    input: &DecisionInput<'_>,
    active: Option<&ActiveForecast>,
) -> Option<ExpectedLoad> {
    let now = load.fresh(input.now, policy.max_age)?;
    if !load.is_forecast {
        return None;
    }
    let standing = active.filter(|forecast| forecast.signal == *load.signal);
    let standing = standing.cloned();
    let ahead = standing.or_else(|| forecast_of(load, policy, input));
    Some(ExpectedLoad::of(now, ahead.map(|forecast| forecast.load)))
}

fn trusted<'a>(
    load: &SignalLoad<'a>,
    policy: &TargetPolicy,
    input: &DecisionInput<'_>,
) -> Option<Prediction<'a>> {
    load.fresh(input.now, policy.max_age)?;
    let enough = load.recent.len() >= SHpa::NEED || input.strategy != Strategy::DsHpa;
    load.prediction
        .filter(|prediction| enough && prediction.trust.is_trusted())
}

fn dynamic_threshold(
    load: &SignalLoad<'_>,
    current: i32,
    tolerances: Tolerances,
) -> Option<PredictiveProposal> {
    let threshold = DynamicThreshold::of(load.recent, current, load.capacity)?;
    let used = load.recent.last()?;
    let replicas = threshold.desired(current, tolerances);
    (replicas > load.capacity.reactive(current, *used, tolerances)).then(|| PredictiveProposal {
        replicas,
        basis: Basis::DynamicThreshold(load.signal.clone(), threshold),
    })
}

/// The count that carries every load as it is now and the upper 95 % bound of its forecast; `None`
/// unless scaling in ahead is allowed and each load has a fresh measurement and, where it is one that
/// is forecast, a trusted forecast.
pub(crate) fn early(policy: &TargetPolicy, input: &DecisionInput<'_>) -> Option<i32> {
    if policy.scale_down != ScaleDown::Early
        || input.strategy == Strategy::Off
        || input.has_unknown_traffic()
    {
        return None;
    }
    let until = input.now.checked_add(input.ahead).ok()?;
    if !input.loads.iter().any(|load| load.is_forecast) {
        return None;
    }
    let upper = input.loads.iter().map(|load| {
        let used = load.fresh(input.now, policy.max_age)?;
        let now = load
            .capacity
            .reactive(input.current, used, policy.tolerances);
        if !load.is_forecast {
            return Some(now);
        }
        let prediction = trusted(load, policy, input)?;
        let upper = highest(prediction.forecast, until)?;
        Some(load.capacity.desired_for_sum(upper).max(now))
    });
    upper.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// The highest upper bound up to `until`: Pods that are taken away now are missing all that time.
fn highest(forecast: &Forecast, until: Timestamp) -> Option<f64> {
    let last = forecast.index(until)?;
    let within = forecast.steps.get(..=last)?.iter();
    within
        .map(|step| step.interval95.upper)
        .max_by(f64::total_cmp)
}
