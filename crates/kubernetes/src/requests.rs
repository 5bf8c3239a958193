//! The effective request of a Pod, exactly as kube-scheduler counts it.
//!
//! Containers and sidecars run together; init containers run one after the other, each beside the
//! sidecars declared before it. What the Pod asks for as a whole replaces the sum, and the overhead
//! of its runtime class is added. Limits stand for requests that are absent: the API server fills
//! them in, manifests do not. The HPA counts otherwise, and so does its share of what is used.

use super::pod::{Container, PodSpec, ResourceRequirements};
use super::resource_list::ResourceList;
use evenkeel_core::units::{Amount, Resource, Resources};

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

/// The request of a Pod as the HPA counts it, of cpu and memory: that of the Pod as a whole where
/// it has one, otherwise the sum over containers and sidecars. `None` where one of these has none:
/// the HPA then computes no share either.
#[must_use]
pub fn of_autoscaler(spec: &PodSpec) -> Resources<Option<Amount>> {
    let whole = spec.resources.requests.pod_level();
    let counted = if whole == ResourceList::default() {
        let sidecars = spec.init_containers.iter().filter(|init| init.is_sidecar());
        let together = spec.containers.iter().chain(sidecars);
        let requests = together.map(|container| container.resources.requests);
        requests
            .reduce(ResourceList::plus_where_both)
            .unwrap_or_default()
    } else {
        effective(spec)
    };
    Resources::from_fn(|resource| match resource {
        Resource::Cpu => counted.cpu().map(Amount::from),
        Resource::Memory => counted.memory().map(Amount::from),
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use evenkeel_core::units::{Bytes, MilliCpu};

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

    #[test]
    fn the_hpa_counts_containers_and_sidecars_and_wants_a_request_of_each() {
        let requests = |cpu: &str, memory: &str| json!({"resources": {"requests": {"cpu": cpu, "memory": memory}}});
        let mut helper = requests("100m", "10");
        helper["restartPolicy"] = json!("Always");
        let only_cpu = json!({"resources": {"requests": {"cpu": "1"}}});
        let limited = json!({"resources": {"limits": {"cpu": "1"}}});
        let (one, large) = (requests("500m", "100"), requests("9", "900"));
        for (case, spec, cpu, memory) in [
            ("none", json!({"containers": []}), None, None),
            ("one", json!({"containers": [one]}), Some(500), Some(100)),
            (
                "two and a sidecar, no init container",
                json!({"containers": [one, one], "initContainers": [helper, large]}),
                Some(1100),
                Some(210),
            ),
            (
                "one without memory",
                json!({"containers": [one, only_cpu]}),
                Some(1500),
                None,
            ),
            (
                "a sidecar without any",
                json!({"containers": [one], "initContainers": [{"restartPolicy": "Always"}]}),
                None,
                None,
            ),
            ("limits", json!({"containers": [limited]}), None, None),
            (
                "the Pod as a whole, and the larger init container for the rest",
                json!({"containers": [one], "initContainers": [large],
                    "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "1"}}),
                Some(3000),
                Some(900),
            ),
        ] {
            let found = of_autoscaler(&serde_json::from_value(spec).unwrap());
            let expected = [cpu, memory, None, None, None].map(|amount| amount.map(Amount::new));
            assert_eq!(found, Resources::new(expected), "{case}");
        }
    }
}
