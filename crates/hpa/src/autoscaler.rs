//! `autoscaling/v2` HorizontalPodAutoscalers as read, and their translation to what the algorithm takes.

mod behavior;
mod metrics;
mod signal;
pub mod status;

use evenkeel_metrics::signal::ObjectReference;
use evenkeel_objects::json::null_is_default;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use serde::Deserialize;

use crate as hpa;
use crate::Behavior;
pub use metrics::{HpaMetrics, ObservedMetric};
pub use status::AutoscalerStatus;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Autoscaler {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    /// The wanted state: target, bounds, metrics and behaviour.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: AutoscalerSpec,
    #[serde(deserialize_with = "null_is_default")]
    pub status: AutoscalerStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AutoscalerSpec {
    #[serde(deserialize_with = "null_is_default")]
    pub scale_target_ref: ScaleTarget,
    /// The least replicas; 1 where there is none.
    pub min_replicas: Option<i32>,
    #[serde(deserialize_with = "null_is_default")]
    pub max_replicas: i32,
    #[serde(deserialize_with = "null_is_default")]
    pub metrics: HpaMetrics,
    /// How fast it may scale, completed as Kubernetes does; `None` where the object does not say.
    #[serde(deserialize_with = "behavior::read")]
    pub behavior: Option<Behavior>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScaleTarget {
    #[serde(deserialize_with = "null_is_default")]
    pub api_version: String,
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
}

impl AutoscalerSpec {
    /// The API group of the target; empty for the core group.
    ///
    /// # Errors
    /// An API version with more than one slash.
    pub fn scale_target_group(&self) -> Result<&str, hpa::ScaleError> {
        let version = self.scale_target_ref.api_version.as_str();
        match version.split_once('/') {
            Some((_, rest)) if rest.contains('/') => {
                Err(hpa::ScaleError::ApiVersion(version.to_owned()))
            }
            Some((group, _)) => Ok(group),
            None => Ok(""),
        }
    }

    /// The spec for the HPA algorithm, with the defaults of Kubernetes.
    pub fn hpa(&self) -> hpa::HpaSpec {
        let ScaleTarget {
            api_version,
            kind,
            name,
        } = self.scale_target_ref.clone();
        hpa::HpaSpec {
            scale_target: ObjectReference {
                api_version,
                kind,
                name,
            },
            min_replicas: self.min_replicas.unwrap_or(1),
            max_replicas: self.max_replicas,
            metrics: self.metrics.defaulted(),
            behavior: self.behavior.clone(),
        }
    }
}

impl Autoscaler {
    pub fn scaled_object(&self) -> Option<&str> {
        let owner = self.metadata.controller()?;
        let kind = Kind::of(&owner.api_version, &owner.kind);
        (kind == Some(Kind::ScaledObject)).then_some(owner.name.as_str())
    }
}

#[cfg(test)]
mod tests;
