//! The signals that a target scales by, each with the load that one Pod is to carry.
//!
//! A load whose sum depends on the number of Pods, such as memory, is reacted to and not forecast: a
//! floor on it would feed on the Pods that it adds. The user can say that it is conserved all the
//! same.

use std::sync::Arc;

use super::observed::Observed;
use super::problem::Problem;
use super::query;
use super::requested::RequestedPolicy;
use super::settings::Queries;
use crate::autoscaler::ObservedMetric;
use crate::external_metrics;
use evenkeel_core::scaling::hpa::request;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::signal::{Signal, Target};
use evenkeel_core::scaling::sum;
use evenkeel_core::scaling::tracker::ScaledSignal;
use evenkeel_core::units::{Ratio, count_as_f64};

/// The signals of a target; those that are refused or without a capacity are added to `problems`.
///
/// The metric that is served here is none of them: a forecast of it would feed on itself.
///
/// # Errors
/// No signal that is observed, or none with a capacity.
pub(super) fn scaled_signals(
    observed: &Observed,
    requested: &RequestedPolicy,
    queries: Queries,
    problems: &mut Vec<Problem>,
) -> Result<Vec<ScaledSignal>, Problem> {
    let all = metrics(observed, requested);
    let (own, metrics): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|metric| external_metrics::is_own(&metric.signal));
    if metrics.is_empty() && observed.autoscaler.is_some() {
        let has_own = !own.is_empty();
        return Err(if has_own {
            Problem::OwnMetric
        } else {
            Problem::NoMetric
        });
    }
    let members = &observed.pods.members;
    let forecasts_all = requested.policy.predict_memory == Some(true);
    let mut signals: Vec<ScaledSignal> = Vec::with_capacity(metrics.len());
    let mut without = None;
    for ObservedMetric { signal, target } in metrics {
        if let Err(why) = query::accepted(&signal, observed, queries) {
            let why = why.to_owned();
            let signal = Box::new(signal);
            without = without.or(Some(Problem::SignalUnknown { signal, why }));
            continue;
        }
        let scope = target.scope();
        // One past cannot be that of two figures: the other of them is left to the HPA.
        let other = |known: &ScaledSignal| known.signal == signal && known.scope != scope;
        if signals.iter().any(other) {
            continue;
        }
        match capacity(&signal, target, members) {
            Some(capacity) => signals.push(ScaledSignal {
                is_forecast: signal.is_conserved() || forecasts_all,
                signal,
                capacity,
                scope,
            }),
            None if members.is_empty() => {}
            None => without = without.or(Some(Problem::NoRequests(Box::new(signal)))),
        }
    }
    match without {
        Some(problem) if signals.is_empty() => return Err(problem),
        without => problems.extend(without),
    }
    Ok(signals)
}

/// The metrics of the target whose load is observed: those of its HPA or its annotation, and the load
/// that it names beside them.
fn metrics(observed: &Observed, requested: &RequestedPolicy) -> Vec<ObservedMetric> {
    let policy = &requested.policy;
    let named = policy.query.as_ref().map(|query| ObservedMetric {
        signal: query.signal.clone(),
        target: Target::AverageValue(query.target),
    });
    let metrics: Vec<_> = match &observed.autoscaler {
        Some(autoscaler) => autoscaler.spec.metrics.observed().collect(),
        None => policy.metrics().observed().collect(),
    };
    metrics.into_iter().chain(named).collect()
}

/// The load that one Pod is to carry: a share of the mean request, or a fixed value, which is as a
/// request that is to be used wholly.
fn capacity(signal: &Signal, target: Target, pods: &[Arc<PodFacts>]) -> Option<PodCapacity> {
    let (request, share) = match target {
        Target::Utilization(percent) => (mean_request(pods, signal)?, f64::from(percent) / 100.0),
        Target::AverageValue(milli) | Target::Value(milli) => {
            (sum::in_base_unit(signal, milli), 1.0)
        }
    };
    PodCapacity::new(request, Ratio::new(share).ok()?).ok()
}

/// The mean request of the Pods that stay, of those that request anything, in the base unit of the
/// signal.
fn mean_request(pods: &[Arc<PodFacts>], signal: &Signal) -> Option<f64> {
    let (resource, container) = signal.resource()?;
    let stay = pods.iter().filter(|pod| !pod.deleted);
    let requests: Vec<_> = stay
        .filter_map(|pod| request(pod, resource, container, true).ok())
        .map(|thousandths| sum::in_base_unit(signal, thousandths))
        .collect();
    let sum: f64 = requests.iter().sum();
    (!requests.is_empty()).then(|| sum / count_as_f64(requests.len()))
}
