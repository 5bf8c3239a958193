//! The metrics of one HPA, asked for as the HPA controller does. A failed read is the error of its
//! metric, with the right or the API that is missing.

use std::time::Duration;

use evenkeel_hpa::{HorizontalPodAutoscaler, MetricSpec, Readings};
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::ServedMetric;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::kinds::{Kind, guessed_plural};
use jiff::Timestamp;
use kube::Client;

use super::read_error::right;
use crate::metrics::signals::ServedSource;
use crate::metrics::{ApiCallLimits, BODY_LIMIT, MetricsError};

/// The time limit of one call.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn read(
    client: &Client,
    hpa: &HorizontalPodAutoscaler,
    selector: &str,
    now: Timestamp,
) -> Readings {
    let limits = ApiCallLimits {
        timeout: PATIENCE,
        body_limit: BODY_LIMIT,
    };
    let source = ServedSource::new(client.clone(), limits);
    let mut readings = Readings::default();
    for metric in &hpa.spec.metrics {
        let MetricSpec::Known(signal, _) = metric else {
            continue;
        };
        let Some(served) = served(signal, selector) else {
            continue;
        };
        let read = source.value(&hpa.namespace, &served, now).await;
        let reading = match read {
            Ok(reading) => Ok(reading),
            // No values at all, as the algorithm takes them.
            Err(error) if error.is_empty() => Ok(MetricsApiReading::Series(Vec::new())),
            Err(error) => Err(text(&error, &served, &hpa.namespace)),
        };
        readings.others.insert(signal.clone(), reading);
    }
    readings
}

fn served(signal: &Signal, selector: &str) -> Option<ServedMetric> {
    match signal {
        Signal::Resource(resource) => Some(ServedMetric::Usage {
            selector: selector.into(),
            resource: resource.clone(),
        }),
        _ => ServedMetric::of(signal, Some(selector)),
    }
}

fn text(error: &MetricsError, served: &ServedMetric, namespace: &str) -> String {
    match error {
        MetricsError::Unauthorized { .. } => {
            let right = needed(served, namespace);
            format!("{error}; the right to {right} is missing")
        }
        MetricsError::NotServed { .. } if is_usage(served) => {
            "the cluster does not serve metrics.k8s.io, which metrics-server provides; check \
             kubectl get apiservice v1beta1.metrics.k8s.io"
                .to_owned()
        }
        MetricsError::NotServed { .. } => {
            let right = needed(served, namespace);
            format!("{error}; an adapter, such as prometheus-adapter or KEDA, must serve {right}")
        }
        _ => error.to_string(),
    }
}

const fn is_usage(served: &ServedMetric) -> bool {
    matches!(
        served,
        ServedMetric::Usage { .. } | ServedMetric::Container { .. }
    )
}

/// The right that a metric takes, as `kubectl auth can-i` takes it.
fn needed(served: &ServedMetric, namespace: &str) -> String {
    let custom = |resource: &str, metric: &str| {
        let group = Kind::CustomMetrics.group();
        let resource = format!("{resource}.{group} --subresource={metric}");
        right("get", &resource, namespace)
    };
    match served {
        ServedMetric::Usage { .. } | ServedMetric::Container { .. } => {
            right("list", &Kind::PodMetrics.qualified(), namespace)
        }
        ServedMetric::Pods { metric, .. } => custom("pods", &metric.name),
        ServedMetric::Object { object, metric } | ServedMetric::Objects { object, metric, .. } => {
            let known = Kind::of(&object.api_version, &object.kind);
            let plural = known.map_or_else(|| guessed_plural(&object.kind), Kind::qualified);
            custom(&plural, &metric.name)
        }
        ServedMetric::External(metric) => {
            let group = Kind::ExternalMetrics.group();
            let resource = format!("{}.{group}", metric.name.to_lowercase());
            right("list", &resource, namespace)
        }
    }
}
