//! The spec of an IntelligentHorizontalPodAutoscaler, as a user writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cron_hpa::ScaledRef;
use crate::portrait_data::{CronData, StaticData};
use crate::portrait_spec::PortraitSpec;
use crate::replica_profile::ProfileBehavior;

/// The most providers of one object.
pub const MOST_PROVIDERS: usize = 16;

/// The most stability checks of one object.
pub const MOST_CHECKERS: usize = 8;

/// The most metrics of one stability check.
pub const MOST_METRICS_OF_CHECK: usize = 8;

/// The spec of an IntelligentHorizontalPodAutoscaler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IhpaSpec {
    pub scale_target_ref: ScaledRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    pub min_replicas: i32,
    pub max_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_mode: Option<String>,
    pub portrait_providers: Vec<PortraitProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<IhpaBehavior>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stability_checkers: Vec<StabilityChecker>,
}

/// One provider of portraits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortraitProvider {
    #[serde(rename = "type")]
    pub kind: String,
    pub priority: i32,
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub constant: Option<StaticData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<PortraitSpec>,
}

/// The rules for changes of the count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IhpaBehavior {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingBehavior>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingBehavior>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_profile: Option<ProfileBehavior>,
}

/// The rules for one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalingBehavior {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gray_strategy: Option<GrayStrategy>,
}

/// The steps of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GrayStrategy {
    pub gray_state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_count: Option<i32>,
    pub change_interval_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observation_seconds: Option<i64>,
}

/// One stability check.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StabilityChecker {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub stabilization_action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cool_down_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsCheck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods_ready: Option<PodsReadyCheck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_rate: Option<ErrorRateCheck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalChecker>,
}

/// Metrics against bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricsCheck {
    pub metrics: Vec<Value>,
}

/// The readiness of the Pods that are to be online.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodsReadyCheck {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_seconds: Option<i64>,
}

/// The share of requests that fail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ErrorRateCheck {
    pub errors: String,
    pub requests: String,
    pub max_percent: String,
}

/// A stability check by an external endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExternalChecker {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<CheckService>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
}

/// A Service in the namespace of the autoscaler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckService {
    pub name: String,
    pub port: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
}
