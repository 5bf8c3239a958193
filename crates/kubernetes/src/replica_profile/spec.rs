//! The spec of a ReplicaProfile, as a user or an autoscaler writes it.

use serde::{Deserialize, Serialize};

use crate::cron_hpa::ScaledRef;
use crate::json::null_is_default;

/// Pods go in the order in which the workload's own controller would delete them.
pub const WORKLOAD_DEFAULT: &str = "WorkloadDefault";
/// Pods are taken out of traffic by a readiness gate.
pub const READINESS_GATE: &str = "ReadinessGate";

/// The spec of a ReplicaProfile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaProfileSpec {
    #[serde(deserialize_with = "null_is_default")]
    pub scale_target_ref: ScaledRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standby_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_scaling_direction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<ProfileBehavior>,
}

/// How Pods are chosen, and taken out of traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProfileBehavior {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_sorter: Option<PodSorter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_traffic_controller: Option<PodTrafficController>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_seconds: Option<i64>,
}

/// The order in which Pods are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodSorter {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The means by which Pods are taken out of traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodTrafficController {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}
