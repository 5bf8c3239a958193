//! Splits a Pod's usage by its containers' requests, because the load model knows Pods only.

use evenkeel_quantity::Quantity;
use evenkeel_units::Amount;
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::engine::ContainerShare;

pub(super) fn shares(pod: &Pod) -> Vec<ContainerShare> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers: Vec<&Container> = containers.collect();
    let (cpu, memory) = (parts(&containers, "cpu"), parts(&containers, "memory"));
    containers
        .iter()
        .zip(cpu.into_iter().zip(memory))
        .map(|(container, (cpu, memory))| ContainerShare {
            container: container.name.clone(),
            cpu,
            memory,
        })
        .collect()
}

/// By requests; equal parts if no container requests any.
fn parts(containers: &[&Container], resource: &str) -> Vec<f64> {
    let requested = |container: &&Container| {
        let resources = container.resources.as_ref();
        let requests = resources.and_then(|resources| resources.requests.as_ref());
        let quantity = requests.and_then(|requests| requests.get(resource));
        let quantity: Option<Quantity> = quantity.and_then(|text| text.0.parse().ok());
        quantity.map_or(0.0, |quantity| Amount::new(quantity.milli_ceil()).as_f64())
    };
    let requests: Vec<f64> = containers.iter().map(requested).collect();
    let total: f64 = requests.iter().sum();
    let equal = 1.0 / evenkeel_units::count_as_f64(containers.len().max(1));
    let part = |request: f64| if total > 0.0 { request / total } else { equal };
    requests.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_has_the_share_that_it_requests() {
        let pod = json!({"metadata": {}, "spec": {"containers": [
            {"name": "app", "resources": {"requests": {"cpu": "300m"}}},
            {"name": "side", "resources": {"requests": {"cpu": "100m"}}},
        ]}});
        let shares = shares(&serde_json::from_value(pod).unwrap());
        let found: Vec<_> = shares
            .iter()
            .map(|share| (share.container.as_str(), share.cpu, share.memory))
            .collect();
        assert_eq!(found, [("app", 0.75, 0.5), ("side", 0.25, 0.5)]);
    }
}
