//! The effective request of a Pod, exactly as kube-scheduler counts it. Containers and sidecars run
//! together; init containers run one after the other, beside the sidecars declared before them. A
//! Pod-level request replaces the sum, and the runtime class's overhead is added. Limits stand for
//! absent requests: the API server fills them in, manifests do not.

use super::pod::{Container, ContainerStatus, Pod, PodSpec, ResourceRequirements};
use super::resource_list::ResourceList;

pub fn effective(spec: &PodSpec) -> ResourceList {
    whole(spec, spec.resources.requests.pod_level(), own)
}

/// The effective request in force. During a resize in place, a container or Pod-level request
/// counts as the largest of requested, allocated and actual; an infeasible resize does not count.
pub fn in_force(pod: &Pod) -> ResourceList {
    if pod.spec.node_name.is_none() {
        return effective(&pod.spec);
    }
    let resize = pod.status.condition("PodResizePending");
    let is_infeasible = resize.is_some_and(|resize| resize.reason == "Infeasible");
    let init = pod.status.init_container_statuses.iter();
    let statuses: Vec<&ContainerStatus> = init.chain(&pod.status.container_statuses).collect();
    let with = |told: ResourceList, wanted: ResourceList| {
        if is_infeasible {
            told.or(wanted)
        } else {
            told.max(wanted)
        }
    };
    let container = |container: &Container| {
        let status = statuses
            .iter()
            .find(|status| status.name.is_some() && status.name == container.name);
        let told = status.map_or_else(ResourceList::default, |status| {
            status.resources.requests.max(status.allocated_resources)
        });
        with(told, own(container))
    };
    let as_a_whole = pod.spec.resources.requests.pod_level();
    // As in kube-scheduler, what is set aside counts only beside what the Pod has.
    let as_a_whole = pod.status.resources.map_or(as_a_whole, |told| {
        let told = told.requests.max(pod.status.allocated_resources);
        with(told, as_a_whole).of_names_in(as_a_whole)
    });
    whole(&pod.spec, as_a_whole, container)
}

/// The containers that run together, for which kube-scheduler assumes default requests.
pub fn running_together(spec: &PodSpec) -> u64 {
    let sidecars = spec
        .init_containers
        .iter()
        .filter(|container| container.is_sidecar());
    let together = spec.containers.len() + sidecars.count();
    u64::try_from(together).unwrap_or(u64::MAX)
}

fn whole(
    spec: &PodSpec,
    pod_level: ResourceList,
    own: impl Fn(&Container) -> ResourceList,
) -> ResourceList {
    let containers = containers(spec, own);
    let pod_limits = spec.resources.limits.pod_level();
    pod_level.or(containers).or(pod_limits).plus(spec.overhead)
}

fn containers(spec: &PodSpec, own: impl Fn(&Container) -> ResourceList) -> ResourceList {
    let mut running = spec
        .containers
        .iter()
        .map(&own)
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

#[cfg(test)]
mod tests {
    use evenkeel_units::{Bytes, MilliCpu};
    use serde_json::{Value, json};

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}, "restartPolicy": "Always"})
    }

    fn of(spec: Value) -> ResourceList {
        effective(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn containers_add_up_and_init_containers_run_in_turn() {
        let two = json!([container("1"), container("500m")]);
        for (case, init, milli) in [
            ("no init containers", json!([]), 1500),
            ("a small one", json!([container("1")]), 1500),
            ("a large one", json!([container("1"), container("4")]), 4000),
            ("a sidecar runs on", json!([sidecar("300m")]), 1800),
            (
                "one beside a sidecar",
                json!([sidecar("1"), container("2")]),
                3000,
            ),
            (
                "one before a sidecar",
                json!([container("2"), sidecar("1")]),
                2500,
            ),
            (
                "one between sidecars",
                json!([sidecar("1"), container("4"), sidecar("1")]),
                5000,
            ),
        ] {
            let found = of(json!({"containers": two, "initContainers": init}));
            assert_eq!(found.cpu(), Some(MilliCpu(milli)), "{case}");
        }
    }

    #[test]
    fn the_pod_as_a_whole_comes_first_and_overhead_last() {
        let containers = json!([container("1")]);
        let pod_level = |resources: Value, overhead: Value| {
            let spec =
                json!({"containers": containers, "resources": resources, "overhead": overhead});
            let found = of(spec);
            (
                found.cpu().map(|cpu| cpu.0),
                found.memory().map(|memory| memory.0),
            )
        };
        for (resources, overhead, expected) in [
            (json!({}), json!({}), (Some(1000), None)),
            (
                json!({"requests": {"cpu": "3"}}),
                json!({}),
                (Some(3000), None),
            ),
            (
                json!({"requests": {"cpu": "0"}}),
                json!({}),
                (Some(0), None),
            ),
            (
                json!({"limits": {"cpu": "3"}}),
                json!({}),
                (Some(1000), None),
            ),
            (
                json!({"limits": {"memory": "5"}}),
                json!({}),
                (Some(1000), Some(5)),
            ),
            (
                json!({"requests": {"memory": "10"}}),
                json!({"cpu": "250m", "memory": "1"}),
                (Some(1250), Some(11)),
            ),
            (json!(null), json!({"memory": "7"}), (Some(1000), Some(7))),
        ] {
            let text = format!("{resources} {overhead}");
            assert_eq!(pod_level(resources, overhead), expected, "{text}");
        }
    }

    #[test]
    fn a_pod_as_a_whole_asks_for_no_storage() {
        let spec = json!({"resources": {"requests": {"ephemeral-storage": "5"}}});
        assert_eq!(of(spec).ephemeral_storage(), None);
        let overhead = json!({"overhead": {"ephemeral-storage": "5"}});
        assert_eq!(of(overhead).ephemeral_storage(), Some(Bytes(5)));
    }

    #[test]
    fn a_resize_counts_as_the_larger_of_before_and_after_while_it_is_under_way() {
        let told = |cpu: &str| json!({"requests": {"cpu": cpu}});
        for (case, spec, allocated, has, reason, milli) in [
            ("none", "1", "1", "1", "", 1000),
            ("up, not yet taken", "3", "1", "1", "Deferred", 3000),
            ("up, set aside", "3", "3", "1", "", 3000),
            ("down, still held", "1", "1", "3", "", 3000),
            ("up, never to be", "3", "1", "1", "Infeasible", 1000),
        ] {
            let pod = json!({
                "spec": {"nodeName": "a", "containers": [
                    {"name": "other", "resources": told("100m")},
                    {"name": "app", "resources": told(spec)}]},
                "status": {
                    "conditions": [{"type": "PodResizePending", "reason": reason}],
                    "containerStatuses": [{"name": "app", "resources": told(has),
                                           "allocatedResources": {"cpu": allocated}}],
                },
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(in_force(&pod).cpu(), Some(MilliCpu(milli + 100)), "{case}");
        }
    }

    #[test]
    fn a_resize_of_the_pod_as_a_whole_counts_as_one_of_a_container() {
        let cpu = |cpu: &str| json!({"cpu": cpu});
        let asks = |amount: &str| json!({"requests": cpu(amount)});
        let (none, memory) = (json!(null), json!({"requests": {"memory": "6"}}));
        for (case, spec, has, allocated, reason, milli) in [
            ("both more", "2", asks("6"), cpu("6"), "", 6000),
            ("still held", "2", asks("6"), none.clone(), "", 6000),
            ("set aside", "2", asks("2"), cpu("5"), "", 5000),
            ("up", "7", asks("6"), cpu("6"), "Deferred", 7000),
            ("never", "7", asks("6"), cpu("6"), "Infeasible", 6000),
            ("not told", "2", none, cpu("6"), "", 2000),
            ("another resource", "2", memory, json!({}), "", 2000),
        ] {
            let pod = json!({
                "spec": {"nodeName": "a", "resources": {"requests": cpu(spec)},
                         "containers": [container("1")], "overhead": {"cpu": "100m"}},
                "status": {
                    "conditions": [{"type": "PodResizePending", "reason": reason}],
                    "resources": has, "allocatedResources": allocated,
                },
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let found = in_force(&pod);
            assert_eq!(found.cpu(), Some(MilliCpu(milli + 100)), "{case}");
            assert_eq!(found.memory(), None, "{case}: it asks for none");
        }
    }

    #[test]
    fn limits_stand_for_requests_that_are_absent() {
        let limits = |requests: Value| {
            let resources = json!({"limits": {"cpu": "2", "memory": "5"}, "requests": requests});
            let found = of(json!({"containers": [{"resources": resources}]}));
            (found.cpu().unwrap().0, found.memory().unwrap().0)
        };
        assert_eq!(limits(json!(null)), (2000, 5));
        assert_eq!(limits(json!({"cpu": "1"})), (1000, 5));
        assert_eq!(limits(json!({"cpu": "0"})), (0, 5));
    }
}
