//! An HPA by custom and external metrics on a real control plane: Evenkeel, with the rights of its
//! ServiceAccount, asks the adapter for what kube-controller-manager asks, and reads the same loads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use evenkeel_clock as clock;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get as read};

use super::resource_metrics::{aggregate, serve};
use super::world::{self, OPTED_IN, Patience, World};

const NAMESPACE: &str = "orders";
const HPA: &str = "/apis/autoscaling/v2/namespaces/orders/horizontalpodautoscalers/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/orders/deployments/web";

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1";

/// A request: the path, and its query without its encoding.
type Question = (String, BTreeMap<String, String>);

/// The questions of each user, as the API server names them.
type Asked = Arc<Mutex<BTreeMap<String, BTreeSet<Question>>>>;

/// An adapter that answers every question, and remembers the callers.
struct Adapter {
    asked: Asked,
    server: JoinHandle<()>,
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Adapter {
    async fn start(client: &Client) -> Self {
        let asked = Asked::default();
        let router = Router::new()
            .route(CUSTOM, get(custom_resources))
            .route(EXTERNAL, get(external_resources))
            .fallback(answer)
            .with_state((client.clone(), Arc::clone(&asked)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let server = tokio::spawn(serve(listener, router));
        for (group, version, probe) in [
            ("custom.metrics.k8s.io", "v1beta2", CUSTOM),
            ("external.metrics.k8s.io", "v1beta1", EXTERNAL),
        ] {
            aggregate(client, (group, version), port, probe).await;
        }
        Self { asked, server }
    }

    /// The values that users with this ending of their name have asked for.
    fn of(&self, user: &str) -> BTreeSet<Question> {
        let asked = self.asked.lock().expect("no panic");
        let ours = asked.iter().filter(|(name, _)| name.ends_with(user));
        ours.flat_map(|(_, questions)| questions.clone()).collect()
    }
}

async fn custom_resources() -> axum::Json<Value> {
    let resource = |name: &str| {
        json!({"name": name, "singularName": "", "namespaced": true,
            "kind": "MetricValueList", "verbs": ["get"]})
    };
    axum::Json(json!({"kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": "custom.metrics.k8s.io/v1beta2",
        "resources": [resource("pods/rps"), resource("ingresses.networking.k8s.io/latency")]}))
}

async fn external_resources() -> axum::Json<Value> {
    axum::Json(json!({"kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": "external.metrics.k8s.io/v1beta1",
        "resources": [{"name": "queuelength", "singularName": "", "namespaced": true,
            "kind": "ExternalMetricValueList", "verbs": ["get"]}]}))
}

fn remember(asked: &Asked, user: &str, question: Question) {
    let mut asked = asked.lock().expect("no panic");
    asked.entry(user.to_owned()).or_default().insert(question);
}

/// 30 requests a second of each Pod, a latency of 100 ms, and a queue of 70 in two series.
async fn answer(
    State((client, asked)): State<(Client, Asked)>,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let path = uri.path().to_owned();
    let is_metric =
        path.starts_with(&format!("{CUSTOM}/")) || path.starts_with(&format!("{EXTERNAL}/"));
    if !is_metric {
        return StatusCode::NOT_FOUND.into_response();
    }
    let user = headers.get("x-remote-user");
    let user = user.and_then(|user| user.to_str().ok()).unwrap_or("nobody");
    remember(&asked, user, (path.clone(), query));
    let now = clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let items = if path.starts_with(EXTERNAL) {
        ["60", "10"]
            .map(|value| {
                json!({"metricName": "queuelength", "metricLabels": {}, "timestamp": now,
                    "value": value})
            })
            .to_vec()
    } else {
        let described = |kind: &str, name: &str, value: &str| {
            json!({"describedObject": {"kind": kind, "namespace": NAMESPACE, "name": name},
                "metric": {"name": "rps", "selector": null}, "timestamp": now, "value": value})
        };
        if path.contains("/pods/") {
            let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
            let found = pods.list(&ListParams::default()).await;
            let pods = found.into_iter().flatten();
            pods.map(|pod| described("Pod", &pod.name_any(), "30"))
                .collect()
        } else {
            vec![described("Ingress", "web", "100m")]
        }
    };
    let kind = if path.starts_with(EXTERNAL) {
        ("ExternalMetricValueList", "external.metrics.k8s.io/v1beta1")
    } else {
        ("MetricValueList", "custom.metrics.k8s.io/v1beta2")
    };
    let list = json!({"kind": kind.0, "apiVersion": kind.1, "metadata": {}, "items": items});
    axum::Json(list).into_response()
}

async fn workload(client: &Client) {
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
            {"name": "app", "image": "none"}]}}}});
    let deployments = "/apis/apps/v1/namespaces/orders/deployments";
    create(client, deployments, &deployment).await;
    let selector = json!({"matchLabels": {"shop": "web"}, "matchExpressions": [
        {"key": "queue", "operator": "In", "values": ["orders", "mails"]}]});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"});
    let hpa = json!({
        "metadata": {"name": "web", "annotations": {"evenkeel.dev/scaling": "floor"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 9,
            "metrics": [
                {"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {
                    "matchLabels": {"code": "200"}}},
                    "target": {"type": "AverageValue", "averageValue": "30"}}},
                {"type": "Object", "object": {"describedObject": ingress,
                    "metric": {"name": "latency"}, "target": {"type": "Value", "value": "100m"}}},
                {"type": "External", "external": {"metric": {"name": "QueueLength",
                    "selector": selector}, "target": {"type": "AverageValue", "averageValue": "35"}}},
            ],
        },
    });
    let hpas = "/apis/autoscaling/v2/namespaces/orders/horizontalpodautoscalers";
    create(client, hpas, &hpa).await;
}

fn evenkeel_asks_for_what_kube_controller_manager_asks_and_reads_the_same() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "adapted", 1, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        let adapter = Adapter::start(client).await;
        workload(client).await;
        objects::await_running(client, NAMESPACE).await;
        let evenkeel = world.serve("1s").await;
        for (resource, load) in [
            ("pods/rps{code=200}", 60.0),
            ("object/Ingress/web/latency", 0.2),
            (
                "external/QueueLength{queue in (mails,orders),shop=web}",
                70.0,
            ),
        ] {
            eventually(&format!("the load {resource}"), async || {
                let labels = [("name", "web"), ("resource", resource)];
                let found = evenkeel
                    .metric("evenkeel_scaling_target_load", &labels)
                    .await;
                holds((found - load).abs() < 1e-6, || found.to_string())
            })
            .await;
        }
        eventually("kube-controller-manager scales by all three", async || {
            let status = read(client, HPA).await["status"].clone();
            let current = status["currentMetrics"].as_array().map_or(0, Vec::len);
            let all = current == 3 && status["currentMetrics"][2]["type"] == "External";
            holds(all && status["desiredReplicas"] == 2, || status.to_string())
        })
        .await;
        let ours = adapter.of(":evenkeel");
        let theirs = adapter.of("horizontal-pod-autoscaler");
        assert_eq!(ours.len(), 3, "{ours:#?}");
        assert_eq!(ours, theirs);
        evenkeel.assert_within_rights();
        for path in [HPA, DEPLOYMENT] {
            let background = json!({"propagationPolicy": "Background"});
            ask(client, "DELETE", path, &background).await;
        }
        for group in [
            "v1beta2.custom.metrics.k8s.io",
            "v1beta1.external.metrics.k8s.io",
        ] {
            let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{group}");
            ask(client, "DELETE", &path, &Value::Null).await;
        }
    });
}

crate::support::trial::suite!(super::world::NEEDS => [
    evenkeel_asks_for_what_kube_controller_manager_asks_and_reads_the_same,
]);
