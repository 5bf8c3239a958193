//! Explanations of whole decisions: the sentences of each situation, and properties.

mod limits;
mod properties;
mod totals;

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::{PodFacts, PodPhase, ReadyCondition};
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::MetricTarget;
use evenkeel_objects::condition::ConditionStatus;

use super::*;
use crate::tests::{SECOND, cpu, hpa, now, pods, queue, scale, usage};
use crate::{
    BehaviorSpec, ConditionType, HpaCondition, MetricSpec, ObservedTarget, Readings, ScaleError,
    TargetScale,
};

/// The explanation of an HPA that has just the history.
fn explained(
    hpa: &HorizontalPodAutoscaler,
    observed: Result<TargetScale<'_>, &ScaleError>,
    readings: &Readings,
    history: &RescaleHistory,
) -> HpaExplanation {
    let input = HpaDecisionInput {
        controller: &Controller::default(),
        hpa,
        observed: ObservedTarget {
            scale: observed,
            readings,
        },
        memory: &history.memory(hpa, now()),
        now: now(),
    };
    explain(&input, history)
}

fn of_usage(hpa: &HorizontalPodAutoscaler, milli: i64) -> HpaExplanation {
    let pods = pods(4);
    let history = RescaleHistory::default();
    explained(hpa, Ok(scale(&pods, &[])), &usage(4, milli), &history)
}

fn assert_says(explanation: &HpaExplanation, parts: &[&str]) {
    let text = explanation.summary.join("\n");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

fn condition(hpa: &mut HorizontalPodAutoscaler, kind: ConditionType, reason: &'static str) {
    hpa.status.conditions.push(HpaCondition {
        condition_type: kind,
        status: ConditionStatus::True,
        reason: reason.into(),
        message: "".into(),
        last_transition_time: None,
        observed_generation: None,
    });
}

#[test]
fn a_ratio_within_the_tolerance_is_told_with_the_way_out_of_it() {
    let found = of_usage(&hpa(vec![cpu(50)]), 550);
    assert_says(
        &found,
        &[
            "Deployment web has 4 replicas, and the HPA keeps this count.",
            "CPU decides: it is at 55% of the requests, and its target is 50%. The ratio is 1.1.",
            "That is within the tolerance of 0.9 to 1.1, so it asks for 4 replicas.",
            "10m more CPU for each of the 4 measured Pods would add 1 replica.",
            "171m less CPU for each of the 4 measured Pods would make the metrics ask for 3. \
             Windows, policies and bounds would allow 4 at first.",
        ],
    );
    assert_eq!((found.decided_replicas, found.window), (Some(4), None));
}

#[test]
fn a_rise_names_pods_and_ratio_and_what_limits_it() {
    let mut hpa = hpa(vec![cpu(50)]);
    let found = of_usage(&hpa, 560);
    assert_says(
        &found,
        &[
            "the HPA scales it to 5",
            "70m more CPU for each of the 4 measured Pods would lead to 6 instead of 5.",
            "4 Pods × 1.12, rounded up, make 5 replicas.",
        ],
    );
    let legacy = of_usage(&hpa, 5000);
    assert_eq!(legacy.decided_replicas, Some(8));
    assert_says(
        &legacy,
        &["(twice the count, at least 4) allows a change to 8 in this step"],
    );
    hpa.spec.behavior = Some(BehaviorSpec::default().defaulted());
    let policies = of_usage(&hpa, 5000);
    let told = "The scaleUp policies (Pods=4/15s, Percent=100/15s) allow a change to 8";
    assert_says(&policies, &[told, "the metrics ask for 40"]);
    assert_eq!(policies.directions[0].limit, 8);
    hpa.spec.max_replicas = 6;
    let most = of_usage(&hpa, 5000);
    assert_says(
        &most,
        &["maxReplicas 6 limits the count: the metrics ask for 40."],
    );
    assert_eq!(most.more, None, "they ask for more already");
}

#[test]
fn a_window_is_told_with_the_range_of_its_end() {
    let rise = |seconds: i64| PastRescale {
        at: now() - SECOND(seconds),
        replicas: 4,
        is_rise_by_metric: true,
    };
    let free = || {
        let mut hpa = hpa(vec![cpu(50)]);
        condition(&mut hpa, ConditionType::AbleToScale, "ReadyForNewScale");
        condition(&mut hpa, ConditionType::ScalingActive, "ValidMetricFound");
        hpa.status.desired_replicas = 4;
        hpa
    };
    let stabilized = || {
        let mut hpa = free();
        hpa.status.conditions.clear();
        condition(&mut hpa, ConditionType::AbleToScale, "ScaleDownStabilized");
        hpa
    };
    // The present time is 13:46:40.
    for (hpa, rises, end) in [
        (free(), vec![], "It holds until about 13:51:40 UTC, if"),
        (
            stabilized(),
            vec![],
            "It ends at 13:51:40 UTC at the latest, if",
        ),
        (
            stabilized(),
            vec![rise(100)],
            "It ends between 13:50:00 UTC and 13:51:40 UTC, if",
        ),
        (
            stabilized(),
            vec![rise(400)],
            "It ends at 13:51:40 UTC at the latest, if",
        ),
    ] {
        let pods = pods(4);
        let history = RescaleHistory::new(rises, None);
        let found = explained(&hpa, Ok(scale(&pods, &[])), &usage(4, 300), &history);
        let window = "The scaleDown window of 300 s holds 4 replicas: the metrics ask for 3.";
        assert_says(&found, &[window, end]);
        assert_eq!(found.decided_replicas, Some(4));
        let range = "the end of the window is known as a range";
        assert!(found.unknown.iter().any(|text| text.contains(range)));
    }
}

#[test]
fn a_count_that_was_limited_at_the_last_look_is_held_by_no_window() {
    let mut hpa = hpa(vec![cpu(50)]);
    hpa.spec.behavior = Some(BehaviorSpec::default().defaulted());
    condition(&mut hpa, ConditionType::ScalingLimited, "ScaleDownLimit");
    let found = of_usage(&hpa, 300);
    assert_eq!((found.decided_replicas, found.window), (Some(3), None));
    hpa.status.conditions.clear();
    condition(&mut hpa, ConditionType::ScalingLimited, "TooFewReplicas");
    hpa.spec.min_replicas = 4;
    let least = of_usage(&hpa, 300);
    assert_says(
        &least,
        &["minReplicas 4 holds the count: the metrics ask for 3."],
    );
    hpa.status.conditions.clear();
    let unsaid = of_usage(&hpa, 300);
    assert_says(
        &unsaid,
        &["minReplicas 4 holds the count: the metrics ask for 3."],
    );
    assert_eq!(unsaid.window, None);
}

type PodChange = fn(&mut PodFacts);

/// Changes of the first of six Pods, with what is told of it at a usage in millicores.
const POD_CHANGES: [(PodChange, i64, &str); 8] = [
    (|pod| pod.deleted = true, 700, "is being deleted: left out"),
    (|pod| pod.phase = PodPhase::Failed, 700, "failed: left out"),
    (
        |pod| pod.phase = PodPhase::Pending,
        700,
        "is pending: counts as 0",
    ),
    (
        |pod| pod.phase = PodPhase::Pending,
        100,
        "is pending: left out",
    ),
    (
        |pod| pod.ready = None,
        700,
        "no condition Ready: counts as 0",
    ),
    (
        |pod| {
            pod.start_time = Some(now() - SECOND(60));
            set_ready(pod, ConditionStatus::False, 3600);
        },
        700,
        "is not ready yet: counts as 0",
    ),
    (
        |pod| {
            pod.start_time = Some(now() - SECOND(60));
            set_ready(pod, ConditionStatus::True, 5);
        },
        700,
        "was not ready for the whole time of its measurement: counts as 0",
    ),
    (
        |pod| set_ready(pod, ConditionStatus::False, 3600),
        700,
        "was never ready: counts as 0",
    ),
];

fn set_ready(pod: &mut PodFacts, status: ConditionStatus, seconds_ago: i64) {
    pod.ready = Some(ReadyCondition {
        status,
        last_transition_time: now() - SECOND(seconds_ago),
    });
}

fn assert_pod(pods: &[PodFacts], readings: &Readings, index: usize, why: &str) {
    let hpa = hpa(vec![cpu(50)]);
    let history = RescaleHistory::default();
    let found = explained(&hpa, Ok(scale(pods, &[])), readings, &history);
    let row = &found.metrics[0].pods[index];
    assert!(row.why.ends_with(why), "{why}: {row:?}");
    assert_says(&found, &["5 of 6 Pods count with their measurement.", why]);
}

#[test]
fn each_pod_is_told_with_its_group_and_what_it_counts_as() {
    for (change, milli, why) in POD_CHANGES {
        let mut pods = pods(6);
        change(&mut pods[0]);
        assert_pod(&pods, &usage(6, milli), 0, why);
    }
    for (milli, why) in [
        (700, "has no measurement: counts as 0"),
        (100, "has no measurement: counts as its request"),
        (500, "has no measurement: left out"),
    ] {
        assert_pod(&pods(6), &usage(5, milli), 5, why);
    }
}

#[test]
fn without_a_decision_the_reason_stands_first() {
    let (hpa, pods, readings) = (hpa(vec![cpu(50)]), pods(4), usage(4, 500));
    let history = RescaleHistory::default();
    let gone = ScaleError::Get("deployments.apps \"web\" not found".to_owned());
    let found = explained(&hpa, Err(&gone), &readings, &history);
    assert_says(
        &found,
        &["cannot be read: deployments.apps \"web\" not found."],
    );
    let mut unread = Readings::default();
    unread.withhold("no route");
    let found = explained(&hpa, Ok(scale(&pods, &[])), &unread, &history);
    assert_says(
        &found,
        &["keeps them, because no count can be computed", "no route"],
    );
    assert_eq!(found.decided_replicas, None);
    let zero = TargetScale {
        spec_replicas: 0,
        ..scale(&[], &[])
    };
    let found = explained(&hpa, Ok(zero), &readings, &history);
    assert_says(
        &found,
        &["Scaling is off, because Deployment web has 0 replicas."],
    );
    let one = TargetScale {
        spec_replicas: 1,
        ..scale(&pods, &[])
    };
    let found = explained(&hpa, Ok(one), &readings, &history);
    assert_says(
        &found,
        &[
            "scales it to 2",
            "below minReplicas 2, so the metrics do not count",
        ],
    );
}

#[test]
fn a_total_and_a_second_metric_are_told() {
    let series = vec![ValueSample {
        timestamp: now(),
        value: 90_000,
    }];
    let mut readings = usage(4, 500);
    let reading = Ok(MetricsApiReading::Series(series));
    readings.others.insert(queue(), reading);
    let target = MetricTarget::AverageValue(20_000);
    let both = hpa(vec![MetricSpec::new(queue(), target), cpu(50)]);
    let pods = pods(4);
    let history = RescaleHistory::default();
    let found = explained(&both, Ok(scale(&pods, &[])), &readings, &history);
    assert_says(
        &found,
        &[
            "external/queue decides: it is at 22500m, and its target is 20 for each Pod.",
            "CPU is at 50%, its target is 50%, and it asks for 4.",
            "The total divided by the target for each Pod, rounded up, makes 5 replicas.",
        ],
    );
    let more = found.more.unwrap();
    assert_eq!((&*more.change, more.metrics_replicas), ("10010m", 6));
}

#[test]
fn the_tolerance_of_one_direction_is_told() {
    let mut hpa = hpa(vec![cpu(50)]);
    let mut behavior = BehaviorSpec::default().defaulted();
    behavior.scale_up.tolerance = Some("0.5".parse().unwrap());
    hpa.spec.behavior = Some(behavior);
    let found = of_usage(&hpa, 700);
    assert_says(
        &found,
        &["within the tolerance of 0.9 to 1.5, so it asks for 4 replicas"],
    );
}
