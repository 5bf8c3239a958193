//! The spec of a CronHPA, as a user writes it.

use serde::{Deserialize, Serialize};

/// The kind of an HPA in a reference.
pub const HPA: &str = "HorizontalPodAutoscaler";

/// The spec of a CronHPA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CronHpaSpec {
    pub scale_target_ref: ScaledRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_workload_ref: Option<ScaledRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    pub crons: Vec<CronRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_dates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
}

/// One rule: a schedule with a target, or a window with its replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CronRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_dates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_once: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// An HPA or a workload in the namespace of the CronHPA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScaledRef {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    pub kind: String,
    pub name: String,
}

impl ScaledRef {
    /// True for an HPA.
    #[must_use]
    pub fn is_hpa(&self) -> bool {
        self.kind == HPA
    }

    /// Group and version, those of Kubernetes' own kinds where they are not said.
    #[must_use]
    pub fn api_version(&self) -> &str {
        let own = || {
            if self.is_hpa() {
                "autoscaling/v2"
            } else {
                "apps/v1"
            }
        };
        self.api_version.as_deref().unwrap_or_else(own)
    }
}

impl std::fmt::Display for ScaledRef {
    /// `Deployment web`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
