//! How a portrait is made, as a user writes it: in a dynamic provider of an
//! IntelligentHorizontalPodAutoscaler, and in a HorizontalPortrait.

use evenkeel_objects::raw_json::RawJson;
use evenkeel_objects::schema::hpa::{behavior, metric};
use evenkeel_objects::schema::{labels, rules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
pub const MOST_METRICS: usize = evenkeel_objects::limits::FOLLOWED;

const RULES: [(&str, &str); 4] = [
    (
        "has(self.externalGeneratorName) || self.algorithm.type in ['KubeHPA', 'Forecast', 'ExternalJob']",
        "algorithm.type is KubeHPA, Forecast or ExternalJob, unless externalGeneratorName names who makes the \
         portrait",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'KubeHPA' || self.portraitType == 'Reactive'",
        "algorithm KubeHPA makes a portrait of type Reactive",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'Forecast' \
         || self.portraitType == 'Predictive'",
        "algorithm Forecast makes a portrait of type Predictive",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'ExternalJob' \
         || has(self.algorithm.externalJob)",
        "algorithm ExternalJob needs externalJob, the job that makes the portrait",
    ),
];

/// How a portrait is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&RULES)))]
pub struct PortraitSpec {
    /// The type: Reactive (by the present load), Predictive (by a forecast), or a name of your own
    /// for an external generator. An autoscaler has at most one of each.
    #[schemars(length(max = 32), extend("pattern" = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub portrait_type: String,
    /// The external generator of the portrait, if Evenkeel does not make it. The generator writes
    /// the status of the HorizontalPortrait that is named after autoscaler and type. It may use
    /// metrics and algorithm as input.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub external_generator_name: Option<String>,
    /// The metrics of the portrait. KubeHPA scales by them like an HPA (default: cpu at 80 %).
    /// Forecast forecasts them, or those of the Reactive portrait if there is one (in an autoscaler).
    /// For other portraits, their generators use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_METRICS), extend("items" = metric()))]
    pub metrics: Vec<Value>,
    pub algorithm: PortraitAlgorithm,
}

/// The source of the portrait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitAlgorithm {
    /// KubeHPA (the HPA's own algorithm), Forecast (Evenkeel's models), ExternalJob (a job that
    /// Evenkeel runs), or a type of an external generator.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub kind: String,
    #[serde(rename = "kubeHPA", skip_serializing_if = "Option::is_none")]
    pub kube_hpa: Option<KubeHpaAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_job: Option<ExternalJobAlgorithm>,
    /// Input for an external generator or its job: at most 32 KiB, nested at most 64 deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value", extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub config: Option<RawJson>,
}

/// The settings of the HPA's algorithm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeHpaAlgorithm {
    /// How far a metric may be from its target without effect, as a share of it. Default: "0.1".
    #[serde(skip_serializing_if = "Option::is_none")]
    // A text or a number: the rules refuse anything else.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub tolerance: Option<Value>,
    /// How fast the portrait may rise and fall, like behavior of an HPA. Steps and checks of the
    /// autoscaler's own behavior apply in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "behavior")]
    pub behavior: Option<Value>,
}

/// The settings of a forecast.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ForecastAlgorithm {
    /// The model; auto uses the shared trees or the target's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["auto", "ds-hpa", "arima", "gru", "arima-gru", "gbdt", "swish-net", "traffic"], "x-default" = "auto"))]
    pub model: Option<String>,
    /// The share of time in which ready Pods may carry more than their target allows, such as 1%.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub risk: Option<String>,
    /// early lowers the counts of the Reactive and the Predictive portrait ahead of a forecast drop
    /// in load. reactive, the default, waits until the load falls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["reactive", "early"]))]
    pub scale_down: Option<String>,
    /// True forecasts memory too, although it grows with each Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predict_memory: Option<bool>,
    /// The traffic from which a model computes replicas, which it learns from history: PromQL
    /// queries, or network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4), inner(length(max = 2048)))]
    pub traffic: Vec<String>,
}

/// A job that Evenkeel runs in the namespace of the portrait, as the ServiceAccount that its
/// template names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExternalJobAlgorithm {
    pub job: AlgorithmJob,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_source: Option<ResultSource>,
}

/// The job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AlgorithmJob {
    /// The kind of job.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["CronJob"]))]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(!skip_serializing_if, required)]
    pub cron_job: Option<TemplateOfJob>,
}

/// A CronJob.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TemplateOfJob {
    pub template: JobTemplate,
}

/// The template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobTemplate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMeta>,
    /// The spec of a CronJob of batch/v1: at most 32 KiB, nested at most 64 deep.
    #[schemars(with = "Value", extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub spec: RawJson,
}

/// Its labels and annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TemplateMeta {
    /// The labels.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub labels: std::collections::BTreeMap<String, String>,
    /// The annotations.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub annotations: std::collections::BTreeMap<String, String>,
}

/// Where the job writes the portrait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResultSource {
    /// In the ConfigMap NAME-result, where NAME is that of the HorizontalPortrait, with the keys
    /// type, expireTime and timeSeries.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["ConfigMap"]))]
    pub kind: String,
    /// It has no fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object"))]
    pub config_map: Option<Value>,
}

impl PortraitSpec {
    /// True where Evenkeel makes the portrait itself, within its own tick.
    pub fn is_built_in(&self) -> bool {
        self.external_generator_name.is_none() && self.algorithm.kind != EXTERNAL_JOB
    }

    /// The job that Evenkeel runs for it.
    pub fn external_job(&self) -> Option<&ExternalJobAlgorithm> {
        let is_ours = self.external_generator_name.is_none() && self.algorithm.kind == EXTERNAL_JOB;
        self.algorithm.external_job.as_ref().filter(|_| is_ours)
    }
}
