//! The spec of an IntelligentHorizontalPodAutoscaler, as a user writes it.

use std::collections::BTreeMap;

use evenkeel_objects::schema::hpa::metric;
use evenkeel_objects::schema::{labels, rules, workload};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cron_hpa::spec::ScaledRef;
use crate::portrait_data::{CronData, StaticData};
use crate::portrait_spec::PortraitSpec;
use crate::replica_profile::ProfileBehavior;

/// The most providers of one object.
pub const MOST_PROVIDERS: usize = 16;

/// The most stability checks of one object.
pub const MOST_CHECKERS: usize = 8;

/// The most metrics of one stability check.
pub const MOST_METRICS_OF_CHECK: usize = 8;

const SPEC_RULES: [(&str, &str); 2] = [
    (
        "self.minReplicas <= self.maxReplicas",
        "minReplicas must be at most maxReplicas",
    ),
    (
        "self.portraitProviders.all(a, !has(a.dynamic) || self.portraitProviders.exists_one(b, \
         has(b.dynamic) && b.dynamic.portraitType.lowerAscii() == a.dynamic.portraitType.lowerAscii()))",
        "each dynamic provider needs a unique portraitType",
    ),
];

const PROVIDER_RULES: [(&str, &str); 3] = [
    (
        "self.type == 'Static' ? has(self.static) && !has(self.cron) && !has(self.dynamic) : true",
        "type Static goes with static alone",
    ),
    (
        "self.type == 'Cron' ? has(self.cron) && !has(self.static) && !has(self.dynamic) : true",
        "type Cron goes with cron alone",
    ),
    (
        "self.type == 'Dynamic' ? has(self.dynamic) && !has(self.static) && !has(self.cron) : true",
        "type Dynamic goes with dynamic alone",
    ),
];

const STEP_RULES: [(&str, &str); 1] = [(
    "has(self.changePercent) != has(self.changeCount)",
    "a step needs either changePercent or changeCount",
)];

const NAME_RULES: [(&str, &str); 1] = [(
    "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",
    "each stability checker needs a unique name",
)];

const CHECKER_RULES: [(&str, &str); 4] = [
    (
        "self.type == 'Metrics' ? has(self.metrics) : !has(self.metrics)",
        "metrics goes with type Metrics",
    ),
    (
        "self.type == 'PodsReady' || !has(self.podsReady)",
        "podsReady goes with type PodsReady",
    ),
    (
        "self.type == 'ErrorRate' ? has(self.errorRate) : !has(self.errorRate)",
        "errorRate goes with type ErrorRate",
    ),
    (
        "self.type == 'External' ? has(self.external) : !has(self.external)",
        "external goes with type External",
    ),
];

const ENDPOINT_RULES: [(&str, &str); 1] = [(
    "has(self.service) != has(self.url)",
    "an external check needs either a service or a url",
)];

/// The workload, the providers of its replicas, and how changes are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&SPEC_RULES)))]
pub struct IhpaSpec {
    /// The workload. Nothing else may scale it.
    #[schemars(transform = workload)]
    pub scale_target_ref: ScaledRef,
    /// True leaves the workload as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The minimum of online replicas.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
    /// The maximum of online replicas.
    #[schemars(range(min = 1))]
    pub max_replicas: i32,
    /// Preview computes everything and shows it in the status, and changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Auto", "Preview"], "x-default" = "Auto"))]
    pub scale_mode: Option<String>,
    /// The sources of replica counts. If one fails or expires, the others still count.
    #[schemars(length(min = 1, max = MOST_PROVIDERS))]
    pub portrait_providers: Vec<PortraitProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<IhpaBehavior>,
    /// Checks between the steps of a change, and during its observation. A change continues while
    /// all checks pass. It waits if the data of a check are missing or older than the last step.
    /// The first step does not depend on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_CHECKERS), extend("x-kubernetes-validations" = rules(&NAME_RULES)))]
    pub stability_checkers: Vec<StabilityChecker>,
}

/// One provider of portraits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = rules(&PROVIDER_RULES)))]
pub struct PortraitProvider {
    /// Which of the fields applies.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Static", "Cron", "Dynamic"]))]
    pub kind: String,
    /// Of the providers that have a value, the highest priority applies; with equal priority, the
    /// larger value.
    pub priority: i32,
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub constant: Option<StaticData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronData>,
    /// A portrait that is updated all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<PortraitSpec>,
}

/// How changes are made. Default: at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct IhpaBehavior {
    /// Scaling out. Pods that wait without traffic are used first, then new Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = only_online)]
    pub scale_up: Option<ScalingBehavior>,
    /// Scaling in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingBehavior>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_profile: Option<ProfileBehavior>,
}

/// The rules for one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalingBehavior {
    /// True disables changes in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gray_strategy: Option<GrayStrategy>,
}

/// The steps. The first step takes place at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&STEP_RULES)))]
pub struct GrayStrategy {
    /// The state of Pods in the steps. Cutoff takes them out of traffic; Standby also lowers their
    /// resources. In both cases they are deleted after all steps and the observation. Deleted
    /// deletes them in each step.
    #[schemars(extend("enum" = ["Cutoff", "Standby", "Deleted"]))]
    pub gray_state: String,
    /// The size of a step, in percent of the whole change; at least one Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub change_percent: Option<i32>,
    /// The size of a step, in Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub change_count: Option<i32>,
    /// The time from one step to the next.
    #[schemars(range(min = 1, max = 86_400))]
    pub change_interval_seconds: i64,
    /// The time after the last step in which waiting Pods are kept and stability checks can still
    /// pause the change or roll it back. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400))]
    pub observation_seconds: Option<i64>,
}

/// The only state of Pods in the steps of scaling out.
fn only_online(schema: &mut Schema) {
    let state = "/properties/grayStrategy/properties/grayState";
    if let Some(Value::Object(state)) = schema.pointer_mut(state) {
        state.insert("enum".to_owned(), json!(["Online"]));
        let description = "The state of Pods in the steps: Online.";
        state.insert("description".to_owned(), description.into());
    }
}

/// One check.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&CHECKER_RULES)))]
pub struct StabilityChecker {
    /// The name in status and Events. Default: made of type and place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub name: Option<String>,
    /// The kind of check.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Metrics", "PodsReady", "ErrorRate", "External"]))]
    pub kind: String,
    /// The action if it fails: Pause stops the change, and Rollback returns to its beginning. The
    /// change continues once all checks have passed for the cool-down, or at the time in the
    /// annotation evenkeel.dev/resume.
    #[schemars(extend("enum" = ["Pause", "Rollback"]))]
    pub stabilization_action: String,
    /// How long the checks must pass before a paused change continues. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400))]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MetricsCheck {
    /// The metrics. Each describes an anomaly, like an alert: the check fails while `value operator
    /// target` holds for one of them.
    #[schemars(length(min = 1, max = MOST_METRICS_OF_CHECK), extend("items" = metric()))]
    pub metrics: Vec<Value>,
}

/// The readiness of the Pods that should be online.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodsReadyCheck {
    /// The percentage of them that must be ready. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub min_percent: Option<i32>,
    /// How long after a step they may take to become ready. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400))]
    pub within_seconds: Option<i64>,
}

/// The share of requests that fail. Without requests, the check passes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ErrorRateCheck {
    /// PromQL for failed requests per second.
    #[schemars(length(max = 2048))]
    pub errors: String,
    /// PromQL for all requests per second.
    #[schemars(length(max = 2048))]
    pub requests: String,
    /// The largest share of requests that may fail, such as 0.5%.
    #[schemars(length(max = 16), extend("pattern" = r"^[0-9]{1,3}(\.[0-9]+)?%$"))]
    pub max_percent: String,
}

/// An HTTP endpoint that Evenkeel calls, if its configuration enables external checks. Each request
/// carries a token of the ServiceAccount evenkeel-checks, whose audience is the address without its
/// path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&ENDPOINT_RULES)))]
pub struct ExternalChecker {
    /// The name of the check.
    #[schemars(length(max = 64))]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<CheckService>,
    /// An address that Evenkeel's configuration allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub url: Option<String>,
    /// The time limit of the answer. Default: 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub timeout_seconds: Option<i64>,
    /// Additional data of the request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub config: BTreeMap<String, String>,
}

/// A Service in the namespace of the autoscaler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckService {
    /// The name of the Service.
    #[schemars(length(max = 63), extend("pattern" = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// The port of the Service.
    #[schemars(range(min = 1, max = 65_535))]
    pub port: i32,
    /// The path of the request. Default: /.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub path: Option<String>,
    /// PEM certificates of the authorities for its certificate, which is for the name
    /// NAME.NAMESPACE.svc. Without them, the request is plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32_768), extend("format" = "byte"))]
    pub ca_bundle: Option<String>,
}
