//! How a portrait is made, as a user writes it: in a dynamic provider of an
//! IntelligentHorizontalPodAutoscaler, and in a HorizontalPortrait.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::raw_json::RawJson;

/// A portrait that the HPA's algorithm makes.
pub const REACTIVE: &str = "Reactive";
/// A portrait that a forecast makes.
pub const PREDICTIVE: &str = "Predictive";

/// The HPA's own algorithm.
pub const KUBE_HPA: &str = "KubeHPA";
/// Evenkeel's own forecasts.
pub const FORECAST: &str = "Forecast";
/// A job that Evenkeel runs.
pub const EXTERNAL_JOB: &str = "ExternalJob";

/// The most metrics of one portrait.
pub const MOST_METRICS: usize = crate::autoscaler::FOLLOWED;

/// How a portrait is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitSpec {
    pub portrait_type: String,
    /// The name of the other program that makes it; `None` if Evenkeel makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_generator_name: Option<String>,
    /// The metrics, as those of an HPA with a name and an operator each; those of a portrait that others make are theirs to
    /// read, and kept as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Value>,
    pub algorithm: PortraitAlgorithm,
}

/// The algorithm of a portrait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitAlgorithm {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "kubeHPA", skip_serializing_if = "Option::is_none")]
    pub kube_hpa: Option<KubeHpaAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_job: Option<ExternalJobAlgorithm>,
    /// Anything that others read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<RawJson>,
}

/// The settings of the HPA's algorithm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeHpaAlgorithm {
    /// A text or a number. The schema takes any JSON there, and one that is neither is refused by the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Value>,
    /// `behavior` of an HPA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Value>,
}

/// The settings of a forecast.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ForecastAlgorithm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predict_memory: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<String>,
}

/// A job that makes a portrait, and where it leaves it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExternalJobAlgorithm {
    pub job: AlgorithmJob,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_source: Option<ResultSource>,
}

/// The job of an algorithm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AlgorithmJob {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron_job: Option<TemplateOfJob>,
}

/// A template in a field of its own, as Kapacity has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateOfJob {
    pub template: JobTemplate,
}

/// The template of a CronJob.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobTemplate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMeta>,
    pub spec: RawJson,
}

/// The labels and annotations of what is made from a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMeta {
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub labels: std::collections::BTreeMap<String, String>,
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub annotations: std::collections::BTreeMap<String, String>,
}

/// Where a job leaves its portrait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResultSource {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<Value>,
}

impl PortraitSpec {
    /// True where Evenkeel makes the portrait itself, within its own tick.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.external_generator_name.is_none() && self.algorithm.kind != EXTERNAL_JOB
    }

    /// The job that Evenkeel runs for it.
    #[must_use]
    pub fn external_job(&self) -> Option<&ExternalJobAlgorithm> {
        let is_ours = self.external_generator_name.is_none() && self.algorithm.kind == EXTERNAL_JOB;
        self.algorithm.external_job.as_ref().filter(|_| is_ours)
    }
}
