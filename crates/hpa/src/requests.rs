//! Requests of Pods, which utilisation is a share of.

use evenkeel_metrics::pod::{ContainerFacts, PodFacts, ResourceRequests};
use evenkeel_metrics::signal::ResourceName;

use super::error::ReplicasError;
use super::pod_values::ByPod;

/// By Pod name, in thousandths. A named container counts alone. Else the Pod's request as a whole
/// counts if it has one and `pod_level_resources` is on, and if not, the sum over containers and
/// sidecars.
///
/// # Errors
/// The first Pod, in the order given, without the request or the container, also if the Pod does
/// not count otherwise.
pub fn requests<'a>(
    pods: &'a [PodFacts],
    resource: &ResourceName,
    container: Option<&str>,
    pod_level_resources: bool,
) -> Result<ByPod<'a, i64>, ReplicasError> {
    let of = |pod: &'a PodFacts| {
        let request = request(pod, resource, container, pod_level_resources)?;
        Ok((pod.name.as_str(), request))
    };
    pods.iter().map(of).collect()
}

/// In thousandths, by the rules of [`requests`].
///
/// # Errors
/// A Pod that does not request the resource or lacks the container.
pub fn request(
    pod: &PodFacts,
    resource: &ResourceName,
    container: Option<&str>,
    pod_level_resources: bool,
) -> Result<i64, ReplicasError> {
    match container {
        Some(container) => of_container(pod, resource, container),
        None if pod_level_resources && has_pod_requests(pod) => of_pod(pod, resource),
        None => of_containers(pod, resource),
    }
}

/// Containers that run side by side.
fn running(pod: &PodFacts) -> impl Iterator<Item = &ContainerFacts> {
    let sidecars = pod.spec.init_containers.iter().filter(|one| one.is_sidecar);
    pod.spec.containers.iter().chain(sidecars)
}

fn of_container(
    pod: &PodFacts,
    resource: &ResourceName,
    container: &str,
) -> Result<i64, ReplicasError> {
    let found = running(pod).find(|one| one.name == container);
    let found = found.ok_or_else(|| ReplicasError::ContainerNotFound {
        container: container.to_owned(),
        pod: pod.name.clone(),
    })?;
    of_one(pod, found, resource)
}

fn of_containers(pod: &PodFacts, resource: &ResourceName) -> Result<i64, ReplicasError> {
    running(pod).try_fold(0_i64, |sum, container| {
        Ok(sum.wrapping_add(of_one(pod, container, resource)?))
    })
}

fn of_one(
    pod: &PodFacts,
    container: &ContainerFacts,
    resource: &ResourceName,
) -> Result<i64, ReplicasError> {
    let request = container.requests.get(resource);
    request.ok_or_else(|| ReplicasError::MissingRequest {
        resource: resource.clone(),
        container: container.name.clone(),
        pod: pod.name.clone(),
    })
}

fn is_pod_level(resource: &ResourceName) -> bool {
    match resource {
        ResourceName::Cpu | ResourceName::Memory => true,
        ResourceName::Other(name) => name.starts_with("hugepages-"),
    }
}

fn has_pod_requests(pod: &PodFacts) -> bool {
    pod.spec
        .pod_requests
        .iter()
        .any(|(name, _)| is_pod_level(name))
}

/// The scheduler's amount: the Pod's request as a whole or else the total of its containers, plus
/// its overhead.
fn of_pod(pod: &PodFacts, resource: &ResourceName) -> Result<i64, ReplicasError> {
    let whole = pod.spec.pod_requests.get(resource);
    let whole = whole.filter(|_| is_pod_level(resource));
    let total = whole.or_else(|| total_of_containers(pod, resource));
    let overhead = pod.spec.overhead.get(resource);
    let missing = || ReplicasError::MissingPodLevelRequest {
        resource: resource.clone(),
        pod: pod.name.clone(),
    };
    match (total, overhead) {
        (None, None) => Err(missing()),
        (total, overhead) => {
            let total = total.unwrap_or(0);
            Ok(total.wrapping_add(overhead.unwrap_or(0)))
        }
    }
}

/// The larger of the sum over containers and sidecars, and an init container beside the sidecars
/// started before it. `None` if no container requests the resource.
fn total_of_containers(pod: &PodFacts, resource: &ResourceName) -> Option<i64> {
    let of = |requests: &ResourceRequests| requests.get(resource);
    let add = |sum: Option<i64>, more: Option<i64>| match (sum, more) {
        (Some(sum), Some(more)) => Some(sum.wrapping_add(more)),
        (sum, more) => sum.or(more),
    };
    let containers = pod.spec.containers.iter().map(|one| of(&one.requests));
    let mut running = containers.fold(None, add);
    let (mut sidecars, mut starting) = (None, None);
    for init in &pod.spec.init_containers {
        let request = of(&init.requests);
        if init.is_sidecar {
            running = add(running, request);
            sidecars = add(sidecars, request);
            starting = starting.max(sidecars);
        } else {
            starting = starting.max(add(request, sidecars));
        }
    }
    running.max(starting)
}
