//! Reads everything that the checks look at, each object once, all at the same time.
//!
//! A read that fails is kept as such: a user with few rights still learns what can be seen. The
//! API server is asked nothing that changes it.

mod kinds;
mod node_autoscalers;
mod objects;
mod placements;
pub(crate) mod read;
mod replicas;
mod rights;
mod trial;

use std::collections::BTreeMap;

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

use super::observation::{CONFIGURATION_MAP, Observation, SIGNING_SECRET, Seen, ServedCertificate};
use crate::certificates::SERVER_CERTIFICATE;
use crate::certificates::Serving;
use crate::config::Config;
use crate::server::paths::EXTENDER_SERVICE;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::node::Node;
use evenkeel_kubernetes::watched::{
    Namespace, WatchedAutoscaler, WatchedNamespace, WatchedNode, WatchedPod,
};
use evenkeel_kubernetes::{api_service, pod};
use read::{LeftOut, Reader};

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
) -> Result<Observation, kube::Error> {
    let left_out = LeftOut::default();
    let reader = Reader::new(client, namespace, &left_out);
    let server = read::version(client).await?;
    let (configuration, deployment, signer, second_scheduler, lease) = tokio::join!(
        reader.own::<ConfigMap>(CONFIGURATION_MAP),
        reader.own::<Deployment>(NAME),
        reader.own::<Deployment>(SIGNER),
        reader.own::<Deployment>(SECOND_SCHEDULER),
        reader.own::<Lease>(NAME),
    );
    let (webhooks, webhook_service, extender_service, endpoints) = reached(&reader).await;
    let (nodes, namespaces, unbound) = watched(&reader).await;
    let mut observation = Observation {
        now,
        server_time: read::server_time(client).await,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        namespace: namespace.to_owned(),
        server,
        configuration,
        deployment,
        signer,
        replicas: Seen::Absent,
        outside: Seen::Absent,
        lease,
        webhooks,
        webhook_service,
        extender_service,
        endpoints,
        certificate: Seen::Absent,
        key_annotations: Seen::Absent,
        network_policies: reader.all_own::<NetworkPolicy>("").await,
        write_guard: Seen::Absent,
        write_rules: Seen::Absent,
        clean_up: Seen::Absent,
        clean_up_guard: Seen::Absent,
        record_guard: Seen::Absent,
        rights: Seen::Absent,
        custom_kinds: Seen::Absent,
        nodes,
        namespaces,
        unbound,
        schedulers: Seen::Absent,
        placed: Seen::Absent,
        second_scheduler,
        autoscalers: Seen::Absent,
        api_groups: Seen::Absent,
        api_service: Seen::Absent,
        provider_api_service: Seen::Absent,
        trial: Seen::Absent,
        objects: Vec::new(),
        node_autoscalers: None,
        unreadable: Vec::new(),
    };
    further(client, &reader, &mut observation).await;
    observation.unreadable = left_out.into_texts();
    Ok(observation)
}

/// Reads by what way others reach the service.
async fn reached(
    reader: &Reader<'_>,
) -> (
    Seen<Vec<MutatingWebhookConfiguration>>,
    Seen<Service>,
    Seen<Service>,
    Seen<Vec<EndpointSlice>>,
) {
    tokio::join!(
        reader.all::<MutatingWebhookConfiguration>(""),
        reader.own::<Service>(NAME),
        reader.own::<Service>(EXTENDER_SERVICE),
        reader.all_own::<EndpointSlice>(""),
    )
}

/// Reads what the service watches.
async fn watched(
    reader: &Reader<'_>,
) -> (Seen<Vec<Node>>, Seen<Vec<Namespace>>, Seen<Vec<pod::Pod>>) {
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

/// Reads in the namespace of the cluster's own parts.
const fn system<'a>(reader: &Reader<'a>) -> Reader<'a> {
    Reader {
        namespace: "kube-system",
        ..*reader
    }
}

/// Reads who writes beside the leader, and what narrows all of them.
async fn writing(reader: &Reader<'_>, observation: &mut Observation) {
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

/// Reads the autoscalers, the writers, kube-scheduler's Pods, and what depends on what was seen; the
/// trial comes after the metrics, which count it.
async fn further(client: &Client, reader: &Reader<'_>, observation: &mut Observation) {
    let kinds = kinds::configured(client, observation).await;
    let found = kinds.there().map_or(&[][..], Vec::as_slice);
    observation.rights = rights::review(reader, found).await;
    let served = found.iter().filter_map(|kind| kind.served.as_ref());
    let served: Vec<Kind> = served.map(|served| Kind::Custom(served.kind)).collect();
    observation.objects = objects::list(reader, &served).await;
    observation.custom_kinds = kinds.map(|all| all.into_iter().map(|kind| kind.seen).collect());
    let autoscalers = reader.all::<WatchedAutoscaler>("");
    let (autoscalers, api_groups) = tokio::join!(autoscalers, read::api_groups(client));
    observation.autoscalers =
        autoscalers.map(|all| all.into_iter().map(|one| one.autoscaler).collect());
    observation.api_groups = api_groups;
    let system = system(reader);
    let node_autoscalers = node_autoscalers::installed(&system, &observation.api_groups).await;
    observation.node_autoscalers = Some(node_autoscalers);
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
    observation.trial = trial::run(client, observation).await;
}

/// The annotations of the signer's Secret; nothing else of it is read.
async fn key_annotations(
    reader: &Reader<'_>,
    seen: &Observation,
) -> Seen<BTreeMap<String, String>> {
    let config = seen.configured().and_then(Result::ok);
    let name = match config.as_ref().map(|config| &config.certificates.serving) {
        Some(Serving::SelfManaged(own)) => &own.secret_name,
        Some(Serving::Files(_)) => return Seen::Absent,
        None => SIGNING_SECRET,
    };
    let read = reader.annotations::<Secret>(name).await;
    read.map(Option::unwrap_or_default)
}

/// The certificate in the Secret that the configuration names; its keys are dropped at once.
async fn certificate(reader: &Reader<'_>, seen: &Observation) -> Seen<ServedCertificate> {
    let config = seen.configured().and_then(Result::ok);
    let name = config.as_ref().map_or(SERVING_SECRET, served_from);
    let secret = reader.own::<Secret>(name).await;
    let chain = secret.map(|secret| {
        let mut files = secret.data.unwrap_or_default();
        files.remove(SERVER_CERTIFICATE).map(|file| file.0)
    });
    match chain {
        Seen::There(chain) => Seen::There(ServedCertificate {
            secret: name.to_owned(),
            chain: String::from_utf8_lossy(&chain.unwrap_or_default()).into_owned(),
        }),
        Seen::Absent => Seen::Absent,
        Seen::Unseen(unseen) => Seen::Unseen(unseen),
    }
}

fn served_from(config: &Config) -> &str {
    match &config.certificates.serving {
        Serving::SelfManaged(own) => &own.serving_secret_name,
        Serving::Files(_) => GIVEN_SECRET,
    }
}
