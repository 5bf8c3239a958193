//! The spec of a ReplicaProfile, as a user or an autoscaler writes it.

use evenkeel_objects::json::null_is_default;
use evenkeel_objects::schema::{reference, rules};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::cron_hpa::spec::ScaledRef;
use crate::replica_profile::direction::Direction;

/// Pods go in the order in which the workload's own controller would delete them.
pub const WORKLOAD_DEFAULT: &str = "WorkloadDefault";
/// Pods are taken out of traffic by a readiness gate.
pub const READINESS_GATE: &str = "ReadinessGate";

/// The longest such time.
pub(super) const LONGEST_DRAIN: i64 = 86_400;

const SPEC_RULES: [(&str, &str); 1] = [(
    "(has(self.onlineReplicas) ? self.onlineReplicas : 0) \
     + (has(self.cutoffReplicas) ? self.cutoffReplicas : 0) \
     + (has(self.standbyReplicas) ? self.standbyReplicas : 0) <= 2147483647",
    "the sum of onlineReplicas, cutoffReplicas and standbyReplicas is the replicas of the \
     workload, at most 2147483647",
)];

/// A reference to a kind that a ReplicaProfile may name.
fn replicated_workload(schema: &mut Schema) {
    let kind = "Deployment, StatefulSet or ReplicaSet.";
    let name = "The name of the workload, in the namespace of the ReplicaProfile.";
    let rules = [
        (
            "self.kind in ['Deployment', 'StatefulSet', 'ReplicaSet']",
            "a ReplicaProfile needs a Deployment, a StatefulSet or a ReplicaSet",
        ),
        (
            "!has(self.apiVersion) || self.apiVersion.startsWith('apps/')",
            "Deployments, StatefulSets and ReplicaSets have the apiVersion apps/v1",
        ),
    ];
    reference(schema, kind, name, &rules);
}

/// The workload, and the number of its Pods in each state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&SPEC_RULES)))]
pub struct ReplicaProfileSpec {
    /// The workload. Nothing else may scale it, neither a HorizontalPodAutoscaler nor a CronHPA.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(transform = replicated_workload)]
    pub scale_target_ref: ScaledRef,
    /// The Pods that take traffic. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub online_replicas: Option<i32>,
    /// The Pods that run and take no traffic: the readiness gate evenkeel.dev/online keeps them
    /// from being Ready. Default: 0. Together with standbyReplicas, they are limited by
    /// maxUnavailable of the workload and its PodDisruptionBudgets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cutoff_replicas: Option<i32>,
    /// The Pods that take no traffic and whose resources are lowered in place meanwhile. Default:
    /// 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub standby_replicas: Option<i32>,
    /// True leaves Pods and replicas as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The directions in which onlineReplicas may change the workload. Default: Both. If a change
    /// is not allowed, the Pods and the replicas of the workload stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("enum" = Direction::ALL.map(Direction::as_str)))]
    pub allowed_scaling_direction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<ProfileBehavior>,
}

/// How Pods are chosen and taken out of traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProfileBehavior {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_sorter: Option<PodSorter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_traffic_controller: Option<PodTrafficController>,
    /// The seconds for which a Pod takes no traffic before it is deleted. Default: 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = LONGEST_DRAIN))]
    pub drain_seconds: Option<i64>,
}

/// The order in which Pods are taken out of traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodSorter {
    /// WorkloadDefault: as the controller of the workload would delete them.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("enum" = [WORKLOAD_DEFAULT]))]
    pub kind: Option<String>,
}

/// How Pods are taken out of traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodTrafficController {
    /// ReadinessGate: by the gate evenkeel.dev/online of new Pods.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("enum" = [READINESS_GATE]))]
    pub kind: Option<String>,
}
