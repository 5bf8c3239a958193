//! Behaviour of the server in memory only: faults, history, metrics, refusals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{
    CpuMemoryUsage, CustomMetrics, DescribedObject, MetricReading, ResourceMetrics, Settings,
    UsageMeasurement,
};
use http_body_util::Full;
use hyper::{Request, Response};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::cases::lists;
use crate::support::client::{
    ask, create, deployment, get, namespace, path, pod, refusal, settings, with_settings,
};
use crate::support::control_plane::wait::eventually;
use crate::support::http;

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

fn a_restart_cuts_watches_and_keeps_objects() {
    with_settings(settings(), async |server, client| {
        let maps = path("default", "v1/configmaps");
        create(client, &maps, &json!({"metadata": {"name": "kept"}})).await;
        server.control().restart(Duration::from_millis(300));
        eventually("the server to be away", async || {
            let away = TcpStream::connect(server.address()).await.is_err();
            away.then_some(()).ok_or("it still listens".to_owned())
        })
        .await;
        eventually("the server to be back", async || {
            let found = TcpStream::connect(server.address()).await;
            found.map(drop).map_err(|error| error.to_string())
        })
        .await;
        get(client, &format!("{maps}/kept")).await;
    });
}

struct Fixed;

impl ResourceMetrics for Fixed {
    fn nodes(&self) -> Vec<UsageMeasurement> {
        Vec::new()
    }

    fn pods(&self) -> Vec<UsageMeasurement> {
        let usage = CpuMemoryUsage {
            name: "app".to_owned(),
            cpu_milli: 250,
            memory_bytes: 64 * 1024 * 1024,
        };
        vec![UsageMeasurement {
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            timestamp: Timestamp::UNIX_EPOCH,
            window: Duration::from_secs(15),
            usage: vec![usage],
        }]
    }
}

/// Requests per second of two Pods, and the length of two queues.
struct Served;

impl CustomMetrics for Served {
    fn values(&self) -> Vec<MetricReading> {
        let reading = |pod: Option<&str>, metric: &str, queue: &str, milli| MetricReading {
            object: pod.map(|name| DescribedObject {
                resource: "pods".to_owned(),
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name: name.to_owned(),
            }),
            namespace: "default".to_owned(),
            metric: metric.to_owned(),
            labels: [("queue".to_owned(), queue.to_owned())].into(),
            timestamp: Timestamp::UNIX_EPOCH,
            window: Some(Duration::from_secs(30)),
            milli,
        };
        vec![
            reading(Some("a"), "rps", "", 1500),
            reading(Some("b"), "rps", "", 2500),
            reading(Some("gone"), "rps", "", 9),
            reading(None, "length", "orders", 7000),
            reading(None, "length", "mails", -1000),
        ]
    }
}

fn custom_and_external_metrics_come_from_the_provider() {
    let served = Settings {
        custom_metrics: Some(Arc::new(Served)),
        ..settings()
    };
    with_settings(served, async |_, client| {
        for (name, app) in [("a", "web"), ("b", "db")] {
            let mut made = pod(name);
            made["metadata"]["labels"] = json!({"app": app});
            create(client, &path("default", "v1/pods"), &made).await;
        }
        let custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default";
        let external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default";
        let values = async |path: String| {
            let list = get(client, &path).await;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let value = |item: &Value| item["value"].as_str().unwrap_or_default().to_owned();
            items.iter().map(value).collect::<Vec<_>>()
        };
        assert_eq!(
            values(format!("{custom}/pods/%2A/rps")).await,
            ["1500m", "2500m"]
        );
        let selected = format!("{custom}/pods/%2A/rps?labelSelector=app%3Ddb");
        assert_eq!(values(selected).await, ["2500m"]);
        assert_eq!(values(format!("{custom}/pods/a/rps")).await, ["1500m"]);
        let orders = format!("{external}/length?labelSelector=queue%3Dorders");
        assert_eq!(values(orders).await, ["7000m"]);
        let nobody = format!("{external}/length?labelSelector=queue%3Dnobody");
        assert_eq!(values(nobody).await, [""; 0], "no series is an answer");
        for (path, told) in [
            (
                format!("{custom}/pods/%2A/latency"),
                "metric latency for pods",
            ),
            (format!("{custom}/pods/c/rps"), "metric rps for pods c"),
            (
                format!("{external}/size"),
                "metric size for external metrics",
            ),
        ] {
            let (status, reason, message) = refusal(ask(client, "GET", &path, &Value::Null).await);
            assert_eq!((status, &*reason), (404, "NotFound"), "{message}");
            assert!(message.ends_with(told), "{message}");
        }
        let resources = get(client, "/apis/custom.metrics.k8s.io/v1beta2").await;
        assert_eq!(resources["resources"][0]["name"], "pods/rps");
        let group = get(client, "/apis/external.metrics.k8s.io").await;
        assert_eq!(group["preferredVersion"]["version"], "v1beta1");
    });
}

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
fn lists_can_be_streamed() {
    with_settings(settings(), async |_, client| {
        lists::follow(client, true).await;
    });
}

/// Every user of a machine reaches its loopback, so every path requires the token.
fn a_token_that_is_set_is_asked_for_everywhere() {
    let closed = Settings {
        token: Some("of-this-run".to_owned()),
        tls: false,
        ..settings()
    };
    with_settings(closed, async |server, client| {
        get(client, "/api/v1/namespaces/default").await;
        let words = bare(
            server.address(),
            "/api",
            "authorization: bearer of-this-run",
        )
        .await;
        assert!(words.starts_with("HTTP/1.1 200 "), "{words}");
        for path in [
            "/",
            "/api",
            "/healthz",
            "/version",
            "/openapi/v3",
            "/nothing",
            "/api/v1/secrets?watch=true",
            "/apis/metrics.k8s.io/v1beta1/nodes",
            "/api/v1/namespaces/default/services/kubernetes/proxy/",
        ] {
            for header in [
                "X-None: none",
                "Authorization: Bearer in-memory",
                "Authorization: Bearer of-this-ru",
                "Authorization: Basic of-this-run",
            ] {
                let answer = bare(server.address(), path, header).await;
                assert!(
                    answer.starts_with("HTTP/1.1 401 "),
                    "{path} {header}: {answer}"
                );
            }
        }
        assert!(!format!("{server:?}").contains("of-this-run"));
    });
}

/// The raw answer to a request with one more header.
async fn bare(address: SocketAddr, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n");
    let written = stream.write_all(request.as_bytes()).await;
    written.expect("it reads");
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer).await;
    read.expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}

/// If the server ignored a CEL condition, it would call the webhook at the wrong times.
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
        let words = "webhooks[0].matchConditions: Forbidden: this API server does not \
                     evaluate CEL";
        assert!(message.contains(words), "{message}");
    });
}

/// Every access review allows everything.
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
fn calls_are_passed_on_to_services() {
    with_settings(settings(), async |_, client| {
        let echo = |path: String, _| async move { Response::new(Full::from(path)) };
        let port = http::serve(None, echo).await.port();
        let namespace = namespace(client).await;
        let service = json!({"metadata": {"name": "echo"},
            "spec": {"ports": [{"name": "web", "port": 80}]}});
        create(client, &path(&namespace, "v1/services"), &service).await;
        let url = format!("/api/v1/namespaces/{namespace}/services/echo:web/proxy/a/b?c=d");
        let asked = || Request::get(&url).body(Vec::new()).expect("a request");
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

/// Rules that the server accepts but does not evaluate give a warning.
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
        let object = json!({"apiVersion": "test.dev/v1", "kind": "Raft", "metadata": {"name": "a"},
            "spec": {"a": 0}});
        for (path, body) in [
            (
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                definition,
            ),
            ("/apis/test.dev/v1/rafts", object),
        ] {
            let request = Request::post(path)
                .header("content-type", "application/json")
                .body(kube::client::Body::from(body.to_string().into_bytes()))
                .expect("a request");
            let answer = client.send(request).await.expect("an answer");
            assert_eq!(answer.status(), 201, "{path}");
            let warning = answer.headers().get("warning").expect("a warning");
            let words = "does not evaluate format uri and x-kubernetes-validations of the schema";
            let warning = warning.to_str().expect("text");
            assert!(warning.contains(words), "{path}: {warning}");
        }
    });
}

crate::support::trial::suite!([] => [
    old_versions_are_gone,
    a_restart_cuts_watches_and_keeps_objects,
    custom_and_external_metrics_come_from_the_provider,
    metrics_come_from_the_provider,
    what_it_cannot_do_it_says,
    lists_can_be_streamed,
    a_token_that_is_set_is_asked_for_everywhere,
    match_conditions_are_refused,
    questions_about_rights_are_answered,
    calls_are_passed_on_to_services,
    rules_in_cel_are_warned_of,
]);
