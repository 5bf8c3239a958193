//! Metrics that HPAs scale by: without its API, the HPA and Evenkeel are both blind.

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_metrics::metrics_api::MetricsApi;
use evenkeel_objects::kinds::Kind;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::{count, named};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;

pub(super) const SERVED: &str = "hpa-metrics";

/// The API groups, with what they serve in words and what usually serves them.
const GROUPS: [(MetricsApi, Kind, &str, &str); 3] = [
    (
        MetricsApi::Resource,
        Kind::PodMetrics,
        "usage of resources",
        "metrics-server",
    ),
    (
        MetricsApi::Custom,
        Kind::CustomMetrics,
        "custom metrics",
        "prometheus-adapter",
    ),
    (
        MetricsApi::External,
        Kind::ExternalMetrics,
        "external metrics",
        "KEDA or prometheus-adapter",
    ),
];

pub(super) fn served(evidence: &Evidence<'_>) -> CheckFindings {
    let subject = "the HPAs' metrics";
    let autoscalers = evidence.seen.autoscalers.look(SERVED, subject)?;
    let groups = evidence.seen.api_groups.look(SERVED, subject)?;
    let autoscalers = autoscalers.map_or(&[][..], Vec::as_slice);
    let groups = groups.map_or(&[][..], Vec::as_slice);
    let opted_in = evidence.opted_in();
    let ours = |autoscaler: &&Autoscaler| {
        let namespace = autoscaler.metadata.namespace.as_deref();
        namespace.is_some_and(|namespace| opted_in.contains(&namespace))
    };
    let mut found = Vec::new();
    for (api, kind, what, server) in GROUPS {
        if groups.iter().any(|group| group == kind.group()) {
            continue;
        }
        let needs = |autoscaler: &&Autoscaler| {
            let mut metrics = autoscaler.spec.metrics.observed();
            metrics.any(|metric| MetricsApi::of(&metric.signal) == api)
        };
        let needing = autoscalers.iter().filter(ours).filter(needs);
        let names: Vec<String> = needing.map(name).collect();
        if names.is_empty() {
            continue;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let finding = DoctorFinding::warning(
            SERVED,
            format!(
                "the API {} is not served; it provides the {what} of {}",
                kind.group(),
                count(names.len(), "HPA")
            ),
            format!(
                "install a server for it, such as {server}; kubectl get apiservice {}.{} shows \
                 when it is available",
                kind.version(),
                kind.group()
            ),
        );
        found.push(finding.seen_by(named(&names)));
    }
    if found.is_empty() {
        let what = "every API that HPAs of opted-in namespaces scale by is served";
        found.push(DoctorFinding::ok(SERVED, what));
    }
    Ok(found)
}

fn name(autoscaler: &Autoscaler) -> String {
    let metadata = &autoscaler.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(&metadata.namespace), text(&metadata.name))
}
