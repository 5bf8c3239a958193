//! What only the embedded server can be asked: its faults, its history, its metrics, its refusals.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{Reading, ResourceMetrics, Settings, Usage};
use evenkeel_clock as clock;
use evenkeel_sandbox::store::Stores;
use evenkeel_sandbox::{Events, Timeline, controllers};
use kube::Client;
use serde_json::{Value, json};

use super::lists;
use crate::support::control_plane::wait::eventually;
use crate::support::dev_api::{
    ask, create, deployment, get, namespace, patch, path, pod, refusal, settings, with_settings,
};

#[test]
fn old_versions_are_gone() {
    let short = Settings {
        history: 3,
        ..settings()
    };
    with_settings(short, async |_, client| {
        let maps = path("default", "v1/configmaps");
        let first = create(client, &maps, &json!({"metadata": {"name": "m0"}})).await;
        for index in 1..6 {
            create(
                client,
                &maps,
                &json!({"metadata": {"name": format!("m{index}")}}),
            )
            .await;
        }
        let version = first["metadata"]["resourceVersion"]
            .as_str()
            .expect("a version");
        let watch = format!("{maps}?watch=true&resourceVersion={version}");
        let (status, reason, message) = refusal(ask(client, "GET", &watch, &Value::Null).await);
        assert_eq!((status, reason.as_str()), (410, "Expired"));
        assert!(message.starts_with("too old resource version"), "{message}");
        let exact = format!("{maps}?resourceVersion={version}&resourceVersionMatch=Exact");
        assert_eq!(ask(client, "GET", &exact, &Value::Null).await.0, 410);
    });
}

#[test]
fn a_restart_cuts_watches_and_keeps_objects() {
    with_settings(settings(), async |server, client| {
        let maps = path("default", "v1/configmaps");
        create(client, &maps, &json!({"metadata": {"name": "kept"}})).await;
        server.control().restart(Duration::from_millis(300));
        eventually("the server to be away", async || {
            let away = tokio::net::TcpStream::connect(server.address())
                .await
                .is_err();
            away.then_some(()).ok_or("it still listens".to_owned())
        })
        .await;
        eventually("the server to be back", async || {
            let found = tokio::net::TcpStream::connect(server.address()).await;
            found.map(drop).map_err(|error| error.to_string())
        })
        .await;
        get(client, &format!("{maps}/kept")).await;
    });
}

struct Fixed;

impl ResourceMetrics for Fixed {
    fn nodes(&self) -> Vec<Reading> {
        Vec::new()
    }

    fn pods(&self) -> Vec<Reading> {
        let usage = Usage {
            name: "app".to_owned(),
            cpu_milli: 250,
            memory_bytes: 64 * 1024 * 1024,
        };
        vec![Reading {
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            timestamp: clock::now(),
            window: Duration::from_secs(15),
            usage: vec![usage],
        }]
    }
}

#[test]
fn metrics_come_from_the_provider() {
    let measured = Settings {
        metrics: Some(Arc::new(Fixed)),
        ..settings()
    };
    with_settings(measured, async |_, client| {
        create(client, &path("default", "v1/pods"), &pod("a")).await;
        let found = get(
            client,
            "/apis/metrics.k8s.io/v1beta1/pods?labelSelector=app%3Da",
        )
        .await;
        let container = &found["items"][0]["containers"][0];
        assert_eq!(
            container["usage"],
            json!({"cpu": "250m", "memory": "65536Ki"})
        );
        let none = get(
            client,
            "/apis/metrics.k8s.io/v1beta1/pods?labelSelector=app%3Db",
        )
        .await;
        assert_eq!(none["items"], json!([]));
        let (status, ..) = refusal(
            ask(
                client,
                "GET",
                "/apis/metrics.k8s.io/v1beta1/nodes/n",
                &Value::Null,
            )
            .await,
        );
        assert_eq!(status, 404);
    });
}

#[test]
fn what_it_cannot_do_it_says() {
    with_settings(settings(), async |_, client| {
        let namespace = namespace(client).await;
        let pods = path(&namespace, "v1/pods");
        create(client, &pods, &pod("a")).await;
        let log = format!("{pods}/a/log");
        let (status, reason, message) = refusal(ask(client, "GET", &log, &Value::Null).await);
        assert_eq!((status, reason.as_str()), (501, "NotImplemented"));
        assert!(message.contains("log"), "{message}");
        create(
            client,
            &path(&namespace, "apps/v1/deployments"),
            &deployment("a"),
        )
        .await;
    });
}

/// A real server needs a newer etcd for this than the tests have.
#[test]
fn lists_can_be_streamed() {
    with_settings(settings(), async |_, client| {
        lists::follow(client, true).await;
    });
}

#[test]
fn tokens_can_be_asked_for() {
    let closed = Settings {
        require_token: true,
        tls: false,
        ..settings()
    };
    with_settings(closed, async |server, client| {
        get(client, "/api/v1/namespaces/default").await;
        let bare = reqwest::get(format!("{}/api/v1/namespaces", server.url())).await;
        assert_eq!(bare.expect("an answer").status(), 401);
    });
}

/// A condition in CEL that nobody evaluates would be a webhook that is called at the wrong times.
#[test]
fn match_conditions_are_refused() {
    with_settings(settings(), async |_, client| {
        let configuration = json!({"metadata": {"name": "conditional"}, "webhooks": [{
            "name": "a.test.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "matchConditions": [{"name": "never", "expression": "false"}],
        }]});
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
        let (status, _, message) = refusal(ask(client, "POST", path, &configuration).await);
        assert_eq!(status, 422);
        let words = "webhooks[0].matchConditions: Forbidden: the development API server does not \
                     evaluate CEL";
        assert!(message.contains(words), "{message}");
    });
}

/// Everybody may do everything, and is told so whoever asks about whom.
#[test]
fn questions_about_rights_are_answered() {
    with_settings(settings(), async |_, client| {
        let about = json!({"verb": "delete", "resource": "nodes"});
        for (kind, spec) in [
            (
                "selfsubjectaccessreviews",
                json!({"resourceAttributes": about}),
            ),
            (
                "subjectaccessreviews",
                json!({"user": "eve", "resourceAttributes": about}),
            ),
        ] {
            let path = format!("/apis/authorization.k8s.io/v1/{kind}");
            let answer = create(client, &path, &json!({"spec": spec})).await;
            assert_eq!(answer["status"]["allowed"], true);
            let reason = answer["status"]["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("authorises nobody"), "{reason}");
        }
    });
}

/// A real server passes nothing on to loopback, where tests listen.
#[test]
fn calls_are_passed_on_to_services() {
    with_settings(settings(), async |_, client| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let echo = axum::Router::new().fallback(async |uri: axum::http::Uri| uri.to_string());
        tokio::spawn(async move { axum::serve(listener, echo).await });
        let namespace = namespace(client).await;
        let service = json!({"metadata": {"name": "echo"},
            "spec": {"ports": [{"name": "web", "port": 80}]}});
        create(client, &path(&namespace, "v1/services"), &service).await;
        let url = format!("/api/v1/namespaces/{namespace}/services/echo:web/proxy/a/b?c=d");
        let asked = || {
            axum::http::Request::get(&url)
                .body(Vec::new())
                .expect("a request")
        };
        let away = client
            .request_text(asked())
            .await
            .expect_err("nobody is there");
        assert!(
            away.to_string()
                .contains("no endpoints available for service"),
            "{away}"
        );
        let slice = json!({
            "metadata": {"name": "echo-1", "labels": {"kubernetes.io/service-name": "echo"}},
            "addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}],
            "ports": [{"name": "web", "port": port}],
        });
        let slices = path(&namespace, "discovery.k8s.io/v1/endpointslices");
        create(client, &slices, &slice).await;
        let answer = client.request_text(asked()).await.expect("an answer");
        assert_eq!(answer, "/a/b?c=d");
    });
}

/// What is accepted and not evaluated is said to whoever defines it.
#[test]
fn rules_in_cel_are_warned_of() {
    with_settings(settings(), async |_, client| {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-validations": [{"rule": "self.a > 1"}],
            "properties": {"a": {"type": "integer"}, "b": {"type": "string", "format": "uri"}}}}});
        let definition = json!({"metadata": {"name": "rafts.test.dev"}, "spec": {
            "group": "test.dev", "scope": "Cluster",
            "names": {"kind": "Raft", "plural": "rafts"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}]}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let request = axum::http::Request::post(path)
            .header("content-type", "application/json")
            .body(kube::client::Body::from(
                definition.to_string().into_bytes(),
            ))
            .expect("a request");
        let answer = client.send(request).await.expect("an answer");
        assert_eq!(answer.status(), 201);
        let warning = answer.headers().get("warning").expect("a warning");
        let words = "does not evaluate format uri and x-kubernetes-validations of the schema";
        let warning = warning.to_str().expect("text");
        assert!(warning.contains(words), "{warning}");
    });
}

/// A node whose Lease was last renewed long ago, with a Pod that tolerates nothing for long.
async fn silent_node(client: &Client) -> String {
    let node = json!({"metadata": {"name": "silent"}, "status": {"conditions": [
        {"type": "Ready", "status": "True"}]}});
    create(client, "/api/v1/nodes", &node).await;
    let lease = json!({"metadata": {"name": "silent"}, "spec": {"holderIdentity": "silent",
        "leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"}});
    let leases = path("kube-node-lease", "coordination.k8s.io/v1/leases");
    create(client, &leases, &lease).await;
    let pods = path("default", "v1/pods");
    let mut given = pod("there");
    given["spec"]["nodeName"] = "silent".into();
    given["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/unreachable",
        "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]);
    create(client, &pods, &given).await;
    format!("{leases}/silent")
}

/// Whether the node answers, as the node controller has it.
fn is_marked(node: &Value) -> bool {
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let unreachable = |taint: &Value| taint["key"] == "node.kubernetes.io/unreachable";
    node["status"]["conditions"][0]["status"] == "Unknown" && taints.iter().any(unreachable)
}

#[test]
fn silent_nodes_are_marked_and_left_until_they_answer() {
    with_settings(settings(), async |_, client| {
        let lease = silent_node(client).await;
        let mut tasks = tokio::task::JoinSet::new();
        let stores = Stores::start(client, &mut tasks);
        let timeline = Timeline::new(clock::Clock::real());
        timeline.begin();
        controllers::start(client, &stores, &timeline, &Events::default(), &mut tasks);
        let node = async || get(client, "/api/v1/nodes/silent").await;
        eventually("the node to be marked", async || {
            let node = node().await;
            is_marked(&node).then_some(()).ok_or(node.to_string())
        })
        .await;
        let there = format!("{}/there", path("default", "v1/pods"));
        eventually("the Pod to be evicted", async || {
            let pod = get(client, &there).await;
            let going = pod["metadata"]["deletionTimestamp"].is_string();
            going.then_some(()).ok_or(pod.to_string())
        })
        .await;
        let events = path("default", "v1/events");
        eventually("the Event", async || {
            let told = get(
                client,
                &format!("{events}?fieldSelector=reason=NodeNotReady"),
            )
            .await;
            let some = told["items"]
                .as_array()
                .is_some_and(|items| !items.is_empty());
            some.then_some(()).ok_or(told.to_string())
        })
        .await;
        let now = clock::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let renewed = json!({"spec": {"renewTime": now}});
        assert_eq!(patch(client, &lease, "merge", &renewed).await.0, 200);
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let status = "/api/v1/nodes/silent/status";
        assert_eq!(
            patch(client, status, "strategic-merge", &ready).await.0,
            200
        );
        eventually("the taint to go", async || {
            let node = node().await;
            let taints = node["spec"]["taints"].to_string();
            let gone = !taints.contains("unreachable");
            gone.then_some(()).ok_or(taints)
        })
        .await;
        tasks.shutdown().await;
    });
}
