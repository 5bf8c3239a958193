//! The objects that an operator would apply: namespaces, nodes, webhook configuration and
//! workloads.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_api::custom_resources::definitions;
use evenkeel_clock::Clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::prometheus::{IO_PRESSURE, NETWORK_CAPACITY, NODE_METRICS, POD_METRICS};
use evenkeel_sandbox::scenario::{Scenario, ScenarioWorkload};
use evenkeel_sandbox::scrape_timing::Timing;
use evenkeel_sandbox::{Timeline, objects, opt_in_annotations};
use evenkeel_units::{Resource, max_age};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::warn;

use super::addresses::LoopbackAddresses;
use super::configuration::ConfigFields;
use super::shipped_services::NAMESPACE;
use super::{DevClusterOptions, StartError};

const WEBHOOK: &str = include_str!("../../../../../webhook-config/mutating-webhook.yaml");

/// When what the API server did not take is tried again, and the least time between two wakings.
const LEAST: Duration = Duration::from_millis(200);

/// A sample older than this is stale at any speed: a busy machine may take a second for a round.
const LEAST_MAX_AGE: Duration = Duration::from_secs(5);

/// A placement counts until its Pod is seen on its node, which takes real time.
const LEAST_IN_FLIGHT: Duration = Duration::from_secs(10);

/// A notice comes within a few milliseconds, and on a busy machine within a few hundred.
const LEAST_NOTICE: Duration = Duration::from_secs(2);

/// When a refused Pod goes to the least loaded node after all, in the scenario: the default.
const RELAX_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// Namespaces, Evenkeel's own kinds, further objects of the scenario, nodes and the webhook
/// configuration.
pub(super) async fn prepare(
    client: &Client,
    options: &DevClusterOptions,
    now: Timestamp,
) -> Result<(), StartError> {
    let post = PostParams::default();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let own = objects::namespace(NAMESPACE);
    namespaces.create(&post, &own).await?;
    for name in options.scenario.namespaces() {
        namespaces
            .create(&post, &opt_in_annotations::namespace(name))
            .await?;
    }
    let kind = Kind::CustomResourceDefinition.api_resource();
    let kinds: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    for definition in definitions() {
        kinds.create(&post, &objects::typed(definition)).await?;
    }
    further(client, &options.scenario.objects).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    for shape in &options.scenario.nodes {
        nodes
            .create(&post, &opt_in_annotations::node(shape))
            .await?;
        let status = Patch::Merge(objects::node_status(shape, true, now));
        nodes
            .patch_status(&shape.name, &PatchParams::default(), &status)
            .await?;
    }
    let mut webhook: MutatingWebhookConfiguration = serde_saphyr::from_str(WEBHOOK)
        .map_err(|error| StartError::Unusable(format!("the shipped webhook: {error}")))?;
    if let Some(patience) = options.patience {
        let seconds = i32::try_from(patience.as_secs()).unwrap_or(30).clamp(1, 30);
        for webhook in webhook.webhooks.iter_mut().flatten() {
            webhook.timeout_seconds = Some(seconds);
        }
    }
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    webhooks.create(&post, &webhook).await?;
    Ok(())
}

/// By the cluster's clock, and no less than a busy machine takes.
fn paced_span(clock: Clock, span: SignedDuration, least: Duration) -> String {
    format!("{}ms", span.max(clock.elapsed(least)).as_millis())
}

fn owned<const N: usize>(fields: [(&str, String); N]) -> ConfigFields {
    let fields = fields.into_iter();
    fields
        .map(|(path, value)| (path.to_owned(), value))
        .collect()
}

pub(super) fn paced_fields(clock: Clock, timing: Timing) -> ConfigFields {
    let span = |span, least| paced_span(clock, span, least);
    owned([
        ("scheduling.relaxAfter", span(RELAX_AFTER, LEAST_MAX_AGE)),
        (
            "scheduling.inFlightTimeout",
            span(SignedDuration::ZERO, LEAST_IN_FLIGHT),
        ),
        (
            "scheduling.noticeTimeout",
            span(SignedDuration::from_secs(2), LEAST_NOTICE),
        ),
        ("scaling.maxAge", span(max_age::DEFAULT, LEAST_MAX_AGE)),
        // The cluster has no Pods of other users, so the wide rights for this do no harm.
        ("scaling.replicaProfiles", "\"on\"".to_owned()),
        ("metrics.source", "prometheus".to_owned()),
        ("metrics.interval", span(timing.interval, Duration::ZERO)),
        ("metrics.maxAge", span(max_age::DEFAULT, LEAST_MAX_AGE)),
        ("metrics.timeout", "1s".to_owned()),
        ("tuning.resize", "true".to_owned()),
        (
            "wake.minInterval",
            span(SignedDuration::from_secs(2), LEAST),
        ),
    ])
}

pub(super) fn own_fields(
    clock: Clock,
    timing: Timing,
    addresses: LoopbackAddresses,
    prometheus: SocketAddr,
) -> ConfigFields {
    let window = paced_span(clock, timing.window, Duration::ZERO);
    let mut fields = owned([
        ("server.https", addresses.https.to_string()),
        ("server.http", addresses.http.to_string()),
        ("server.dashboard", addresses.dashboard.to_string()),
        ("server.metrics", addresses.metrics.to_string()),
        // On loopback, and without an API server that judges tokens.
        ("server.metricsAuthentication", "none".to_owned()),
        (
            "certificates.selfManaged.ipAddresses",
            "[127.0.0.1]".to_owned(),
        ),
        ("metrics.prometheus.url", format!("http://{prometheus}")),
        ("metrics.prometheus.window", window),
        ("metrics.prometheus.nodeLabel", "node".to_owned()),
    ]);
    let named = Resource::ALL
        .into_iter()
        .flat_map(|resource| [NODE_METRICS[resource], POD_METRICS[resource]]);
    let without_series = [NETWORK_CAPACITY, IO_PRESSURE];
    fields.extend(named.chain(without_series).map(|(field, metric)| {
        let path = format!("metrics.prometheus.queries.{field}");
        (path, metric.to_owned())
    }));
    fields
}

async fn further(client: &Client, objects: &[DynamicObject]) -> Result<(), StartError> {
    for object in objects {
        let types = object.types.as_ref();
        let kind = types.and_then(|types| GroupVersionKind::try_from(types).ok());
        let kind = kind.expect("a scenario's objects have a kind");
        let refused = |source| StartError::Object {
            object: format!("{} {}", kind.kind, object.name_any()),
            source,
        };
        let (resource, capabilities) = pinned_kind(client, &kind).await.map_err(refused)?;
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
                Api::namespaced_with(client.clone(), &namespace, &resource)
            }
        };
        let created = api.create(&PostParams::default(), object).await;
        created.map_err(refused)?;
    }
    Ok(())
}

/// Creates each workload when it arrives, and changes the counts of those that nothing scales.
pub(super) async fn workloads(
    client: Client,
    scenario: Scenario,
    machines: Machines,
    timeline: Timeline,
) {
    let mut steps: Vec<(SignedDuration, &ScenarioWorkload, Option<u32>)> = Vec::new();
    for workload in &scenario.workloads {
        steps.push((workload.arrival, workload, None));
        let changes = workload.changes.iter();
        steps.extend(changes.map(|(at, count)| (*at, workload, Some(*count))));
    }
    steps.sort_by_key(|(at, _, _)| *at);
    for (at, workload, change) in steps {
        timeline.wait_until(at).await;
        let ScenarioWorkload {
            namespace, name, ..
        } = workload;
        machines.want(namespace, name, change.unwrap_or(workload.replicas), at);
        let take = async || match change {
            None => create(&client, workload).await,
            Some(count) => set_count(&client, workload, count).await,
        };
        // A restart of the API server may fall on the moment.
        while let Err(error) = take().await {
            warn!(%error, workload = workload.name, "a workload could not be created or scaled");
            tokio::time::sleep(LEAST).await;
        }
    }
}

async fn set_count(client: &Client, workload: &ScenarioWorkload, count: u32) -> kube::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &workload.namespace);
    let count = Patch::Merge(json!({"spec": {"replicas": count}}));
    let scaled = deployments
        .patch(&workload.name, &PatchParams::default(), &count)
        .await;
    match scaled {
        // A user of the run deleted it.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        scaled => scaled.map(|_| ()),
    }
}

async fn create(client: &Client, workload: &ScenarioWorkload) -> kube::Result<()> {
    let post = PostParams::default();
    let exists =
        |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 409);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &workload.namespace);
    let made = deployments
        .create(&post, &opt_in_annotations::deployment(workload))
        .await;
    if let Err(error) = made
        && !exists(&error)
    {
        return Err(error);
    }
    if let Some(scale) = &workload.scale {
        let autoscalers: Api<HorizontalPodAutoscaler> =
            Api::namespaced(client.clone(), &workload.namespace);
        let made = autoscalers
            .create(&post, &objects::autoscaler(workload, scale))
            .await;
        if let Err(error) = made
            && !exists(&error)
        {
            return Err(error);
        }
    }
    Ok(())
}
