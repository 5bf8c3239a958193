//! The effective request of a Pod, exactly as kube-scheduler counts it.
//!
//! Containers and sidecars run together; init containers run one after the other, each beside the
//! sidecars declared before it. What the Pod asks for as a whole replaces the sum, and the overhead
//! of its runtime class is added. Limits stand for requests that are absent: the API server fills
//! them in, manifests do not.

use super::pod::{Container, PodSpec, ResourceRequirements};
use super::resource_list::ResourceList;

/// The effective request of a Pod.
#[must_use]
pub fn effective(spec: &PodSpec) -> ResourceList {
    let containers = containers(spec);
    let pod_level = spec.resources.requests.pod_level();
    let pod_limits = spec.resources.limits.pod_level();
    pod_level.or(containers).or(pod_limits).plus(spec.overhead)
}

fn containers(spec: &PodSpec) -> ResourceList {
    let mut running = spec
        .containers
        .iter()
        .map(own)
        .fold(ResourceList::default(), ResourceList::plus);
    let mut sidecars = ResourceList::default();
    let mut starting = ResourceList::default();
    for container in &spec.init_containers {
        let request = own(container);
        if container.is_sidecar() {
            running = running.plus(request);
            sidecars = sidecars.plus(request);
            starting = starting.max(sidecars);
        } else {
            starting = starting.max(sidecars.plus(request));
        }
    }
    running.max(starting)
}

fn own(container: &Container) -> ResourceList {
    let ResourceRequirements { requests, limits } = container.resources;
    requests.or(limits)
}
