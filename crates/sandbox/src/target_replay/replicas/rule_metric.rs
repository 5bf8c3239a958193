//! The second metric of an HPA with a seasonal rule, from the external metrics API.

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, Signal};
use jiff::SignedDuration;

use super::ScaledPods;
use super::amounts::milli;
use crate::autoscaler;

/// Name of the metric.
const EXPECTED: &str = "expected_load";

fn signal() -> Signal {
    Signal::External(MetricIdentifier::named(EXPECTED))
}

impl ScaledPods {
    /// Adds the metric to the HPA, with the target load of one Pod as its `averageValue`.
    pub(in crate::target_replay) fn follow_rule(&mut self) {
        let capacity = self.target.capacity;
        let of_pod = capacity.request() * capacity.target();
        let wanted = MetricTarget::AverageValue(milli(self.target.resource, of_pod));
        self.autoscaler
            .add_metric(MetricSpec::new(signal(), wanted));
    }

    /// The value of the metric at `at`, in the unit of the load.
    pub(in crate::target_replay) fn take_rule(&mut self, at: SignedDuration, load: f64) {
        let value = ValueSample {
            timestamp: autoscaler::date(self.begin.saturating_add(at)),
            value: milli(self.target.resource, load),
        };
        let answer = Ok(MetricsApiReading::Series(vec![value]));
        self.seen.readings.others.insert(signal(), answer);
    }
}
