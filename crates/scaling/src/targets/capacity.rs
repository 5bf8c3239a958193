//! The signals that a target scales by, each with the load that one Pod is to carry.
//!
//! A load with a sum that depends on the number of Pods, such as memory, is reacted to and not forecast.
//! A floor on it would feed on the Pods that it adds. The user can declare that the sum is conserved. A
//! value that is compared with its target as it is, such as a latency, is the value of each Pod. Its sum
//! grows with every Pod that is added, whatever the user declares.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use evenkeel_hpa::autoscaler::{HpaMetrics, ObservedMetric};
use evenkeel_hpa::{MetricSpec, request};
use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_metrics::pod::{PodFacts, ResourceRequests};
use evenkeel_metrics::signal::{MetricTarget, Signal, ValueScope};
use evenkeel_objects::limits::FOLLOWED;
use evenkeel_units::{Ratio, count_as_f64};

use super::problem::TargetProblem;
use super::requested_policy::RequestedPolicy;
use super::settings::Queries;
use super::signal_query;
use super::signal_query::SignalQuerySource;
use super::target_objects::TargetObjects;
use crate::external_metrics;
use crate::load::hpa_aware::PodCapacity;
use crate::load::sum;
use crate::tracker::ScaledSignal;

/// The shares of a request that are plausible targets, in percent.
const PERCENT: RangeInclusive<u8> = 10..=100;

/// A target of more than so many times the request is not meant.
const FAR_MORE: f64 = 10.0;

/// The metrics that a target scales by.
#[derive(Debug, Clone)]
pub(crate) struct TargetMetrics {
    /// The metrics that are asked for, those of the target itself first.
    pub(crate) accepted: Vec<ObservedMetric>,
    /// How each of them is asked for, in their order.
    questions: Vec<SignalQuerySource>,
    /// The number of them that the target's HPA has too, or its annotation.
    own: usize,
    /// The first that may not or cannot be asked for.
    refused: Option<TargetProblem>,
    /// True where the HPA has more, which are not followed.
    leaves_some: bool,
    /// True where the HPA has a metric that is made of the target's load here, and is none of them.
    has_made_here: bool,
}

/// The metrics of a target: the first of its HPA or its annotation, and the load that it names beside
/// them. The metric that is served here is none of them: a forecast of it would feed on itself.
pub(crate) fn target_metrics(
    observed: &TargetObjects,
    requested: &RequestedPolicy,
    queries: Queries,
) -> TargetMetrics {
    let policy = &requested.policy;
    let written = written(observed, requested);
    let is_made_here = |metric: &ObservedMetric| external_metrics::is_own(&metric.signal);
    let has_made_here = written.observed().any(|metric| is_made_here(&metric));
    let mut written = written.observed().filter(|metric| !is_made_here(metric));
    let named = policy.query.as_ref().map(|query| ObservedMetric {
        signal: query.signal.clone(),
        target: MetricTarget::AverageValue(query.target),
    });
    let mut refused = None;
    let mut accept = |metric: ObservedMetric| {
        let accepted = signal_query::accepted(&metric.signal, observed, queries);
        if let Err(why) = accepted {
            refused.get_or_insert_with(|| TargetProblem::SignalUnknown {
                signal: Box::new(metric.signal.clone()),
                why: why.to_owned(),
            });
        }
        Some((metric, accepted.ok()?))
    };
    let own = written.by_ref().take(FOLLOWED).filter_map(&mut accept);
    let (mut accepted, mut questions): (Vec<_>, Vec<_>) = own.unzip();
    let own = accepted.len();
    if let Some((metric, question)) = named.and_then(&mut accept) {
        accepted.push(metric);
        questions.push(question);
    }
    TargetMetrics {
        accepted,
        questions,
        own,
        refused,
        leaves_some: written.next().is_some(),
        has_made_here,
    }
}

/// The metrics that a target's HPA has, its IHPA or its annotation.
fn written<'a>(observed: &'a TargetObjects, requested: &RequestedPolicy) -> Cow<'a, HpaMetrics> {
    observed.autoscaler.as_ref().map_or_else(
        || Cow::Owned(requested.policy.metrics()),
        |autoscaler| Cow::Borrowed(&autoscaler.spec.metrics),
    )
}

/// All metrics that the replicas of a target are counted by, those that are not followed among them.
pub fn counted_by(observed: &TargetObjects) -> Vec<MetricSpec> {
    counted(observed, &RequestedPolicy::of(observed))
}

/// True where a metric that is none of these signals counts the replicas of a target. It may be one with
/// a query that is refused.
pub(crate) fn leaves_any(
    observed: &TargetObjects,
    requested: &RequestedPolicy,
    signals: &[ScaledSignal],
) -> bool {
    let is_followed = |signal: &Signal, target: Option<MetricTarget>| {
        let scope = target.map(MetricTarget::scope);
        let mut same = signals.iter().filter(|one| one.signal == *signal);
        same.any(|one| scope.is_none_or(|scope| scope == one.scope))
    };
    let named = requested.policy.query.as_ref().map(|query| {
        let target = MetricTarget::AverageValue(query.target);
        MetricSpec::Known(query.signal.clone(), Some(target))
    });
    let counted = counted(observed, requested).into_iter().chain(named);
    let mut left = counted.filter(|metric| match metric {
        MetricSpec::Known(signal, target) => !is_followed(signal, *target),
        MetricSpec::Unknown(_) => true,
    });
    left.next().is_some()
}

fn counted(observed: &TargetObjects, requested: &RequestedPolicy) -> Vec<MetricSpec> {
    let written = written(observed, requested);
    if observed.autoscaler.is_some() {
        written.defaulted()
    } else {
        written.into_owned().0
    }
}

/// The signals of a target, each with its question; those that are refused or without a capacity are added
/// to `problems`.
///
/// # Errors
/// No signal that is observed, or none with a capacity.
pub(crate) fn scaled_signals(
    observed: &TargetObjects,
    requested: &RequestedPolicy,
    metrics: &TargetMetrics,
    problems: &mut Vec<TargetProblem>,
) -> Result<Vec<(ScaledSignal, SignalQuerySource)>, TargetProblem> {
    let TargetMetrics {
        accepted,
        questions,
        own,
        refused,
        leaves_some,
        has_made_here,
    } = metrics;
    let mut without = refused.clone();
    if accepted.is_empty() && without.is_none() && observed.autoscaler.is_some() {
        return Err(if *has_made_here {
            TargetProblem::OwnMetric
        } else {
            TargetProblem::NoMetric
        });
    }
    // Those that wait out of traffic have less than they ask for, on standby, and carry nothing.
    let parked = &observed.profiles.parked;
    let members = observed.pods.members.iter();
    let members = members.filter(|pod| !parked.contains(&pod.name));
    let members: Vec<_> = members.map(|pod| &**pod).collect();
    let forecasts_all = requested.policy.predict_memory == Some(true);
    let mut signals: Vec<(ScaledSignal, SignalQuerySource)> = Vec::with_capacity(accepted.len());
    let asked = accepted.iter().zip(questions).enumerate();
    for (place, (ObservedMetric { signal, target }, question)) in asked {
        let scope = target.scope();
        // One past cannot be that of two figures: the other of them is left to the HPA.
        let other =
            |(known, _): &(ScaledSignal, _)| known.signal == *signal && known.scope != scope;
        if signals.iter().any(other) {
            continue;
        }
        match capacity(signal, *target, &members) {
            Some(capacity) => {
                problems.extend(percent_missing(signal, *target, &members));
                let scaled = ScaledSignal {
                    is_forecast: scope == ValueScope::Whole
                        && (signal.is_conserved() || forecasts_all),
                    only_here: place >= *own && observed.autoscaler.is_some(),
                    signal: signal.clone(),
                    capacity,
                    scope,
                };
                signals.push((scaled, question.clone()));
            }
            None if members.is_empty() => {}
            None => {
                without.get_or_insert_with(|| TargetProblem::NoRequests {
                    signal: Box::new(signal.clone()),
                    container: lacking(signal, &members).into(),
                });
            }
        }
    }
    match without {
        Some(problem) if signals.is_empty() => return Err(problem),
        without => problems.extend(without),
    }
    problems.extend(leaves_some.then_some(TargetProblem::TooManyMetrics));
    Ok(signals)
}

/// An amount of CPU or memory for each Pod that reads like a share without its percent sign. So many bytes are never
/// meant. So many cores may be, unless the Pods request far less.
fn percent_missing(
    signal: &Signal,
    target: MetricTarget,
    pods: &[&PodFacts],
) -> Option<TargetProblem> {
    signal.resource()?;
    let MetricTarget::AverageValue(thousandths) = target else {
        return None;
    };
    let number = (thousandths % 1000 == 0).then_some(thousandths / 1000)?;
    let amount = sum::in_base_unit(signal, thousandths);
    let is_far_more = |request: f64| amount > request * FAR_MORE;
    let is_meant = signal.is_cpu() && !mean_request(pods, signal).is_some_and(is_far_more);
    let percent = u8::try_from(number)
        .ok()
        .filter(|one| PERCENT.contains(one) && !is_meant)?;
    Some(TargetProblem::PercentMissing {
        signal: Box::new(signal.clone()),
        amount: if signal.is_cpu() {
            LoadUnit::of(signal).readable(amount).amount(amount)
        } else {
            format!("{percent} bytes")
        },
        percent,
    })
}

/// The load that one Pod is to carry: a share of the mean request, or a fixed value, which is as a
/// request that is to be used wholly.
fn capacity(signal: &Signal, target: MetricTarget, pods: &[&PodFacts]) -> Option<PodCapacity> {
    let (request, share) = match target {
        MetricTarget::Utilization(percent) => {
            (mean_request(pods, signal)?, f64::from(percent) / 100.0)
        }
        MetricTarget::AverageValue(milli) | MetricTarget::Value(milli) => {
            (sum::in_base_unit(signal, milli), 1.0)
        }
    };
    PodCapacity::new(request, Ratio::new(share).ok()?).ok()
}

/// The container for which the Pods have no request, where others of them have one; empty where none has.
fn lacking(signal: &Signal, pods: &[&PodFacts]) -> String {
    let Some((resource, None)) = signal.resource() else {
        return String::new();
    };
    let lacking = pods.iter().filter(|pod| !pod.deleted).find_map(|pod| {
        let sidecars = pod.spec.init_containers.iter().filter(|one| one.is_sidecar);
        let running = || pod.spec.containers.iter().chain(sidecars.clone());
        let has = |requests: &ResourceRequests| requests.get(resource).is_some();
        let found = running().find(|one| !has(&one.requests))?;
        running()
            .any(|one| has(&one.requests))
            .then(|| found.name.clone())
    });
    lacking.unwrap_or_default()
}

/// The mean request of the Pods that stay, of those that request anything, in the base unit of the
/// signal.
fn mean_request(pods: &[&PodFacts], signal: &Signal) -> Option<f64> {
    let (resource, container) = signal.resource()?;
    let stay = pods.iter().filter(|pod| !pod.deleted);
    let requests: Vec<_> = stay
        .filter_map(|pod| request(pod, resource, container, true).ok())
        .map(|thousandths| sum::in_base_unit(signal, thousandths))
        .collect();
    let sum: f64 = requests.iter().sum();
    (!requests.is_empty()).then(|| sum / count_as_f64(requests.len()))
}
