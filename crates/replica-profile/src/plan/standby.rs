//! Lower requests for Pods on standby: half of what they ask for. Each stays a little above the use of the
//! Pod, and at the minimum of its owner or above.
//!
//! Only requests free room on a node, so limits stay. In Pods of the class Guaranteed both are equal, and
//! only the cpu is lowered: a memory limit below the use would end the Pod. Before a Pod takes traffic again
//! it gets back all that it was made with, as [`evenkeel_tuning::resize`] keeps it.

use evenkeel_objects::plan::write::{Purpose, Write};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use evenkeel_objects::qos_class::QosClass;
use evenkeel_tuning::decision::StandbyRequest;
use evenkeel_tuning::resizable_pod::{
    ContainerPlace, ResizableContainer, ResizablePod, ResizePhase,
};
use evenkeel_tuning::resize;
use evenkeel_tuning::resize::ResizeRules;
use evenkeel_tuning::resize_record::{ContainerValues, Resizer};
use evenkeel_tuning::tuning_policy::TuningPolicy;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::Timestamp;

use crate::decision::PodResources;

/// Nothing is restarted for it, and no memory limit lowered.
const RULES: ResizeRules = ResizeRules {
    may_restart: false,
    may_lower_memory_limits: false,
};

/// The inputs for lower requests of a Pod on standby.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandbyReduction<'a> {
    /// The use of the Pod.
    pub(super) used: &'a CpuMemory<Amount>,
    /// The policy of the owner of its workload.
    pub(super) policy: &'a TuningPolicy,
}

/// The resources of a Pod beside those that it was made with.
pub(super) fn resources(pod: &Pod) -> PodResources {
    let Some(pod) = ResizablePod::of(pod) else {
        return PodResources::Full;
    };
    // Another part of Evenkeel, or another writer, has resized the Pod: its resources count as intended.
    let Ok(Some(record)) = resize::own(&pod, Resizer::Standby) else {
        return PodResources::Full;
    };
    let is_asked_back = record.is_put_back(&pod.values());
    match pod.resize.as_ref().map(|resize| resize.phase) {
        None if is_asked_back => PodResources::Full,
        Some(ResizePhase::Deferred | ResizePhase::Infeasible | ResizePhase::Error)
            if is_asked_back =>
        {
            PodResources::Withheld
        }
        _ => PodResources::Lowered,
    }
}

/// The write that brings the resources of a Pod in line with its state, where one is due.
pub(super) fn write(
    pod: &Pod,
    state: PodState,
    lowering: Option<StandbyReduction<'_>>,
    now: Timestamp,
) -> Option<Write> {
    let pod = ResizablePod::of(pod)?;
    let standing = resize::own(&pod, Resizer::Standby);
    if state != PodState::Standby {
        let record = standing.ok()??;
        // That they are asked for is not that kubelet gives them: until it does, the record tells that they are less.
        let is_awaited = record.is_put_back(&pod.values()) && pod.resize.is_some();
        return (!is_awaited)
            .then(|| resize::put_back(&pod, RULES, Purpose::Resize).ok())
            .flatten()
            .flatten();
    }
    match standing {
        Err(_) => None,
        // The record is there, and the resize follows.
        Ok(Some(record)) => {
            resize::resize(&pod, &record.to, RULES, Purpose::Resize).unwrap_or(None)
        }
        Ok(None) => {
            let lowering = lowering.filter(|lowering| !lowering.policy.are_bounds_unknown)?;
            let wanted = lowered(&pod, lowering);
            let changes = resize::check(&pod, &wanted, RULES).ok()?;
            if changes.is_empty() {
                return None;
            }
            let record = resize::record(&pod, Resizer::Standby, &changes, now).ok()?;
            resize::annotate(&pod, Some(&record), Purpose::Resize)
        }
    }
}

/// The resources of the containers of a Pod while it is on standby.
fn lowered(pod: &ResizablePod, lowering: StandbyReduction<'_>) -> ContainerValues {
    let is_guaranteed = pod.class() == QosClass::Guaranteed;
    // Init containers have ended and use nothing any more.
    let runs = |one: &&ResizableContainer| !matches!(one.place, ContainerPlace::Init(_));
    let containers: Vec<&ResizableContainer> = pod.containers.iter().filter(runs).collect();
    let of_pod = CpuMemory::from_fn(|resource| {
        let all = containers.iter();
        let requests = all.filter_map(|one| one.values[resource].request);
        requests.sum::<Amount>()
    });
    let lowered = containers.iter().map(|container| {
        let values = CpuMemory::from_fn(|resource| {
            let values = container.values[resource];
            let is_both = is_guaranteed && resource == TunedResource::Cpu;
            if is_guaranteed && !is_both {
                return values;
            }
            let standby = |request: Amount| StandbyRequest {
                resource,
                request,
                of_pod: of_pod[resource],
                used: lowering.used[resource],
                min_allowed: lowering.policy.allowed(&container.name, resource).least,
            };
            let request = values.request.map(|request| standby(request).lowered());
            RequestAndLimit {
                request,
                limit: if is_both { request } else { values.limit },
            }
        });
        (container.name.clone(), values)
    });
    lowered.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_objects::annotations::MIN_ALLOWED;
    use evenkeel_objects::managed_fields::MANAGER;
    use evenkeel_objects::plan::conditional_patch::apply;
    use evenkeel_objects::plan::write::WriteOperation;
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::tests::written_by;

    fn now() -> Timestamp {
        "2026-11-25T12:00:00Z".parse().unwrap()
    }

    /// A running Pod with a container that has these resources.
    fn written(resources: &Value) -> Value {
        json!({
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "u", "resourceVersion": "5",
                "managedFields": written_by(MANAGER)},
            "spec": {"nodeName": "a", "containers": [{"name": "web", "resources": resources}]},
            "status": {"phase": "Running", "conditions": [], "containerStatuses": [
                {"name": "web", "resources": resources, "allocatedResources": resources["requests"]}]},
        })
    }

    fn read(pod: &Value) -> Pod {
        serde_json::from_value(pod.clone()).unwrap()
    }

    fn used(cpu: u64, mebibytes: u64) -> CpuMemory<Amount> {
        CpuMemory {
            cpu: Amount::new(cpu),
            memory: Amount::new(mebibytes << 20),
        }
    }

    /// Makes writes until none is due, as the API server and kubelet do; gives their targets.
    fn play(pod: &mut Value, state: PodState, used: &CpuMemory<Amount>) -> Vec<String> {
        play_within(pod, state, used, &TuningPolicy::default())
    }

    /// The same where the owner has said what is allowed.
    fn play_within(
        pod: &mut Value,
        state: PodState,
        used: &CpuMemory<Amount>,
        policy: &TuningPolicy,
    ) -> Vec<String> {
        let lowering = Some(StandbyReduction { used, policy });
        let mut targets = Vec::new();
        while let Some(write) = super::write(&read(pod), state, lowering, now()) {
            targets.push(write.target.to_string());
            let WriteOperation::Conditional(patch) = &write.operation else {
                panic!("{write:?}");
            };
            apply(pod, patch).unwrap();
            let resources = pod["spec"]["containers"][0]["resources"].clone();
            pod["status"]["containerStatuses"][0]["allocatedResources"] =
                resources["requests"].clone();
            pod["status"]["containerStatuses"][0]["resources"] = resources;
            assert!(targets.len() < 9, "{targets:?}");
        }
        targets
    }

    #[test]
    fn a_pod_that_stands_by_holds_half_and_has_all_back_before_anything_else() {
        let asked = json!({"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}});
        let mut pod = written(&asked);
        let (annotated, resized) = ("pods shop/web-1", "pods/resize shop/web-1");
        let idle = used(20, 100);
        assert_eq!(
            play(&mut pod, PodState::Standby, &idle),
            [annotated, resized]
        );
        let held = &pod["spec"]["containers"][0]["resources"];
        assert_eq!(held["requests"], json!({"cpu": "500m", "memory": "256Mi"}));
        assert_eq!(held["limits"], asked["limits"], "limits stay");
        assert_eq!(resources(&read(&pod)), PodResources::Lowered);
        assert_eq!(
            play(&mut pod, PodState::Cutoff, &idle),
            [resized, annotated]
        );
        assert_eq!(pod["spec"]["containers"][0]["resources"], asked);
        assert_eq!(pod["metadata"]["annotations"], json!({}));
        assert_eq!(resources(&read(&pod)), PodResources::Full);
    }

    #[test]
    fn nothing_is_lowered_where_the_owner_s_bounds_cannot_be_read() {
        let annotations = BTreeMap::from([(MIN_ALLOWED.to_owned(), "memory=700MiB".to_owned())]);
        let (policy, _) = TuningPolicy::parse(&annotations);
        let mut pod = written(&json!({"requests": {"cpu": "1", "memory": "1Gi"}}));
        let writes = play_within(&mut pod, PodState::Standby, &used(20, 100), &policy);
        assert!(writes.is_empty(), "{writes:?}");
    }

    #[test]
    fn what_is_used_is_left_and_memory_limits_are_not_lowered() {
        let burstable = json!({"requests": {"cpu": "1", "memory": "512Mi"}});
        let guaranteed = json!({"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}});
        for (asked, used, requests) in [
            (
                &burstable,
                used(900, 400),
                Some(json!({"cpu": "945m", "memory": "440Mi"})),
            ),
            (&burstable, used(1200, 600), None),
            (
                &guaranteed,
                used(20, 100),
                Some(json!({"cpu": "500m", "memory": "512Mi"})),
            ),
        ] {
            let mut pod = written(asked);
            play(&mut pod, PodState::Standby, &used);
            let held = &pod["spec"]["containers"][0]["resources"];
            assert_eq!(
                held["requests"]["cpu"],
                requests.as_ref().unwrap_or(&asked["requests"])["cpu"]
            );
            if asked == &guaranteed {
                assert_eq!(held["requests"], held["limits"], "it stays Guaranteed");
            }
        }
    }

    #[test]
    fn the_least_that_an_owner_allows_is_left_and_what_init_containers_asked_for_is_no_part_of_it()
    {
        let mut pod = written(&json!({"requests": {"cpu": "1", "memory": "511Mi"}}));
        let init =
            json!({"name": "init", "resources": {"requests": {"cpu": "8", "memory": "8Gi"}}});
        pod["spec"]["initContainers"] = json!([init]);
        let allowed = (MIN_ALLOWED.to_owned(), "cpu=700m".to_owned());
        let (policy, invalid) = TuningPolicy::parse(&BTreeMap::from([allowed]));
        assert!(invalid.is_empty());
        play_within(&mut pod, PodState::Standby, &used(20, 300), &policy);
        let held = &pod["spec"]["containers"][0]["resources"];
        assert_eq!(held["requests"], json!({"cpu": "700m", "memory": "330Mi"}));
        assert_eq!(pod["spec"]["initContainers"], json!([init]));
    }

    #[test]
    fn a_pod_whose_node_has_no_room_is_withheld_and_one_without_requests_is_left_alone() {
        let asked = json!({"requests": {"cpu": "1"}});
        let mut pod = written(&asked);
        let idle = used(20, 100);
        play(&mut pod, PodState::Standby, &idle);
        let write = super::write(&read(&pod), PodState::Cutoff, None, now()).unwrap();
        let WriteOperation::Conditional(patch) = &write.operation else {
            panic!("{write:?}");
        };
        apply(&mut pod, patch).unwrap();
        assert_eq!(
            resources(&read(&pod)),
            PodResources::Lowered,
            "kubelet has not seen it"
        );
        for reason in ["Deferred", "Infeasible"] {
            pod["status"]["conditions"] =
                json!([{"type": "PodResizePending", "status": "True", "reason": reason}]);
            assert_eq!(resources(&read(&pod)), PodResources::Withheld, "{reason}");
            let next = super::write(&read(&pod), PodState::Cutoff, None, now());
            assert_eq!(next, None, "{reason}: its record stays as long as it waits");
        }
        pod["status"]["conditions"] = json!([]);
        let held = pod["spec"]["containers"][0]["resources"].clone();
        pod["status"]["containerStatuses"][0]["allocatedResources"] = held["requests"].clone();
        pod["status"]["containerStatuses"][0]["resources"] = held;
        assert_eq!(play(&mut pod, PodState::Cutoff, &idle), ["pods shop/web-1"]);
        assert_eq!(resources(&read(&pod)), PodResources::Full);
        let best_effort = written(&json!({}));
        assert!(play(&mut best_effort.clone(), PodState::Standby, &idle).is_empty());
        let best_effort = read(&best_effort);
        assert_eq!(resources(&best_effort), PodResources::Full);
    }
}
