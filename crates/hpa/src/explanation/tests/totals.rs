//! Metrics with one value for the whole target, and metrics of one name.

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, ObjectReference, Signal};

use super::super::*;
use super::{assert_says, explained, of_usage};
use crate::tests::{cpu, hpa, now, pods, queue, scale, usage};
use crate::{MetricSpec, TargetScale};

fn sample(value: i64) -> ValueSample {
    ValueSample {
        timestamp: now(),
        value,
    }
}

/// By 20 for each Pod, with 4 Pods in the spec.
fn of_reading(signal: Signal, reading: MetricsApiReading, status_replicas: i32) -> HpaExplanation {
    let mut readings = usage(4, 500);
    readings.others.insert(signal.clone(), Ok(reading));
    let target = MetricTarget::AverageValue(20_000);
    let pods = pods(4);
    let scale = TargetScale {
        status_replicas,
        ..scale(&pods, &[])
    };
    let hpa = hpa(vec![MetricSpec::new(signal, target)]);
    explained(&hpa, Ok(scale), &readings, &RescaleHistory::default())
}

#[test]
fn a_total_without_pods_is_shown_undivided() {
    let object = || Signal::Object {
        object: Box::new(ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: "web".to_owned(),
        }),
        metric: MetricIdentifier::named("requests"),
    };
    for (total, shown, count) in [(90_000, "90", 5), (1, "1m", 1), (0, "0", 0)] {
        let series = MetricsApiReading::Series(vec![sample(total)]);
        let one = MetricsApiReading::Object(sample(total));
        for (signal, reading) in [(queue(), series), (object(), one)] {
            let found = of_reading(signal, reading, 0);
            let is_at = format!(
                "decides: it is at {shown} in total, and its target is 20 for each Pod.\n\
                 Without Pods, the total divided by the target, rounded up, makes {count} replica"
            );
            assert_says(&found, &[&is_at]);
            let metric = &found.metrics[0];
            assert_eq!((metric.ratio, metric.rule), (None, Some("from-zero")));
            assert_eq!(metric.replicas, Some(count));
        }
    }
}

/// The largest of 90 series is 1, and the sum must fall by 2.
#[test]
fn a_threshold_of_a_sum_is_not_bounded_by_its_largest_series() {
    let series = MetricsApiReading::Series(vec![sample(1000); 90]);
    let found = of_reading(queue(), series, 4);
    assert_eq!(found.decided_replicas, Some(5));
    let less = found.less.unwrap();
    assert_eq!((less.change_milli, less.metrics_replicas), (-2000, 4));
    let more = found.more.unwrap();
    assert_eq!((more.change_milli, more.metrics_replicas), (10_010, 6));
}

#[test]
fn the_deciding_one_of_two_metrics_with_one_name_is_told() {
    let found = of_usage(&hpa(vec![cpu(80), cpu(50)]), 700);
    let deciding: Vec<_> = found.metrics.iter().map(|one| one.is_deciding).collect();
    assert_eq!(deciding, [false, true]);
    assert_says(
        &found,
        &[
            "CPU decides: it is at 70% of the requests, and its target is 50%.",
            "CPU is at 70%, its target is 80%, and it asks for 4.",
        ],
    );
}
