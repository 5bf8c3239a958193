//! The watches that scaling reads, on a running API server: the embedded one of `evenkeel dev`
//! always, and a real one where `KUBEBUILDER_ASSETS` is set.

use std::time::Duration;

use evenkeel_metrics::signal::ResourceName;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_placement::node_table;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_service::cluster::watch::{OptionalWatches, Watches};
use evenkeel_service::cluster::{ClusterMetrics, ClusterState, Settings};
use evenkeel_service::telemetry;
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::wait::{eventually, holds};
use crate::support::custom_kind::{DEFINITIONS, KEDA, definition};
use crate::support::dev_api::{
    ask, create, deployment, gone, namespace, patch, path, with_embedded, with_real,
};

fn embedded_targets_follow_their_objects() {
    with_embedded(async |client| targets_follow_their_objects(client, false).await);
}

fn real_targets_follow_their_objects() {
    with_real(async |client| targets_follow_their_objects(client, true).await);
}

fn embedded_scaled_objects_come_and_go_with_keda() {
    with_embedded(async |client| scaled_objects_come_and_go_with_keda(client).await);
}

fn real_scaled_objects_come_and_go_with_keda() {
    with_real(async |client| scaled_objects_come_and_go_with_keda(client).await);
}

fn embedded_custom_resources_are_scaled_while_they_have_scale() {
    with_embedded(async |client| custom_resources_are_scaled_while_they_have_scale(client).await);
}

fn real_custom_resources_are_scaled_while_they_have_scale() {
    with_real(async |client| custom_resources_are_scaled_while_they_have_scale(client).await);
}

/// The watches with what they fill, until dropped.
struct Watched {
    state: ClusterState,
    metrics: ClusterMetrics,
    namespace: String,
    _watches: Watches,
}

impl Watched {
    async fn start(client: &Client) -> Self {
        Self::with_kinds(client, &[]).await
    }

    /// The same with custom resources that are scaled.
    async fn with_kinds(client: &Client, kinds: &[(&str, &str)]) -> Self {
        let scaled = |(version, kind): &(&str, &str)| {
            ScaledKind::new(version, kind).expect("a custom resource")
        };
        let namespace = namespace(client).await;
        let state = ClusterState::new(Settings {
            table: node_table::Settings::default(),
            capacities: Capacities::default(),
            caps_as_demand: false,
            expects_metrics: false,
            balances_scale_in: false,
            shape_policy: None,
        });
        let metrics = ClusterMetrics::default();
        let often = Duration::from_millis(200);
        let further = OptionalWatches {
            discovery: often,
            second_scheduler: None,
            kinds: kinds.iter().map(scaled).collect(),
        };
        let at_work = Watches::start(client, &state, &metrics, further);
        let watched = Self {
            state,
            metrics,
            namespace,
            _watches: at_work,
        };
        watched.opt_in(client, "true").await;
        watched
    }

    async fn opt_in(&self, client: &Client, enabled: &str) {
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        let change = json!({"metadata": {"annotations": {"evenkeel.dev/enabled": enabled}}});
        let (status, answer) = patch(client, &path, "merge", &change).await;
        assert_eq!(status, 200, "{answer}");
    }

    fn targets(&self) -> Vec<TargetObjects> {
        let mut targets = self.state.scaling_view().targets;
        targets.retain(|target| *target.namespace == *self.namespace);
        targets
    }

    /// Waits until the namespace's only target is so.
    async fn one(&self, what: &str, is: impl Fn(&TargetObjects) -> bool) {
        eventually(what, async || {
            let targets = self.targets();
            let fits = matches!(targets.as_slice(), [one] if is(one));
            holds(fits, || format!("{targets:#?}"))
        })
        .await;
    }

    async fn synced(&self) {
        eventually("everything is listed", async || {
            holds(self.state.scaling_view().synced, || "not yet".to_owned())
        })
        .await;
    }

    fn page(&self) -> String {
        let mut registry = telemetry::registry();
        self.metrics.register(&mut registry);
        telemetry::encode(&registry).expect("the metrics can be shown")
    }

    /// Waits until the metrics say how the cluster serves a kind.
    async fn kind(&self, kind: &str, state: &str) {
        let line = format!("evenkeel_scaling_kinds{{kind=\"{kind}\",state=\"{state}\"}} 1\n");
        eventually(&format!("{kind} is {state}"), async || {
            let page = self.page();
            holds(page.contains(&line), || page.clone())
        })
        .await;
    }

    /// Interruptions of the watch of a kind.
    fn errors(&self, kind: &str) -> usize {
        let page = self.page();
        let wanted = format!("kind=\"{kind}\",outcome=\"error\"");
        page.lines().filter(|line| line.contains(&wanted)).count()
    }
}

async fn change(client: &Client, path: &str, change: &Value) {
    let (status, answer) = patch(client, path, "merge", change).await;
    assert_eq!(status, 200, "{path}: {answer}");
}

fn hpa(annotations: &Value) -> Value {
    json!({
        "metadata": {"name": "web", "annotations": annotations},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 9,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 60}}}],
            "behavior": {"scaleUp": {
                "policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]}},
        },
    })
}

/// An object of `apps/v1` or a Pod that is controlled by `owner`.
fn owned(mut object: Value, owner: &Value, kind: &str) -> Value {
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": kind, "controller": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]);
    object
}

/// A Deployment of one Pod.
fn web() -> Value {
    let mut web = deployment("web");
    web["spec"]["replicas"] = json!(1);
    web["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "250m"}});
    web
}

/// The objects that the controllers of a Deployment would make of it.
async fn roll_out(client: &Client, namespace: &str, web: &Value) {
    let mut set = owned(self::web(), web, "Deployment");
    set["metadata"]["name"] = json!("web-1");
    let set = create(client, &path(namespace, "apps/v1/replicasets"), &set).await;
    let mut pod = set["spec"]["template"].clone();
    pod["metadata"]["name"] = json!("web-1-a");
    let pod = owned(pod, &set, "ReplicaSet");
    create(client, &path(namespace, "v1/pods"), &pod).await;
}

/// `controllers` is whether the cluster runs those of Deployments and ReplicaSets.
async fn targets_follow_their_objects(client: &Client, controllers: bool) {
    let watched = Watched::start(client).await;
    watched.synced().await;
    let at = |resource: &str| path(&watched.namespace, resource);
    create(
        client,
        &at("autoscaling/v2/horizontalpodautoscalers"),
        &hpa(&json!({})),
    )
    .await;
    watched.one("the HPA", |one| one.autoscaler.is_some()).await;
    let web = create(client, &at("apps/v1/deployments"), &web()).await;
    watched
        .one("the Deployment", |one| one.workload.is_some())
        .await;
    if !controllers {
        roll_out(client, &watched.namespace, &web).await;
    }
    watched
        .one("the Pod of the ReplicaSet", |one| {
            let request = one
                .pods
                .members
                .first()
                .map(|pod| pod.spec.containers[0].requests.get(&ResourceName::Cpu));
            request == Some(Some(250))
        })
        .await;
    let one = watched.targets().remove(0);
    let spec = &one.autoscaler.as_ref().expect("the HPA").spec;
    assert_eq!((spec.min_replicas, spec.max_replicas), (Some(2), 9));
    let metrics = &spec.metrics;
    assert_eq!((metrics.observed().count(), metrics.others()), (1, 0));
    let behavior = spec.behavior.as_ref().expect("its behavior");
    assert_eq!(behavior.scale_up.policies.len(), 1);
    follow_changes(client, &watched).await;
}

/// Changes the objects of a target one by one, and follows the target.
async fn follow_changes(client: &Client, watched: &Watched) {
    let at = |resource: &str| path(&watched.namespace, resource);
    let hpa = format!("{}/web", at("autoscaling/v2/horizontalpodautoscalers"));
    let other = json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "db"}}});
    change(client, &hpa, &other).await;
    watched
        .one("no Pod of another workload", |one| {
            one.target.kind() == "StatefulSet" && one.pods.members.is_empty()
        })
        .await;
    watched.opt_in(client, "false").await;
    let none = async || holds(watched.targets().is_empty(), || "a target".to_owned());
    eventually("no target where nobody has opted in", none).await;
    let ours = json!({"metadata": {"annotations": {"evenkeel.dev/scaling-status": "{}"}}});
    change(client, &hpa, &ours).await;
    watched
        .one("a target that carries what was written", |one| {
            !one.namespace_policy.enabled
        })
        .await;
    ask(client, "DELETE", &hpa, &Value::Null).await;
    eventually("no target without its HPA", none).await;
    let deployment = format!("{}/web", at("apps/v1/deployments"));
    let asks = json!({"metadata": {"annotations": {"evenkeel.dev/predict": "auto"}}});
    change(client, &deployment, &asks).await;
    watched.opt_in(client, "true").await;
    watched
        .one("the Deployment by itself", |one| {
            one.autoscaler.is_none() && one.pods.members.len() == 1
        })
        .await;
}

async fn scaled_objects_come_and_go_with_keda(client: &Client) {
    let watched = Watched::start(client).await;
    watched.synced().await;
    assert_eq!(
        watched.errors("scaledobject"),
        0,
        "a cluster without KEDA is none"
    );
    create(client, DEFINITIONS, &definition(KEDA, "Namespaced")).await;
    let objects = path(&watched.namespace, "keda.sh/v1alpha1/scaledobjects");
    let object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "annotations": {"evenkeel.dev/bounds": "{}"}},
        "spec": {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 3},
    });
    eventually("the resource to be served", async || {
        let (status, answer) = ask(client, "POST", &objects, &object).await;
        holds(status == 201, || answer.to_string())
    })
    .await;
    watched
        .one("the ScaledObject", |one| {
            let object = one.scaled_object.as_ref();
            object.is_some_and(|object| object.spec.min_replica_count == Some(3))
        })
        .await;
    watched.synced().await;
    let definition = format!("{DEFINITIONS}/scaledobjects.keda.sh");
    ask(client, "DELETE", &definition, &Value::Null).await;
    gone(client, &definition).await;
    eventually("no ScaledObject without KEDA", async || {
        holds(watched.targets().is_empty(), || "one".to_owned())
    })
    .await;
    watched.synced().await;
}

/// A definition of a kind of its own group, with those subresources.
fn custom((group, kind, plural): (&str, &str, &str), scope: &str, subresources: &Value) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"metadata": {"name": format!("{plural}.{group}")}, "spec": {
        "group": group, "scope": scope,
        "names": {"kind": kind, "plural": plural},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}, "subresources": subresources}],
    }})
}

/// The subresources of a kind with its count at a path.
fn scale(path: &str) -> Value {
    json!({"status": {}, "scale": {"specReplicasPath": path,
        "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}})
}

fn has(count: i32) -> impl Fn(&TargetObjects) -> bool {
    move |one| {
        let workload = one.workload.as_ref();
        workload.is_some_and(|workload| workload.replicas == count)
    }
}

async fn custom_resources_are_scaled_while_they_have_scale(client: &Client) {
    let (fleet, reef) = ("scaling-fleet.test.dev", "scaling-reef.test.dev");
    let kinds = [
        (&*format!("{fleet}/v1"), "Ship"),
        (&*format!("{fleet}/v1"), "Hulk"),
        (&*format!("{reef}/v1"), "Rock"),
    ];
    let hulk = custom(
        (fleet, "Hulk", "hulks"),
        "Namespaced",
        &json!({"status": {}}),
    );
    let rock = custom((reef, "Rock", "rocks"), "Cluster", &scale(".spec.replicas"));
    for definition in [&hulk, &rock] {
        create(client, DEFINITIONS, definition).await;
    }
    let watched = Watched::with_kinds(client, &kinds).await;
    watched.kind(&format!("hulk.{fleet}"), "unscalable").await;
    watched.kind(&format!("rock.{reef}"), "unscalable").await;
    watched.kind(&format!("ship.{fleet}"), "absent").await;
    watched.synced().await;

    let ships = custom(
        (fleet, "Ship", "ships"),
        "Namespaced",
        &scale(".spec.replicas"),
    );
    create(client, DEFINITIONS, &ships).await;
    watched.kind(&format!("ship.{fleet}"), "served").await;
    let path = path(&watched.namespace, &format!("{fleet}/v1/ships"));
    let ship = json!({"apiVersion": format!("{fleet}/v1"), "kind": "Ship",
        "metadata": {"name": "web", "annotations": {"evenkeel.dev/scaling": "direct"}},
        "spec": {"replicas": 3, "crew": 8}});
    create(client, &path, &ship).await;
    watched.one("the ship", has(3)).await;
    let counted = json!({"spec": {"replicas": 5}});
    change(client, &format!("{path}/web/scale"), &counted).await;
    watched.one("its new count", has(5)).await;

    follow_definition(client, &watched, &format!("{DEFINITIONS}/ships.{fleet}")).await;
    for name in [format!("hulks.{fleet}"), format!("rocks.{reef}")] {
        ask(
            client,
            "DELETE",
            &format!("{DEFINITIONS}/{name}"),
            &Value::Null,
        )
        .await;
    }
}

/// For a ship with a crew of 8, moves the path of its count to the crew, and then deletes its definition.
async fn follow_definition(client: &Client, watched: &Watched, definition: &str) {
    let (_, found) = ask(client, "GET", definition, &Value::Null).await;
    let mut other = found["spec"]["versions"].clone();
    other[0]["subresources"] = scale(".spec.crew");
    change(client, definition, &json!({"spec": {"versions": other}})).await;
    watched.one("the count where it stands now", has(8)).await;
    ask(client, "DELETE", definition, &Value::Null).await;
    gone(client, definition).await;
    eventually("no ships without their definition", async || {
        holds(watched.targets().is_empty(), || "one".to_owned())
    })
    .await;
    watched.synced().await;
}

crate::support::trial::suite!(
    [] => [
        embedded_targets_follow_their_objects,
        embedded_scaled_objects_come_and_go_with_keda,
        embedded_custom_resources_are_scaled_while_they_have_scale,
    ],
    crate::scenarios::world::NEEDS => [
        real_targets_follow_their_objects,
        real_scaled_objects_come_and_go_with_keda,
        real_custom_resources_are_scaled_while_they_have_scale,
    ],
);
