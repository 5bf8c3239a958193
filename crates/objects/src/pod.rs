//! Pods, with the fields that admission and scheduling read.

mod node_preferences;
mod provisioning;
mod readiness;
mod status;
mod topology_spread;

use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;
use node_preferences::preferred_terms;
use provisioning::{any_claim, any_item};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::annotations::{
    MIRROR, ONLINE, POD_STATE, PROFILE, PROFILE_SOURCE, PROFILE_SOURCE_DECLARED, SKIP,
};
use super::json::{lenient, list, null_is_default};
use super::meta::{AllLabels, Meta};
use super::resource_list::ResourceList;
use crate::bound_pod::BoundPod;
use crate::pod_name::PodName;
use crate::pod_state::PodState;
pub use node_preferences::PreferredNodeTerm;
pub use readiness::start_time;
pub use status::{ContainerState, ContainerStatus, PodCondition, PodStatus, PodStatusPhase};
pub use topology_spread::TopologySpread;

/// The policy of resizing by which a container is started anew.
const RESTART_CONTAINER: &str = "RestartContainer";

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenPod")]
pub struct Pod {
    pub metadata: Meta,
    /// All of its labels, since the constraints on topology spread may select by any.
    pub labels: AllLabels,
    pub spec: PodSpec,
    pub status: PodStatus,
    /// The use by earlier Pods of its workload in their first minutes; zero where it is unknown. No
    /// part of the object.
    pub start_up: Resources<Amount>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenPod {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta<AllLabels>,
    #[serde(deserialize_with = "null_is_default")]
    spec: PodSpec,
    #[serde(deserialize_with = "null_is_default")]
    status: PodStatus,
}

impl From<WrittenPod> for Pod {
    fn from(pod: WrittenPod) -> Self {
        let WrittenPod {
            metadata,
            spec,
            status,
        } = pod;
        let (metadata, labels) = metadata.split();
        Self {
            metadata,
            labels,
            spec,
            status,
            start_up: Resources::default(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: Option<String>,
    #[serde(deserialize_with = "list")]
    pub containers: Vec<Container>,
    /// The containers that run before them or, with a restart policy of `Always`, beside them.
    #[serde(deserialize_with = "list")]
    pub init_containers: Vec<Container>,
    #[serde(deserialize_with = "null_is_default")]
    pub resources: ResourceRequirements,
    /// The resources that the runtime class takes beside the containers.
    #[serde(deserialize_with = "null_is_default")]
    pub overhead: ResourceList,
    pub priority_class_name: Option<String>,
    pub priority: Option<i32>,
    pub scheduler_name: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub host_network: bool,
    /// True where one of its volumes is a claim, for which a volume may have to be made.
    #[serde(rename = "volumes", deserialize_with = "any_claim")]
    pub claims_volumes: bool,
    #[serde(rename = "resourceClaims", deserialize_with = "any_item")]
    pub claims_devices: bool,
    /// How it is to be spread over domains such as zones.
    #[serde(deserialize_with = "list")]
    pub topology_spread_constraints: Vec<TopologySpread>,
    /// The conditions without which it is not ready.
    #[serde(deserialize_with = "list")]
    pub readiness_gates: Vec<ReadinessGate>,
    #[serde(deserialize_with = "lenient")]
    pub os: Option<OperatingSystem>,
    /// The nodes that it prefers.
    #[serde(rename = "affinity", deserialize_with = "preferred_terms")]
    pub preferred_node_terms: Box<[PreferredNodeTerm]>,
    /// True where it is not scheduled yet.
    #[serde(rename = "schedulingGates", deserialize_with = "any_item")]
    pub has_scheduling_gates: bool,
    /// The JSON of the reference to the group that it is scheduled with; `workload_ref` is the form
    /// of 1.35.
    #[serde(deserialize_with = "json_text")]
    pub scheduling_group: Option<Box<str>>,
    #[serde(deserialize_with = "json_text")]
    pub workload_ref: Option<Box<str>>,
}

/// The JSON of any value but null.
fn json_text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Box<str>>, D::Error> {
    let value = Option::<Value>::deserialize(value)?;
    Ok(value.map(|value| value.to_string().into()))
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReadinessGate {
    #[serde(deserialize_with = "null_is_default")]
    pub condition_type: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OperatingSystem {
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    #[serde(deserialize_with = "lenient")]
    pub name: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub resources: ResourceRequirements,
    /// Of an init container: whether it goes on running beside the others.
    pub restart_policy: Option<RestartPolicy>,
    /// The effect of a change of its resources; a resource that is missing needs no restart.
    #[serde(deserialize_with = "list")]
    pub resize_policy: Vec<ResizePolicy>,
}

/// The effect on a container if one of its resources changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResizePolicy {
    #[serde(deserialize_with = "null_is_default")]
    pub resource_name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub restart_policy: String,
}

impl Container {
    pub fn restarts_for(&self, resource: TunedResource) -> bool {
        let mut policies = self.resize_policy.iter();
        policies.any(|policy| {
            policy.resource_name == resource.as_str() && policy.restart_policy == RESTART_CONTAINER
        })
    }
}

/// The rule by which a container that has ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum RestartPolicy {
    /// Whenever it ends; an init container with it is a sidecar.
    Always,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceRequirements {
    /// The amounts that the scheduler sets aside.
    #[serde(deserialize_with = "null_is_default")]
    pub requests: ResourceList,
    /// The amounts that the kubelet does not let the containers exceed.
    #[serde(deserialize_with = "null_is_default")]
    pub limits: ResourceList,
}

impl ResourceRequirements {
    pub fn tuned(&self) -> CpuMemory<RequestAndLimit> {
        CpuMemory::from_fn(|resource| RequestAndLimit {
            request: self.requests.tuned(resource),
            limit: self.limits.tuned(resource),
        })
    }
}

impl Container {
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(RestartPolicy::Always)
    }
}

impl Pod {
    /// The namespace; empty where the object does not name it.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The name, or what it will be made from; empty where there is neither.
    pub fn name(&self) -> &str {
        let name = self.metadata.name.as_deref();
        name.or(self.metadata.generate_name.as_deref())
            .unwrap_or_default()
    }

    /// The UID; empty for a Pod that does not exist yet.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// True where an annotation asks to leave the Pod alone.
    pub fn is_skipped(&self) -> bool {
        self.metadata.annotation(SKIP) == Some("true")
    }

    /// The name of its profile, the user's own or found at admission.
    pub fn annotated_profile(&self) -> Option<&str> {
        self.metadata.annotation(PROFILE)
    }

    /// The name of the profile that the user chose.
    pub fn declared_profile(&self) -> Option<&str> {
        let source = self.metadata.annotation(PROFILE_SOURCE);
        self.annotated_profile()
            .filter(|_| source.is_none_or(|source| source == PROFILE_SOURCE_DECLARED))
    }

    /// True where a DaemonSet put it on its node, which no scheduler can change.
    pub fn is_daemon_set(&self) -> bool {
        let owner = self.metadata.controller();
        owner.is_some_and(|owner| owner.kind == "DaemonSet")
    }

    /// True where it only mirrors a Pod that kubelet runs from a file.
    pub fn is_mirror(&self) -> bool {
        self.metadata.annotations.contains_key(MIRROR)
    }

    /// True if it has one of the two priority classes that Kubernetes makes for system-critical
    /// Pods.
    pub fn is_system_critical(&self) -> bool {
        matches!(
            self.spec.priority_class_name.as_deref(),
            Some("system-cluster-critical" | "system-node-critical")
        )
    }

    /// True where it is not ready without the condition that says whether it takes traffic.
    pub fn is_gated(&self) -> bool {
        let mut gates = self.spec.readiness_gates.iter();
        gates.any(|gate| gate.condition_type == ONLINE)
    }

    /// True where kube-scheduler places it together with others.
    pub fn is_in_scheduling_group(&self) -> bool {
        self.scheduling_group().is_some()
    }

    /// The group that it is scheduled with, as a text that is the same for all of its Pods.
    pub fn scheduling_group(&self) -> Option<&str> {
        let Self { spec, .. } = self;
        spec.scheduling_group
            .as_deref()
            .or(spec.workload_ref.as_deref())
    }

    /// Its state by its label; what is no state takes traffic.
    pub fn state(&self) -> PodState {
        let label = self.labels.get(POD_STATE);
        let state = label.and_then(|label| PodState::named(label));
        state.unwrap_or_default()
    }

    /// True once all of its containers have ended for good, so that it uses nothing any more.
    pub fn is_finished(&self) -> bool {
        matches!(
            self.status.phase,
            PodStatusPhase::Succeeded | PodStatusPhase::Failed
        )
    }

    /// True while it is being deleted.
    pub const fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The facts that the node table keeps of the Pod, given its demand R.
    pub fn facts<'a>(
        &'a self,
        name: &'a PodName,
        demand: Resources<Amount>,
        now: Timestamp,
    ) -> BoundPod<'a> {
        let bound_to = self.spec.node_name.as_deref();
        let statuses = &self.status.container_statuses;
        let any = self.status.init_container_statuses.iter().chain(statuses);
        BoundPod {
            name,
            node: bound_to.or(self.nominated_to()),
            demand,
            start_up: Resources::default(),
            bound: self.bound_at(),
            first_started: any.filter_map(ContainerStatus::first_started_at).min(),
            started: self.all_started(ContainerStatus::first_started_at),
            finished: self
                .is_finished()
                .then(|| self.status.finished_at().unwrap_or(now)),
            terminating: self.is_terminating(),
            host_network: self.spec.host_network,
            provisions: self.provisions(),
            group: self.scheduling_group(),
        }
    }

    /// True where volumes or devices may have to be made for it before it is bound.
    pub const fn provisions(&self) -> bool {
        self.spec.claims_volumes || self.spec.claims_devices
    }

    /// The node that it is nominated for, while it is not bound.
    pub fn nominated_to(&self) -> Option<&str> {
        let nominated = self.status.nominated_node_name.as_deref();
        nominated.filter(|node| self.spec.node_name.is_none() && !node.is_empty())
    }

    /// True if kube-scheduler has tried it and found no node.
    pub fn is_unschedulable(&self) -> bool {
        let scheduled = self.status.condition("PodScheduled");
        scheduled.is_some_and(|told| told.status == "False" && told.reason == "Unschedulable")
    }

    /// The time at which it was bound to its node, as far as its status tells.
    fn bound_at(&self) -> Option<Timestamp> {
        let scheduled = self.status.condition("PodScheduled");
        scheduled
            .filter(|condition| condition.status == "True")
            .and_then(|condition| condition.last_transition_time)
            .or(self.status.start_time)
    }

    /// When the last of its containers started; `None` while one has not. A container that waits to
    /// restart (a crash loop) counts from its previous start.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.all_started(ContainerStatus::started_at)
    }

    /// The last of the containers' starts by `start`, once each of them has one.
    fn all_started(
        &self,
        start: impl Fn(&ContainerStatus) -> Option<Timestamp>,
    ) -> Option<Timestamp> {
        let statuses = &self.status.container_statuses;
        if statuses.len() < self.spec.containers.len() {
            return None;
        }
        let starts: Option<Vec<_>> = statuses.iter().map(start).collect();
        starts?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(value: serde_json::Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn null_equals_absent() {
        let nulls = pod(json!({
            "metadata": null,
            "spec": {
                "nodeName": null, "containers": null, "initContainers": null, "resources": null,
                "overhead": null, "priorityClassName": null, "priority": null,
                "schedulerName": null,
            },
            "status": {
                "phase": null, "startTime": null, "conditions": null, "containerStatuses": null,
            },
        }));
        assert_eq!(nulls, Pod::default());
        let resources = json!({"requests": null, "limits": null});
        let container = json!({"resources": resources, "restartPolicy": null});
        let nulls = pod(json!({"spec": {"containers": [container, null], "resources": resources}}));
        assert_eq!(nulls.spec.containers, [Container::default()]);
    }

    #[test]
    fn parts_that_no_rule_reads_may_be_malformed() {
        let odd = pod(json!({
            "apiVersion": 5,
            "metadata": {"name": "a", "finalizers": "x"},
            "spec": {"hostAliases": 7, "containers": [{"name": [], "env": 1, "ports": "80"}]},
            "status": {"qosClass": {}, "phase": "Exploded", "podIPs": 0},
        }));
        assert_eq!(odd.spec.containers.len(), 1);
        assert_eq!(odd.status.phase, PodStatusPhase::Unknown);
    }

    #[test]
    fn exempt_kinds_are_recognised() {
        let owned = |kind, controller: bool| {
            pod(
                json!({"metadata": {"ownerReferences": [{"kind": kind, "controller": controller}]}}),
            )
        };
        assert!(owned("DaemonSet", true).is_daemon_set());
        assert!(!owned("DaemonSet", false).is_daemon_set());
        assert!(!owned("ReplicaSet", true).is_daemon_set());
        let annotated = |key: &str, value| pod(json!({"metadata": {"annotations": {key: value}}}));
        assert!(annotated("kubernetes.io/config.mirror", "5f").is_mirror());
        assert!(annotated("evenkeel.dev/skip", "true").is_skipped());
        assert!(!annotated("evenkeel.dev/skip", "yes").is_skipped());
        for (class, critical) in [
            ("system-cluster-critical", true),
            ("system-node-critical", true),
            ("system-critical", false),
            ("high", false),
        ] {
            let classed = pod(json!({"spec": {"priorityClassName": class}}));
            assert_eq!(classed.is_system_critical(), critical, "{class}");
        }
    }

    #[test]
    fn a_state_is_that_of_the_label_and_a_gate_that_of_the_condition() {
        for (label, state) in [
            (json!({}), PodState::Online),
            (
                json!({"evenkeel.dev/pod-state": "Cutoff"}),
                PodState::Cutoff,
            ),
            (
                json!({"evenkeel.dev/pod-state": "Standby"}),
                PodState::Standby,
            ),
            (
                json!({"evenkeel.dev/pod-state": "cutoff"}),
                PodState::Online,
            ),
        ] {
            let found = pod(json!({"metadata": {"labels": label}}));
            assert_eq!(found.state(), state, "{label}");
        }
        for (gates, is_gated) in [
            (json!(null), false),
            (json!([null, {"conditionType": "example.com/a"}]), false),
            (
                json!([{"conditionType": "example.com/a"}, {"conditionType": "evenkeel.dev/online"}]),
                true,
            ),
        ] {
            let found = pod(json!({"spec": {"readinessGates": gates}}));
            assert_eq!(found.is_gated(), is_gated, "{gates}");
        }
    }

    #[test]
    fn a_profile_is_declared_unless_admission_found_it() {
        for (source, declared) in [
            (None, Some("io")),
            (Some("declared"), Some("io")),
            (Some("requests"), None),
            (Some("history"), None),
        ] {
            let found = pod(json!({"metadata": {"annotations": {
                "evenkeel.dev/profile": "io", "evenkeel.dev/profile-source": source,
            }}}));
            assert_eq!(found.declared_profile(), declared, "{source:?}");
            assert_eq!(found.annotated_profile(), Some("io"));
        }
    }

    #[test]
    fn a_pod_has_started_with_the_last_of_its_containers() {
        let running = json!({"state": {"running": {"startedAt": "2026-01-01T00:00:10Z"}}});
        let ended = json!({"state": {"terminated": {
            "startedAt": "2026-01-01T00:00:20Z", "finishedAt": "2026-01-01T00:00:30Z"}}});
        let waiting = json!({"state": {"waiting": {"reason": "ImagePullBackOff"}}});
        let looping = json!({
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended["state"]});
        for (statuses, started) in [
            (vec![&running, &ended], Some("2026-01-01T00:00:20Z")),
            (vec![&running, &waiting], None),
            (vec![&running, &looping], Some("2026-01-01T00:00:20Z")),
            (vec![&running], None),
            (vec![], None),
        ] {
            let found = pod(json!({
                "spec": {"containers": [{}, {}]},
                "status": {"containerStatuses": statuses},
            }));
            let started = started.map(|time| time.parse().unwrap());
            assert_eq!(found.started_at(), started, "{statuses:?}");
        }
        assert_eq!(Pod::default().started_at(), None);
    }

    #[test]
    fn a_container_that_has_been_started_before_is_in_the_samples_since_then() {
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        let found = pod(json!({
            "spec": {"containers": [{}], "initContainers": [{}], "hostNetwork": true},
            "status": {
                "initContainerStatuses": [{"state": {"terminated": {
                    "startedAt": at(5), "finishedAt": at(8)}}}],
                "containerStatuses": [{
                    "restartCount": 9,
                    "state": {"running": {"startedAt": at(40)}},
                    "lastState": {"terminated": {"startedAt": at(20), "finishedAt": at(30)}},
                }],
            },
        }));
        let name = PodName::new("shop", "p");
        let facts = found.facts(&name, Resources::default(), Timestamp::MAX);
        let second = |time: Option<Timestamp>| time.map(|time| time.to_string());
        assert_eq!(second(facts.first_started), Some(at(5)));
        assert_eq!(second(facts.started), Some(at(20)), "it has crashed since");
        assert_eq!(second(found.started_at()), Some(at(40)));
        assert!(facts.host_network && !facts.terminating);
    }

    #[test]
    fn a_nomination_counts_until_the_binding() {
        for (node, nominated, counted) in [
            (json!(null), json!("a"), Some("a")),
            (json!(null), json!(""), None),
            (json!(null), json!(7), None),
            (json!("b"), json!("a"), Some("b")),
        ] {
            let found = pod(json!({
                "spec": {"nodeName": node}, "status": {"nominatedNodeName": nominated},
            }));
            let name = PodName::new("shop", "p");
            let facts = found.facts(&name, Resources::default(), Timestamp::MIN);
            assert_eq!(facts.node, counted, "{node} {nominated}");
        }
    }

    #[test]
    fn a_pod_is_bound_since_its_scheduling_or_else_since_kubelet_took_it_on() {
        let condition = |status: &str| {
            json!([{"type": "PodScheduled", "status": status,
                    "lastTransitionTime": "2026-01-01T00:00:10Z"}])
        };
        for (conditions, bound) in [
            (condition("True"), Some("2026-01-01T00:00:10Z")),
            (condition("False"), Some("2026-01-01T00:00:20Z")),
        ] {
            let status = json!({"conditions": conditions, "startTime": "2026-01-01T00:00:20Z"});
            let found = pod(json!({"status": status}));
            let bound = bound.map(|time| time.parse().unwrap());
            assert_eq!(found.bound_at(), bound);
        }
        assert_eq!(Pod::default().bound_at(), None);
    }
}
