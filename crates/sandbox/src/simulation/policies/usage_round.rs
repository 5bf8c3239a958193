//! A round of measurements as the service gets it from Prometheus.

use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;

use crate::autoscaler;
use crate::scrape::ScrapedSample;
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::policy_pods::PodId;

/// The newest samples of the nodes of these names, and of Pods with a known name.
pub(super) fn usage_round<'a>(
    nodes: &[Arc<str>],
    monitoring: &NodeMonitor,
    name_of: impl Fn(PodId) -> Option<&'a PodName>,
) -> UsageSample {
    let mut round = UsageSample::default();
    for (node, sample) in monitoring.node_samples() {
        let at = autoscaler::date(sample.at);
        let measured = |resource: Resource| {
            Some(NodeSample {
                value: Amount::from_f64(sample.used[resource]),
                at,
                window: window(resource, sample.window),
            })
        };
        round.insert_node(Arc::clone(&nodes[node]), &Resources::from_fn(measured));
    }
    for (pod, sample) in monitoring.pod_samples() {
        if let Some(name) = name_of(pod) {
            let used = rates_over(monitoring.window(), &sample);
            round.insert_pod(name, &used);
        }
    }
    round
}

/// Gauges have no span.
const fn window(resource: Resource, window: SignedDuration) -> SignedDuration {
    match resource {
        Resource::Memory | Resource::Disk => SignedDuration::ZERO,
        Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => window,
    }
}

/// As Prometheus' `rate` over the window: a Pod younger than the window counts in proportion to its
/// life, as it does in its node's rate.
fn rates_over(window: SignedDuration, sample: &ScrapedSample) -> Resources<Option<Amount>> {
    let lived = sample.window.as_secs_f64() / window.as_secs_f64();
    Resources::from_fn(|resource| {
        let used = sample.used[resource];
        Some(Amount::from_f64(match resource {
            Resource::Memory | Resource::Disk => used,
            Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => used * lived.min(1.0),
        }))
    })
}
