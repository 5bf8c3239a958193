//! Whole reconciliations: the effect of each observed part.

use std::sync::Arc;

use evenkeel_label_selector::LabelSelector;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::{ContainerFacts, PodFacts, PodPhase, PodSpecFacts, ReadyCondition};
use evenkeel_metrics::sample::{ContainerMetrics, PodMetrics, ValueSample};
use evenkeel_metrics::signal::{
    MetricIdentifier, MetricTarget, ObjectReference, ResourceName, Signal,
};
use evenkeel_objects::condition::ConditionStatus;
use jiff::{SignedDuration, Timestamp};

use super::*;

pub(crate) const SECOND: fn(i64) -> SignedDuration = SignedDuration::from_secs;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

pub(crate) fn cpu(percent: i32) -> MetricSpec {
    MetricSpec::new(Signal::CPU, MetricTarget::Utilization(percent))
}

pub(crate) fn queue() -> Signal {
    Signal::External(MetricIdentifier::named("queue"))
}

pub(crate) fn hpa(metrics: Vec<MetricSpec>) -> HorizontalPodAutoscaler {
    HorizontalPodAutoscaler {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        generation: None,
        spec: HpaSpec {
            scale_target: ObjectReference {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                name: "web".to_owned(),
            },
            min_replicas: 2,
            max_replicas: 20,
            metrics,
            behavior: None,
        },
        status: HpaStatus::default(),
    }
}

/// Ready for an hour, each with a request of 1000m.
pub(crate) fn pods(count: usize) -> Vec<PodFacts> {
    let begun = now() - SECOND(3600);
    let pod = |index| PodFacts {
        name: format!("web-{index}"),
        phase: PodPhase::Running,
        deleted: false,
        start_time: Some(begun),
        ready: Some(ReadyCondition {
            status: ConditionStatus::True,
            last_transition_time: begun,
        }),
        spec: Arc::new(PodSpecFacts {
            containers: vec![ContainerFacts {
                name: "app".to_owned(),
                requests: [(ResourceName::Cpu, 1000)].into_iter().collect(),
                is_sidecar: false,
            }],
            ..PodSpecFacts::default()
        }),
    };
    (0..count).map(pod).collect()
}

pub(crate) fn usage(count: usize, milli: i64) -> Readings {
    let metrics = |index| PodMetrics {
        pod: format!("web-{index}"),
        timestamp: now(),
        window: SECOND(15),
        containers: vec![ContainerMetrics {
            name: "app".to_owned(),
            usage: [(ResourceName::Cpu, milli)].into_iter().collect(),
        }],
    };
    Readings {
        resource: Ok((0..count).map(metrics).collect()),
        ..Readings::default()
    }
}

pub(crate) fn scale<'a>(pods: &'a [PodFacts], autoscalers: &'a [String]) -> TargetScale<'a> {
    let count = i32::try_from(pods.len()).unwrap();
    TargetScale {
        spec_replicas: count,
        status_replicas: count,
        selector: "app=web",
        pods: Ok(pods),
        autoscalers,
    }
}

fn outcome(
    hpa: &HorizontalPodAutoscaler,
    scale: TargetScale<'_>,
    readings: &Readings,
) -> HpaOutcome {
    let observed = ObservedTarget {
        scale: Ok(scale),
        readings,
    };
    let (controller, mut memory) = (Controller::default(), HpaMemory::default());
    reconcile(&controller, hpa, &observed, &mut memory, now()).written(&mut memory)
}

fn reason(outcome: &HpaOutcome, condition: &ConditionType) -> String {
    let condition = outcome.status.condition(condition);
    condition.map_or(String::new(), |condition| condition.reason.to_string())
}

#[test]
fn usage_over_its_target_adds_replicas() {
    let (hpa, pods) = (hpa(vec![cpu(50)]), pods(4));
    for (milli, replicas) in [(500, 4), (550, 4), (560, 5), (700, 6), (5000, 8)] {
        let found = outcome(&hpa, scale(&pods, &[]), &usage(4, milli));
        assert_eq!(found.status.desired_replicas, replicas, "{milli}");
        let utilization = found.status.current_metrics[0].current.average_utilization;
        assert_eq!(utilization.map(i64::from), Some(milli / 10));
    }
}

#[test]
fn a_selector_that_no_label_can_meet_fails_its_metric() {
    let signal = Signal::External(MetricIdentifier {
        name: "queue".to_owned(),
        selector: Some(LabelSelector::from_labels([("queue", "a b")])),
    });
    let wrong = MetricSpec::new(signal, MetricTarget::AverageValue(1000));
    let found = outcome(&hpa(vec![wrong]), scale(&pods(4), &[]), &usage(4, 100));
    let active = found.status.condition(&ConditionType::ScalingActive);
    let active = active.unwrap();
    assert_eq!(active.reason, "FailedGetExternalMetric");
    let why = "values[0][queue]: Invalid value: \"a b\": a valid label must be an empty string or";
    assert!(active.message.contains(why), "{}", active.message);
}

#[test]
fn a_failed_metric_holds_up_scaling_down_and_not_up() {
    let missing = MetricSpec::new(queue(), MetricTarget::AverageValue(1000));
    let (hpa, pods) = (hpa(vec![missing, cpu(50)]), pods(4));
    let up = outcome(&hpa, scale(&pods, &[]), &usage(4, 700));
    assert_eq!(up.status.desired_replicas, 6);
    assert!(up.error.is_some(), "the failure is told");
    let down = outcome(&hpa, scale(&pods, &[]), &usage(4, 100));
    assert_eq!(
        (down.action, down.status.current_replicas),
        (Action::None, 4)
    );
    let active = reason(&down, &ConditionType::ScalingActive);
    assert_eq!(active, "FailedGetExternalMetric");
}

#[test]
fn pods_of_two_hpas_are_left_alone() {
    let (hpa, pods) = (hpa(vec![cpu(50)]), pods(4));
    let autoscalers = ["shop/other", "shop/web"].map(ToOwned::to_owned);
    let found = outcome(&hpa, scale(&pods, &autoscalers), &usage(4, 700));
    assert_eq!(found.action, Action::None);
    assert_eq!(
        reason(&found, &ConditionType::ScalingActive),
        "AmbiguousSelector"
    );
    let message = "pods by selector app=web are controlled by multiple HPAs: [shop/other shop/web]";
    assert_eq!(found.events[0].message, message);
}

#[test]
fn a_sum_below_zero_counts_differently_by_its_target() {
    for (target, replicas) in [
        (MetricTarget::Value(1000), 2),
        (MetricTarget::AverageValue(1000), 8),
    ] {
        let series = vec![ValueSample {
            timestamp: now(),
            value: -5000,
        }];
        let readings = Readings {
            others: [(queue(), Ok(MetricsApiReading::Series(series)))]
                .into_iter()
                .collect(),
            ..Readings::default()
        };
        let (mut hpa, pods) = (hpa(vec![MetricSpec::new(queue(), target)]), pods(4));
        hpa.spec.behavior = Some(BehaviorSpec::default().defaulted());
        if let Some(behavior) = &mut hpa.spec.behavior {
            behavior.scale_down.stabilization_window_seconds = Some(0);
        }
        let found = outcome(&hpa, scale(&pods, &[]), &readings);
        assert_eq!(found.status.desired_replicas, replicas, "{target:?}");
    }
}

#[test]
fn an_hpa_without_a_metric_changes_nothing() {
    let (hpa, pods) = (hpa(Vec::new()), pods(4));
    let found = outcome(&hpa, scale(&pods, &[]), &usage(4, 100));
    assert_eq!(found.action, Action::None);
    assert!(found.error.is_some());
}

#[test]
fn a_conflict_is_tried_again_and_a_failure_is_told() {
    let (hpa, pods, readings) = (hpa(vec![cpu(50)]), pods(4), usage(4, 700));
    let observed = ObservedTarget {
        scale: Ok(scale(&pods, &[])),
        readings: &readings,
    };
    let (controller, mut memory) = (Controller::default(), HpaMemory::default());
    let step = reconcile(&controller, &hpa, &observed, &mut memory, now());
    let ReconcileStep::Rescale(mut rescale) = step else {
        panic!("{step:?}")
    };
    for _ in 0..4 {
        let conflict = Err(ScaleWriteError::Conflict("another".to_owned()));
        rescale = match rescale.after_write(conflict, &mut memory) {
            AfterWrite::Retry(again) => again,
            AfterWrite::Done(outcome) => panic!("{outcome:?}"),
        };
    }
    let conflict = Err(ScaleWriteError::Conflict("another".to_owned()));
    let AfterWrite::Done(found) = rescale.after_write(conflict, &mut memory) else {
        panic!("a sixth attempt")
    };
    assert_eq!(
        reason(&found, &ConditionType::AbleToScale),
        "FailedUpdateScale"
    );
    assert_eq!(found.events[0].reason, "FailedRescale");
    assert_eq!(found.status.desired_replicas, 0, "as before");
}

#[test]
fn only_a_target_that_its_hpa_scaled_to_zero_comes_back() {
    let controller = Controller {
        feature_gates: FeatureGates {
            hpa_scale_to_zero: true,
            ..FeatureGates::default()
        },
        ..Controller::default()
    };
    let mut hpa = hpa(vec![MetricSpec::new(queue(), MetricTarget::Value(1000))]);
    hpa.spec.min_replicas = 0;
    let mut memory = HpaMemory {
        recommendations: Some(Vec::new()),
        ..HpaMemory::default()
    };
    let mut look = |hpa: &HorizontalPodAutoscaler, count: usize, value: i64| {
        let (pods, timestamp) = (pods(count), now());
        let series = vec![ValueSample { timestamp, value }];
        let readings = Readings {
            others: [(queue(), Ok(MetricsApiReading::Series(series)))]
                .into_iter()
                .collect(),
            ..Readings::default()
        };
        let observed = ObservedTarget {
            scale: Ok(scale(&pods, &[])),
            readings: &readings,
        };
        let step = reconcile(&controller, hpa, &observed, &mut memory, now());
        step.written(&mut memory).status
    };
    let by_hand = look(&hpa, 0, 3000);
    assert_eq!(by_hand.desired_replicas, 0);
    hpa.status = look(&hpa, 1, 0);
    assert!(hpa.status.holds(&ConditionType::ScaledToZero));
    assert_eq!(look(&hpa, 0, 3000).desired_replicas, 3);
}

#[test]
fn a_status_that_says_the_same_is_not_written_again() {
    let (mut hpa, pods) = (hpa(vec![cpu(50)]), pods(4));
    let first = outcome(&hpa, scale(&pods, &[]), &usage(4, 500));
    assert!(first.is_status_changed);
    hpa.status = first.status;
    let again = outcome(&hpa, scale(&pods, &[]), &usage(4, 500));
    assert!(!again.is_status_changed);
    let other = outcome(&hpa, scale(&pods, &[]), &usage(4, 510));
    assert!(other.is_status_changed);
}

#[test]
fn rules_without_policies_limit_as_kubernetes_has_it() {
    let events = ScaleEvents::default();
    for (select_policy, most, least) in [
        (SelectPolicy::Min, i32::MAX, i32::MIN),
        (SelectPolicy::Max, i32::MIN, i32::MAX),
        (SelectPolicy::Disabled, 4, 4),
    ] {
        let rules = ScalingRules {
            stabilization_window_seconds: None,
            select_policy,
            policies: Vec::new(),
            tolerance: None,
        };
        assert_eq!(scale_up_limit(&rules, 4, &events, now()), (most, None));
        assert_eq!(scale_down_limit(&rules, 4, &events, now()), least);
    }
}
