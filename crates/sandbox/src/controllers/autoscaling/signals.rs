//! Custom and external metrics, requested like kube-controller-manager does.

use std::collections::BTreeMap;

use evenkeel_hpa::MetricSpec;
use evenkeel_http_client::Request;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::{CustomNames, ServedMetric};
use evenkeel_metrics::signal::{ObjectReference, Signal};
use evenkeel_objects::kinds::{Kind, guessed_plural};
use jiff::Timestamp;
use kube::Client;

/// Metrics of an HPA, or the errors; those of `metrics.k8s.io` are read for all HPAs together.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    metrics: &[MetricSpec],
    selector: &str,
    now: Timestamp,
) -> BTreeMap<Signal, Result<MetricsApiReading, String>> {
    let mut readings = BTreeMap::new();
    for metric in metrics {
        let MetricSpec::Known(signal, _) = metric else {
            continue;
        };
        let served = ServedMetric::of(signal, Some(selector));
        let other = |served: &ServedMetric| !matches!(served, ServedMetric::Container { .. });
        let Some(served) = served.filter(other) else {
            continue;
        };
        let reading = ask(client, namespace, &served, now).await;
        readings.insert(signal.clone(), reading);
    }
    readings
}

async fn ask(
    client: &Client,
    namespace: &str,
    served: &ServedMetric,
    now: Timestamp,
) -> Result<MetricsApiReading, String> {
    let resource = match served {
        ServedMetric::Object { object, .. } => resource_of(object),
        _ => String::new(),
    };
    let names = CustomNames {
        version: Kind::CustomMetrics.version(),
        resource: &resource,
    };
    let path = served.path(namespace, names);
    let path = path.map_err(|error| error.to_string())?;
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    let body = client
        .request_text(request)
        .await
        .map_err(|error| match error {
            kube::Error::Api(status) => status.message,
            error => error.to_string(),
        })?;
    served
        .read(body.as_bytes(), now)
        .map_err(|error| error.to_string())
}

fn resource_of(object: &ObjectReference) -> String {
    let ObjectReference {
        api_version, kind, ..
    } = object;
    if let Some(kind) = Kind::of(api_version, kind) {
        return kind.qualified();
    }
    let plural = guessed_plural(kind);
    match api_version.split_once('/') {
        Some((group, _)) => format!("{plural}.{group}"),
        None => plural,
    }
}
