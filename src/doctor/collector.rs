//! Reads everything that the checks look at, each object once, all at the same time. A failed read
//! is kept as data: a user with few rights still sees the rest. Nothing is changed.

pub(crate) mod api_reader;
mod kinds;
mod node_autoscalers;
mod objects;
mod placements;
mod replicas;
mod rights;
mod scheduling_neighbours;
mod webhook_dry_run;

use std::collections::BTreeMap;

use api_reader::{ClusterReader, LeftOut};
use evenkeel_certificates::api_service;
use evenkeel_certificates::files::SERVER_CERTIFICATE;
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
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Client;

use super::observation::{DoctorObservation, SIGNING_SECRET, ServedCertificate};
use evenkeel_service::certificates::ServingCertificateSource;
use evenkeel_service::cluster::read_outcome::ReadOutcome;
use evenkeel_service::config::{CONFIGURATION_MAP, Config};
use evenkeel_service::server::paths::EXTENDER_SERVICE;
use evenkeel_service::watched_types::{
    Namespace, WatchedAutoscaler, WatchedNamespace, WatchedNode, WatchedPod,
};

/// Name of Evenkeel's own objects.
const NAME: &str = "evenkeel";
const SIGNER: &str = "evenkeel-signer";
const SECOND_SCHEDULER: &str = "evenkeel-scheduler";
const WRITE_GUARD: &str = "evenkeel-writes";
const CLEAN_UP: &str = "evenkeel-restore";
const CLEAN_UP_GUARD: &str = "evenkeel-restores";
const RECORD_GUARD: &str = "evenkeel-resize-records";

/// The Secret that the signer fills for the replicas.
const SERVING_SECRET: &str = "evenkeel-serving-certificate";

/// The Secret that the component cert-manager mounts.
const GIVEN_SECRET: &str = "evenkeel-serving";

/// Observes the cluster behind `client`, with Evenkeel in `namespace`.
///
/// # Errors
/// The API server cannot be reached at all.
pub async fn gather(
    client: &Client,
    namespace: &str,
    now: Timestamp,
) -> Result<DoctorObservation, kube::Error> {
    let left_out = LeftOut::default();
    let reader = ClusterReader::new(client, namespace, &left_out);
    let server = api_reader::version(client).await?;
    let (configuration, deployment, signer, second_scheduler, lease) = tokio::join!(
        reader.own::<ConfigMap>(CONFIGURATION_MAP),
        reader.own::<Deployment>(NAME),
        reader.own::<Deployment>(SIGNER),
        reader.own::<Deployment>(SECOND_SCHEDULER),
        reader.own::<Lease>(NAME),
    );
    let (webhooks, webhook_service, extender_service, endpoints) = reached(&reader).await;
    let (nodes, namespaces, unbound) = watched(&reader).await;
    let mut observation = DoctorObservation {
        now,
        server_time: evenkeel_service::cluster::server_time(client).await,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        namespace: namespace.to_owned(),
        server,
        configuration,
        deployment,
        signer,
        replicas: ReadOutcome::Absent,
        outside: ReadOutcome::Absent,
        lease,
        webhooks,
        webhook_service,
        extender_service,
        endpoints,
        certificate: ReadOutcome::Absent,
        key_annotations: ReadOutcome::Absent,
        network_policies: reader.all_own::<NetworkPolicy>("").await,
        write_guard: ReadOutcome::Absent,
        write_rules: ReadOutcome::Absent,
        clean_up: ReadOutcome::Absent,
        clean_up_guard: ReadOutcome::Absent,
        record_guard: ReadOutcome::Absent,
        rights: ReadOutcome::Absent,
        custom_kinds: ReadOutcome::Absent,
        nodes,
        namespaces,
        unbound,
        schedulers: ReadOutcome::Absent,
        placed: ReadOutcome::Absent,
        second_scheduler,
        autoscalers: ReadOutcome::Absent,
        api_groups: ReadOutcome::Absent,
        api_service: ReadOutcome::Absent,
        provider_api_service: ReadOutcome::Absent,
        trial: ReadOutcome::Absent,
        objects: Vec::new(),
        node_autoscalers: None,
        autoscaler_deployments: None,
        descheduler_policies: None,
        unreadable: Vec::new(),
    };
    further(client, &reader, &mut observation).await;
    observation.unreadable = left_out.into_texts();
    Ok(observation)
}

/// Reads by what way others reach the service.
async fn reached(
    reader: &ClusterReader<'_>,
) -> (
    ReadOutcome<Vec<MutatingWebhookConfiguration>>,
    ReadOutcome<Service>,
    ReadOutcome<Service>,
    ReadOutcome<Vec<EndpointSlice>>,
) {
    tokio::join!(
        reader.all::<MutatingWebhookConfiguration>(""),
        reader.own::<Service>(NAME),
        reader.own::<Service>(EXTENDER_SERVICE),
        reader.all_own::<EndpointSlice>(""),
    )
}

async fn watched(
    reader: &ClusterReader<'_>,
) -> (
    ReadOutcome<Vec<Node>>,
    ReadOutcome<Vec<Namespace>>,
    ReadOutcome<Vec<pod::Pod>>,
) {
    let (nodes, namespaces, unbound) = tokio::join!(
        reader.all::<WatchedNode>(""),
        reader.all::<WatchedNamespace>(""),
        reader.unbound::<WatchedPod>(),
    );
    (
        nodes.map(|all| all.into_iter().map(|one| one.node).collect()),
        namespaces.map(|all| all.into_iter().map(|one| one.namespace).collect()),
        unbound.map(|all| all.into_iter().map(|one| one.pod).collect()),
    )
}

const fn system<'a>(reader: &ClusterReader<'a>) -> ClusterReader<'a> {
    ClusterReader {
        namespace: "kube-system",
        ..*reader
    }
}

/// Reads the writers beside the leader, and the policies that narrow all of them.
async fn writing(reader: &ClusterReader<'_>, observation: &mut DoctorObservation) {
    let (clean_up, guard, rules, clean_up_guard, record_guard) = tokio::join!(
        reader.own::<CronJob>(CLEAN_UP),
        reader.named::<ValidatingAdmissionPolicyBinding>(WRITE_GUARD),
        reader.named::<ValidatingAdmissionPolicy>(WRITE_GUARD),
        reader.named::<ValidatingAdmissionPolicyBinding>(CLEAN_UP_GUARD),
        reader.named::<ValidatingAdmissionPolicyBinding>(RECORD_GUARD),
    );
    observation.clean_up = clean_up;
    observation.write_guard = guard;
    observation.write_rules = rules;
    observation.clean_up_guard = clean_up_guard;
    observation.record_guard = record_guard;
}

/// Reads autoscalers, writers, kube-scheduler's Pods, and what depends on earlier reads; the
/// webhook trial comes after the metrics, which count it.
async fn further(client: &Client, reader: &ClusterReader<'_>, observation: &mut DoctorObservation) {
    let kinds = kinds::configured(client, observation).await;
    let found = kinds.there().map_or(&[][..], Vec::as_slice);
    observation.rights = rights::review(reader, found).await;
    let served = found.iter().filter_map(|kind| kind.served.as_ref());
    let served: Vec<Kind> = served.map(|served| Kind::Custom(served.kind)).collect();
    observation.objects = objects::list(reader, &served).await;
    observation.custom_kinds = kinds.map(|all| all.into_iter().map(|kind| kind.seen).collect());
    let autoscalers = reader.all::<WatchedAutoscaler>("");
    let (autoscalers, api_groups) = tokio::join!(autoscalers, api_reader::api_groups(client));
    observation.autoscalers =
        autoscalers.map(|all| all.into_iter().map(|one| one.autoscaler).collect());
    observation.api_groups = api_groups;
    let system = system(reader);
    let node_autoscalers = node_autoscalers::installed(&system, &observation.api_groups).await;
    observation.node_autoscalers = Some(node_autoscalers);
    if !observation.score_labels().is_empty() {
        let (deployments, policies) = tokio::join!(
            scheduling_neighbours::node_autoscalers(reader),
            scheduling_neighbours::descheduler_policies(reader, &system),
        );
        observation.autoscaler_deployments = Some(deployments);
        observation.descheduler_policies = Some(policies);
    }
    let (external, provider) = tokio::join!(
        reader.named::<APIService>(api_service::EXTERNAL_METRICS),
        reader.named::<APIService>(api_service::METRICS_PROVIDER),
    );
    observation.api_service = external;
    observation.provider_api_service = provider;
    writing(reader, observation).await;
    observation.schedulers = system.all_own::<Pod>("component=kube-scheduler").await;
    replicas::observe(reader, observation).await;
    observation.placed = placements::newest(reader).await;
    observation.certificate = certificate(reader, observation).await;
    observation.key_annotations = key_annotations(reader, observation).await;
    observation.trial = webhook_dry_run::run(client, observation).await;
}

/// The annotations of the signer's Secret; nothing else of it is read.
async fn key_annotations(
    reader: &ClusterReader<'_>,
    seen: &DoctorObservation,
) -> ReadOutcome<BTreeMap<String, String>> {
    let config = seen.configured().and_then(Result::ok);
    let name = match config.as_ref().map(|config| &config.certificates.serving) {
        Some(ServingCertificateSource::SelfManaged(own)) => &own.secret_name,
        Some(ServingCertificateSource::Files(_)) => return ReadOutcome::Absent,
        None => SIGNING_SECRET,
    };
    let read = reader.annotations::<Secret>(name).await;
    read.map(Option::unwrap_or_default)
}

/// The certificate in the Secret that the configuration names; its keys are dropped at once.
async fn certificate(
    reader: &ClusterReader<'_>,
    seen: &DoctorObservation,
) -> ReadOutcome<ServedCertificate> {
    let config = seen.configured().and_then(Result::ok);
    let name = config.as_ref().map_or(SERVING_SECRET, served_from);
    let secret = reader.own::<Secret>(name).await;
    let chain = secret.map(|secret| {
        let mut files = secret.data.unwrap_or_default();
        files.remove(SERVER_CERTIFICATE).map(|file| file.0)
    });
    match chain {
        ReadOutcome::There(chain) => ReadOutcome::There(ServedCertificate {
            secret: name.to_owned(),
            chain: String::from_utf8_lossy(&chain.unwrap_or_default()).into_owned(),
        }),
        ReadOutcome::Absent => ReadOutcome::Absent,
        ReadOutcome::Unseen(unseen) => ReadOutcome::Unseen(unseen),
    }
}

fn served_from(config: &Config) -> &str {
    match &config.certificates.serving {
        ServingCertificateSource::SelfManaged(own) => &own.serving_secret_name,
        ServingCertificateSource::Files(_) => GIVEN_SECRET,
    }
}
