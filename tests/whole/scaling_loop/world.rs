//! One Deployment with an HPA on an embedded API server, a Prometheus that a test controls, what
//! kube-controller-manager would do about them, and the service, all in a time that runs faster.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{ApiServer, Settings};
use evenkeel_clock::{self as clock, Clock};
use evenkeel_lab::dev::cluster::ServiceWiring;
use evenkeel_lab::dev::embedded_service;
use evenkeel_service::dashboard::ReplayBoard;

use axum::http::Request;
use bytes::Bytes;
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::controllers::Controllers;
use crate::support::control_plane::page;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, get, patch, with_settings};
use crate::support::load::{NODE, Prometheus};

/// How fast time runs: a tick of the loop takes three quarters of a second.
pub(crate) const SPEED: f64 = 20.0;

/// The namespace of the target.
pub(crate) const SHOP: &str = "shop";
/// The path of its HPA.
pub(crate) const HPA: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
/// The path of its Deployment.
pub(crate) const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/shop/deployments/web";
/// The user's least.
pub(crate) const MIN: i64 = 2;
/// The user's most.
pub(crate) const MAX: i64 = 20;
/// The target of the HPA, as a share of the one core that each Pod requests.
pub(crate) const TARGET: f64 = 0.8;

/// The annotation that says how decisions act.
pub(crate) const MODE: &str = "evenkeel.dev/scaling";
/// The record of the bounds.
pub(crate) const BOUNDS: &str = "evenkeel.dev/bounds";
/// The annotation with the status of the target.
pub(crate) const STATUS: &str = "evenkeel.dev/scaling-status";

/// The world of one test.
pub(crate) struct World<'a> {
    pub server: &'a ApiServer,
    pub client: &'a Client,
    pub prometheus: Prometheus,
    pub clock: Clock,
    folder: TempDir,
    addresses: [SocketAddr; 4],
}

/// A running service; it ends with it.
pub(crate) struct Service {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

/// Runs a test in a world of its own, in which nothing runs yet.
pub(crate) fn with_world(test: impl AsyncFnOnce(&World<'_>)) {
    let origin = clock::now();
    let clock = Clock::accelerated(SPEED, origin, origin);
    with_world_on(crate::support::dev_api::settings(), clock, test);
}

/// The same on an API server that is set up in another way, by another clock.
pub(crate) fn with_world_on(settings: Settings, clock: Clock, test: impl AsyncFnOnce(&World<'_>)) {
    let settings = Settings {
        clock: Arc::new(move || clock.now()),
        ..settings
    };
    with_settings(settings, async |server, client| {
        let origin = clock.now();
        let load = move |at: Timestamp| ramp(at.duration_since(origin));
        let world = World {
            server,
            client,
            prometheus: Prometheus::start((SHOP, "Deployment/web"), clock, load).await,
            clock,
            folder: tempfile::tempdir().expect("a folder"),
            addresses: addresses(),
        };
        world.create().await;
        test(&world).await;
    });
}

/// The cores that are used so long after the beginning: a flat past, and a ramp that begins ten
/// minutes before, with a little noise as every load has.
pub(crate) fn ramp(since: SignedDuration) -> f64 {
    let seconds = since.as_secs_f64();
    let noise = 0.02 * (seconds / 7.0).sin();
    1.0 + noise + 0.005 * (seconds + 600.0).max(0.0)
}

fn addresses() -> [SocketAddr; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("it is bound"))
}

impl World<'_> {
    async fn create(&self) {
        let namespaces = "/api/v1/namespaces";
        for (name, annotations) in [
            ("evenkeel-system", json!({})),
            (SHOP, json!({"evenkeel.dev/enabled": "true"})),
        ] {
            let namespace = json!({"metadata": {"name": name, "annotations": annotations}});
            create(self.client, namespaces, &namespace).await;
        }
        let node = json!({"metadata": {"name": NODE}, "status": {
            "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "500"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
        create(self.client, "/api/v1/nodes", &node).await;
        let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": MIN,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}}});
        create(
            self.client,
            "/apis/apps/v1/namespaces/shop/deployments",
            &deployment,
        )
        .await;
        create(
            self.client,
            "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
            &autoscaler(),
        )
        .await;
    }

    /// Says how decisions on the HPA act.
    pub(crate) async fn set_mode(&self, mode: &str) {
        self.annotate(HPA, json!({MODE: mode})).await;
    }

    /// Changes annotations of an object; null removes.
    pub(crate) async fn annotate(&self, path: &str, annotations: Value) {
        self.change(path, &json!({"metadata": {"annotations": annotations}}))
            .await;
    }

    /// Merges a change into an object.
    pub(crate) async fn change(&self, path: &str, change: &Value) {
        let (status, answer) = patch(self.client, path, "merge", change).await;
        assert_eq!(status, 200, "{path}: {answer}");
    }

    /// Starts what kube-controller-manager does; the past of the load is what it has seen by then.
    pub(crate) async fn controllers(&self) -> Controllers<'_> {
        Controllers::start(self).await
    }

    /// Starts the service and waits until it is ready.
    pub(crate) async fn serve(&self, own: &[(&str, &str)]) -> Service {
        let stop = CancellationToken::new();
        let wiring = ServiceWiring {
            kubeconfig: self.kubeconfig(),
            namespace: "evenkeel-system",
            file: None,
            fields: self.fields(own),
            clock: self.clock,
            stop: stop.clone(),
        };
        let running = tokio::spawn(embedded_service::run(wiring, ReplayBoard::default()));
        let running = tokio::spawn(async move {
            if let Err(error) = running.await.expect("no panic") {
                panic!("the service ended: {error:#}");
            }
        });
        let url = format!("http://{}/readyz", self.addresses[1]);
        eventually("the service is ready", async || {
            let status = page::status(&url)
                .await
                .map_err(|error| error.to_string())?;
            holds(status.is_success(), || status.to_string())
        })
        .await;
        Service { stop, running }
    }

    /// A folder of the test's own.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn kubeconfig(&self) -> std::path::PathBuf {
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, self.server.kubeconfig()).expect("the folder is ours");
        path
    }

    fn fields(&self, own: &[(&str, &str)]) -> Vec<(String, String)> {
        let [https, http, dashboard, metrics] = self.addresses.map(|address| address.to_string());
        let fields = [
            ("server.https", &*https),
            ("server.http", &*http),
            ("server.dashboard", &*dashboard),
            ("server.metrics", &*metrics),
            ("certificates.selfManaged.services", "[]"),
            ("certificates.selfManaged.ipAddresses", "[127.0.0.1]"),
            ("metrics.source", "prometheus"),
            ("metrics.interval", "10s"),
            ("metrics.maxAge", "2m"),
            ("metrics.timeout", "1s"),
            ("metrics.prometheus.url", &*self.prometheus.url),
            ("metrics.prometheus.window", "20s"),
            ("metrics.prometheus.nodeLabel", "node"),
            ("metrics.prometheus.queries.podCpu", "pod_cpu"),
            ("metrics.prometheus.queries.podMemory", "pod_memory"),
            ("metrics.prometheus.queries.nodeCpu", "node_cpu"),
            ("metrics.prometheus.queries.nodeMemory", "node_memory"),
            ("scaling.maxAge", "2m"),
        ];
        let all = fields.into_iter().chain(own.iter().copied());
        all.map(|(path, value)| (path.to_owned(), value.to_owned()))
            .collect()
    }

    /// The service's view of its target.
    pub(crate) async fn shown(&self) -> Option<Value> {
        let url = format!(
            "http://{}/api/v1/scaling?namespace={SHOP}",
            self.addresses[2]
        );
        let answer = page::text(&url).await.ok()?;
        let mut all: Value = serde_json::from_str(&answer).ok()?;
        let first = all["targets"].get_mut(0)?;
        Some(first.take())
    }

    /// The recent past that the service shows of its target.
    pub(crate) async fn history(&self) -> Value {
        let query = format!("namespace={SHOP}&name=web&resource=cpu");
        let url = format!(
            "http://{}/api/v1/scaling/history?{query}",
            self.addresses[2]
        );
        let answer = page::text(&url).await.expect("an answer");
        serde_json::from_str(&answer).expect("JSON")
    }

    /// The schedules and portraits that the service shows.
    pub(crate) async fn calendar(&self) -> Value {
        let url = format!("http://{}/api/v1/calendar", self.addresses[2]);
        let answer = page::text(&url).await.expect("an answer");
        serde_json::from_str(&answer).expect("JSON")
    }

    /// Why a Pod would go where.
    pub(crate) async fn explain(&self, pod: &Value) -> Value {
        let url = format!("http://{}/api/v1/explain", self.addresses[2]);
        let request = Request::post(url).body(Full::new(Bytes::from(pod.to_string())));
        let client = evenkeel_http_client::PooledHttpClient::plain();
        let patience = Duration::from_secs(30);
        let answer = client.send(request.expect("a request"), patience).await;
        let text = answer.expect("an answer").text(64 << 20).await;
        serde_json::from_str(&text.expect("a text")).expect("JSON")
    }

    pub(crate) async fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.addresses[2]);
        page::text(&url).await.expect("an answer")
    }

    /// Waits until what the service shows of its target is as wanted.
    pub(crate) async fn until_shown(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || {
            let shown = self.shown().await.ok_or("no target is shown")?;
            holds(wanted(&shown), || shown.to_string()).map(|()| shown)
        })
        .await
    }

    /// The HPA as it is.
    pub(crate) async fn autoscaler(&self) -> Value {
        get(self.client, HPA).await
    }

    /// Waits until the HPA is as wanted.
    pub(crate) async fn until_autoscaler(
        &self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until(HPA, what, wanted).await
    }

    /// Waits until an object is as wanted.
    pub(crate) async fn until(
        &self,
        path: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(what, async || {
            let object = get(self.client, path).await;
            holds(wanted(&object), || {
                format!("{} {}", object["spec"], object["metadata"]["annotations"])
            })
            .map(|()| object)
        })
        .await
    }

    /// The Events of scaling: reason and note.
    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        let path = "/apis/events.k8s.io/v1/namespaces/shop/events";
        let (_, list) = ask(self.client, "GET", path, &Value::Null).await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or("").to_owned();
        items
            .iter()
            .map(|event| (text(event, "reason"), text(event, "note")))
            .collect()
    }

    /// Waits until there is an Event.
    pub(crate) async fn until_event(&self, reason: &str) -> String {
        eventually(&format!("an Event {reason}"), async || {
            let events = self.events().await;
            let found = events.iter().find(|(found, _)| found == reason);
            found
                .map(|(_, note)| note.clone())
                .ok_or_else(|| format!("{events:?}"))
        })
        .await
    }

    /// Lets so much of the world's time pass.
    pub(crate) async fn pass(&self, span: SignedDuration) {
        tokio::time::sleep(self.clock.wait(span)).await;
    }
}

impl Service {
    /// Ends it in good order.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_mins(1), self.running)
            .await
            .expect("it ends")
            .expect("it ends well");
    }
}

/// The target's HPA, in mode floor.
fn autoscaler() -> Value {
    json!({
        "metadata": {"name": "web", "annotations": {MODE: "floor"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": MIN, "maxReplicas": MAX,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}],
            "behavior": {
                "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]},
                "scaleDown": {"stabilizationWindowSeconds": 0},
            },
        },
    })
}

/// A Pod of one container that requests one core.
pub(crate) fn pod_spec() -> Value {
    json!({"containers": [{"name": "app", "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]})
}

/// A number in an object.
pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// The `minReplicas` of an HPA.
pub(crate) fn least(autoscaler: &Value) -> i64 {
    number(autoscaler, "/spec/minReplicas").unwrap_or(1)
}

/// An annotation of an object.
pub(crate) fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["annotations"][key].as_str()
}

/// A condition in the status that is told of a target.
pub(crate) fn condition(object: &Value, kind: &str) -> Option<Value> {
    let status: Value = serde_json::from_str(annotation(object, STATUS)?).ok()?;
    let conditions = status["conditions"].as_array()?.clone();
    conditions
        .into_iter()
        .find(|condition| condition["type"] == kind)
}
