//! Everything that the checks look at, as it was read. Nothing secret is in it: of Secrets only
//! certificates are kept.

use evenkeel_service::cluster::{ReadFailure, ReadOutcome};
use std::collections::{BTreeMap, BTreeSet};

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::annotations::SCORE_LABEL_PREFIX;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use serde::Deserialize;

use super::DoctorFinding;
use evenkeel_service::annotation_check::Carrier;
use evenkeel_service::config::{CONFIGURATION_FILE, Config, ConfigError, ConfigSources};
use evenkeel_service::watched_types::Namespace;

/// The Secret that the signer keeps keys in, where no configuration names another.
pub(super) const SIGNING_SECRET: &str = "evenkeel-certificates";

/// A Pod of Evenkeel's Deployment with its metrics.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Replica {
    pub pod: Pod,
    /// The text of its `/metrics`.
    pub metrics: ReadOutcome<String>,
}

/// The certificate that the Services' endpoints serve; public parts only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServedCertificate {
    pub secret: String,
    /// The certificate and those between it and an authority, as PEM.
    pub chain: String,
}

/// One right that Evenkeel needs, with the authorizer's answer for the ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Right {
    pub account: String,
    pub group: String,
    /// Plural name of the resource, with a subresource as in `cronhpas/status`.
    pub resource: String,
    pub verb: String,
    /// Name of the only object, where the right is for one.
    pub name: Option<String>,
    /// The only namespace, where the right is for one.
    pub namespace: Option<String>,
    /// Only needed where Evenkeel makes its own certificates.
    pub for_certificates: bool,
    /// Only needed where Pods are given to a second scheduler.
    #[serde(default)]
    pub for_second_scheduler: bool,
    /// Only needed where Pods are given costs of deletion.
    #[serde(default)]
    pub for_scale_in_balance: bool,
    /// Only needed where Pods are taken out of traffic.
    #[serde(default)]
    pub for_replica_profiles: bool,
    /// Only needed where Pods are resized in place.
    #[serde(default)]
    pub for_in_place_tuning: bool,
    /// Only needed where external metrics are served.
    #[serde(default)]
    pub for_external_metrics: bool,
    /// Only needed where series are served.
    #[serde(default)]
    pub for_metrics_provider: bool,
    /// Only needed where custom resources are scaled.
    #[serde(default)]
    pub for_custom_kinds: bool,
    /// Only needed where jobs of external algorithms are run.
    #[serde(default)]
    pub for_external_algorithms: bool,
    /// Only needed where external checks are asked.
    #[serde(default)]
    pub for_external_checks: bool,
    pub allowed: bool,
}

/// A kind of custom resource that the configuration wants scaled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ScaledKindSeen {
    pub kind: String,
    /// The name of its definition, such as `rollouts.argoproj.io`, where it can be scaled.
    pub definition: Option<String>,
    pub state: KindState,
}

/// How the cluster serves such a kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KindState {
    /// So that it can be scaled.
    Served,
    Absent,
    /// Without what scaling takes, and what that is.
    Unscalable(String),
    /// It could not be looked at.
    Unknown(String),
}

/// Result of creating a Pod as a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WebhookTrial {
    pub namespace: String,
    pub answer: PodOfDryRun,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodOfDryRun {
    Admitted(BTreeMap<String, String>),
    /// The message of the component that refused it.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorObservation {
    pub now: Timestamp,
    /// The same by the API server's clock, where its answers are dated.
    #[serde(default)]
    pub server_time: Option<Timestamp>,
    pub program: String,
    pub namespace: String,
    /// The API server's `gitVersion`.
    pub server: ReadOutcome<String>,
    pub configuration: ReadOutcome<ConfigMap>,
    pub deployment: ReadOutcome<Deployment>,
    pub signer: ReadOutcome<Deployment>,
    /// Pods of that Deployment.
    pub replicas: ReadOutcome<Vec<Replica>>,
    /// Metrics behind the Service for metrics, where there are no such Pods.
    pub outside: ReadOutcome<String>,
    pub lease: ReadOutcome<Lease>,
    pub webhooks: ReadOutcome<Vec<MutatingWebhookConfiguration>>,
    pub webhook_service: ReadOutcome<Service>,
    /// The Service that kube-scheduler calls.
    pub extender_service: ReadOutcome<Service>,
    /// The endpoints in Evenkeel's namespace.
    pub endpoints: ReadOutcome<Vec<EndpointSlice>>,
    pub certificate: ReadOutcome<ServedCertificate>,
    /// The annotations of the signer's Secret.
    pub key_annotations: ReadOutcome<BTreeMap<String, String>>,
    pub network_policies: ReadOutcome<Vec<NetworkPolicy>>,
    /// Binding of the policy that narrows Evenkeel's writes.
    pub write_guard: ReadOutcome<ValidatingAdmissionPolicyBinding>,
    /// That policy, which names the resources that it concerns.
    pub write_rules: ReadOutcome<ValidatingAdmissionPolicy>,
    /// The CronJob `evenkeel-restore` in that namespace, which puts back abandoned values.
    pub clean_up: ReadOutcome<CronJob>,
    /// Binding of the policy that narrows the writes of that CronJob.
    pub clean_up_guard: ReadOutcome<ValidatingAdmissionPolicyBinding>,
    /// The binding of the policy against forged records of a Pod's former resources.
    pub record_guard: ReadOutcome<ValidatingAdmissionPolicyBinding>,
    /// Rights that the ServiceAccounts need.
    pub rights: ReadOutcome<Vec<Right>>,
    pub custom_kinds: ReadOutcome<Vec<ScaledKindSeen>>,
    pub nodes: ReadOutcome<Vec<Node>>,
    pub namespaces: ReadOutcome<Vec<Namespace>>,
    pub unbound: ReadOutcome<Vec<pod::Pod>>,
    /// The Pods of kube-scheduler, where the control plane shows them.
    pub schedulers: ReadOutcome<Vec<Pod>>,
    /// When each scheduler last bound a Pod, by its name, as far back as Events tell.
    pub placed: ReadOutcome<BTreeMap<String, Timestamp>>,
    /// The Deployment of a second scheduler, `evenkeel-scheduler`.
    pub second_scheduler: ReadOutcome<Deployment>,
    pub autoscalers: ReadOutcome<Vec<Autoscaler>>,
    pub api_groups: ReadOutcome<Vec<String>>,
    /// The APIService of external metrics, even if it leads to another server.
    pub api_service: ReadOutcome<APIService>,
    /// That of the metrics provider.
    pub provider_api_service: ReadOutcome<APIService>,
    /// Result of sending a Pod through the webhook.
    pub trial: ReadOutcome<WebhookTrial>,
    /// The objects that carry annotations of Evenkeel's, and all of its own kinds; a kind each.
    #[serde(default)]
    pub objects: Vec<ObjectsOfKind>,
    /// The node autoscalers that are installed, by name; `None` where that was not looked at.
    #[serde(default)]
    pub node_autoscalers: Option<ReadOutcome<Vec<String>>>,
    /// The Deployments of node autoscalers, where nodes have score labels.
    #[serde(default)]
    pub autoscaler_deployments: Option<ReadOutcome<Vec<Deployment>>>,
    /// The ConfigMaps with a policy of the descheduler, where nodes have score labels.
    #[serde(default)]
    pub descheduler_policies: Option<ReadOutcome<Vec<ConfigMap>>>,
    /// The objects that cannot be read and were left out, a text for each kind.
    #[serde(default)]
    pub unreadable: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectsOfKind {
    pub api_version: String,
    pub kind: String,
    pub objects: ReadOutcome<Vec<AnnotatedObject>>,
}

impl ObjectsOfKind {
    /// The role of its objects for annotations. A kind that is not known is one of `scaling.kinds`.
    pub(super) fn carrier(&self) -> Carrier {
        Kind::of(&self.api_version, &self.kind).map_or(Carrier::Workload, Carrier::of)
    }

    pub(super) fn is_own(&self) -> bool {
        let kind = Kind::of(&self.api_version, &self.kind);
        kind.is_some_and(|kind| kind.group() == Kind::CronHpa.group())
    }

    pub(super) fn resource(&self) -> String {
        if let Some(kind) = Kind::of(&self.api_version, &self.kind) {
            kind.as_str().to_ascii_lowercase()
        } else {
            let group = self.api_version.split('/').next().unwrap_or_default();
            format!("{}.{group}", self.kind.to_ascii_lowercase())
        }
    }
}

impl DoctorObservation {
    /// The configuration that replicas start with: the ConfigMap's file under the container's
    /// variables. `None` without a readable file.
    pub fn configured(&self) -> Option<Result<Config, ConfigError>> {
        let files = self.configuration.there()?.data.as_ref()?;
        let sources = ConfigSources {
            file: Some(CONFIGURATION_FILE.into()),
            environment: self.environment(),
            flags: Vec::new(),
        };
        Some(Config::parse(files.get(CONFIGURATION_FILE)?, &sources))
    }

    /// The keys of all score labels that nodes have.
    pub(super) fn score_labels(&self) -> BTreeSet<&str> {
        let nodes = self.nodes.there().into_iter().flatten();
        let keys = nodes.flat_map(|node| node.labels.keys().map(String::as_str));
        keys.filter(|key| key.starts_with(SCORE_LABEL_PREFIX))
            .collect()
    }

    /// The variables that the Deployment gives its container as plain values.
    fn environment(&self) -> Vec<(String, String)> {
        let containers = self.deployment.there().and_then(|deployment| {
            let template = &deployment.spec.as_ref()?.template;
            Some(&template.spec.as_ref()?.containers)
        });
        let ours = |container: &&Container| container.name == "evenkeel";
        let container = containers.and_then(|all| all.iter().find(ours));
        let variables = container.and_then(|container| container.env.as_ref());
        variables
            .into_iter()
            .flatten()
            .filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?)))
            .collect()
    }
}

/// Reading what the cluster gave, with a finding for what it did not.
pub(super) trait Look<T> {
    /// The value, or `None` if absent; the finding of check `id` if `subject` could not be read.
    fn look(&self, id: &'static str, subject: &str) -> Result<Option<&T>, DoctorFinding>;
}

impl<T> Look<T> for ReadOutcome<T> {
    fn look(&self, id: &'static str, subject: &str) -> Result<Option<&T>, DoctorFinding> {
        match self {
            Self::There(there) => Ok(Some(there)),
            Self::Absent => Ok(None),
            Self::Unseen(failure) => Err(unseen(failure, id, subject)),
        }
    }
}

fn unseen(failure: &ReadFailure, id: &'static str, subject: &str) -> DoctorFinding {
    let blind = format!("{subject} could not be read");
    match failure {
        ReadFailure::Needs(right) => DoctorFinding::warning(
            id,
            format!("{blind}: needs {right}"),
            format!("run doctor as a user for whom `kubectl auth can-i {right}` answers yes"),
        ),
        ReadFailure::Failed(error) => DoctorFinding::warning(
            id,
            format!("{blind}: the call failed"),
            "run doctor again; if it fails again, look at the API server's log",
        )
        .seen_by(error),
        ReadFailure::Without(what) => DoctorFinding::info(
            id,
            format!("{blind}: {what}"),
            "see the findings about that",
        ),
    }
}
