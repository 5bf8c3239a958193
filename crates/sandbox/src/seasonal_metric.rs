//! The second metric of an HPA with a seasonal rule, from the external metrics API. Amounts are thousandths of
//! Kubernetes' units.

use evenkeel_hpa::{MetricSpec, Readings};
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, Signal};
use jiff::Timestamp;

/// Name of the metric.
const SEASONAL_METRIC: &str = "seasonal_metric";

fn signal() -> Signal {
    Signal::External(MetricIdentifier::named(SEASONAL_METRIC))
}

/// The metric, with the target load of one Pod.
pub(crate) fn metric(of_pod: i64) -> MetricSpec {
    MetricSpec::new(signal(), MetricTarget::AverageValue(of_pod))
}

/// Sets the value of the metric.
pub(crate) fn set(readings: &mut Readings, timestamp: Timestamp, value: i64) {
    let value = ValueSample { timestamp, value };
    let answer = Ok(MetricsApiReading::Series(vec![value]));
    readings.others.insert(signal(), answer);
}
