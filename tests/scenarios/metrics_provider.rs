//! Series on a real control plane: a tenant asks by way of the API server's aggregation layer, and is told
//! what its rights in its namespace allow; a job that speaks no TLS asks from the address of its Pod.

use axum::http::{Request, header};
use bytes::Bytes;
use evenkeel_clock as clock;
use evenkeel_clock::Clock;
use evenkeel_service::metrics_provider::messages::{
    GroupKind, KapacityQuery, KapacityQuerySubject, QueryRequest, QueryResponse, QueryType,
    WorkloadResourceQuery,
};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::resource_metrics::ResourceMetrics;
use super::world;
use super::world::{OPTED_IN, Patience, World};
use crate::support::control_plane::manifests::token;
use crate::support::control_plane::nodes::NodeShape;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{ControlPlane, free_port, nodes, objects, with_control_plane};
use crate::support::dev_api::{ask, create, get, patch};
use crate::support::load::Prometheus;

const GROUP: &str = "/apis/metrics.evenkeel.dev/v1alpha1";
const API_SERVICE: &str =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.metrics.evenkeel.dev";
const WEB: &str = "group=apps&kind=Deployment&name=web&resource=cpu";

fn a_tenant_asks_for_series_by_the_api_server_and_a_job_from_its_pod() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let mut world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "room", 1, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        for namespace in ["told", "untold"] {
            objects::create_namespace(client, namespace, &OPTED_IN).await;
        }
        let target = ("told", "Deployment/web");
        let prometheus = Prometheus::start(target, Clock::real(), |_| 1.5).await;
        let _metrics = ResourceMetrics::start(client, prometheus.handle.clone()).await;
        accounts(client).await;
        let plaintext = free_port();
        let mut evenkeel = world.serve_series(&prometheus.url, plaintext).await;
        served(client).await;
        let tenant = tenant(plane, "algorithm").await;
        told(&tenant).await;
        narrowed(plane, &tenant).await;
        from_its_pod(client, plaintext).await;
        evenkeel.assert_within_rights();
        world.signer.assert_within_rights();
        evenkeel.stop().await;
        ask(client, "DELETE", API_SERVICE, &json!({})).await;
    });
}

/// A tenant with the shipped role in its namespace, and one with the right to series alone.
async fn accounts(client: &Client) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/told";
    for name in ["algorithm", "narrow"] {
        let account = json!({"metadata": {"name": name}});
        create(client, "/api/v1/namespaces/told/serviceaccounts", &account).await;
    }
    let role = json!({"metadata": {"name": "series-alone"}, "rules": [
        {"apiGroups": ["metrics.evenkeel.dev"], "resources": ["series"], "verbs": ["get"]}]});
    create(client, &format!("{rbac}/roles"), &role).await;
    for (account, kind, role) in [
        (
            "algorithm",
            "ClusterRole",
            "evenkeel-metrics-provider-reader",
        ),
        ("narrow", "Role", "series-alone"),
    ] {
        let binding = json!({"metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": "told", "name": account}]});
        create(client, &format!("{rbac}/rolebindings"), &binding).await;
    }
}

/// The API server takes the group for available, and hands its description on.
async fn served(client: &Client) {
    eventually("series are available", async || {
        let object = get(client, API_SERVICE).await;
        let conditions = object["status"]["conditions"].as_array().cloned();
        let is_available = |one: &Value| one["type"] == "Available" && one["status"] == "True";
        let mut conditions = conditions.into_iter().flatten();
        holds(conditions.any(|one| is_available(&one)), || {
            object["status"].to_string()
        })
    })
    .await;
    let (status, resources) = ask(client, "GET", GROUP, &Value::Null).await;
    assert_eq!(status, 200, "{resources}");
    assert_eq!(resources["resources"][0]["name"], "series");
    eventually("the description is handed on", async || {
        let path = "/openapi/v3/apis/metrics.evenkeel.dev/v1alpha1";
        let (status, document) = ask(client, "GET", path, &Value::Null).await;
        holds(status == 200 && document["openapi"] == "3.0.0", || {
            format!("{status} {document}")
        })
    })
    .await;
}

/// A client with the token of a ServiceAccount.
async fn tenant(plane: &ControlPlane, account: &str) -> Client {
    let path = plane.folder().join("admin.kubeconfig");
    let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.expect("it is whole");
    let token = token(&plane.client, "told", account).await;
    config.auth_info = kube::config::AuthInfo {
        token: Some(token.into()),
        ..kube::config::AuthInfo::default()
    };
    Client::try_from(config).expect("a client")
}

fn path(namespace: &str, question: &str) -> String {
    format!("{GROUP}/namespaces/{namespace}/series/{question}")
}

/// The past of the workload, as the load has been.
async fn told(tenant: &Client) {
    let end = clock::now().as_second();
    let range = format!("start={}&end={end}&step=60", end - 600);
    let question = format!("workload-resource?{WEB}&{range}");
    let list = eventually("the tenant is told the past", async || {
        let (status, answer) = ask(tenant, "GET", &path("told", &question), &Value::Null).await;
        if status == 200 {
            Ok(answer)
        } else {
            Err(format!("{status} {answer}"))
        }
    })
    .await;
    assert_eq!(
        (&list["kind"], &list["unit"]),
        (&json!("SeriesList"), &json!("cores"))
    );
    let points = list["items"][0]["points"].as_array().expect("points");
    assert_eq!(points.len(), 11, "{list}");
    assert!(points.iter().all(|point| point["value"] == 1.5), "{list}");
}

/// Requests outside the rights are refused: by the API server if the path shows it, and by Evenkeel
/// if only the question does.
async fn narrowed(plane: &ControlPlane, client: &Client) {
    let now = format!("workload-resource?{WEB}");
    let (status, answer) = ask(client, "GET", &path("untold", &now), &Value::Null).await;
    assert_eq!(status, 403, "{answer}");
    let narrow = tenant(plane, "narrow").await;
    let (status, answer) = ask(&narrow, "GET", &path("told", &now), &Value::Null).await;
    assert_eq!(status, 403, "{answer}");
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("list pods.metrics.k8s.io"), "{message}");
    let unasked = format!("workload-resource?{WEB}&query=up");
    let (status, answer) = ask(client, "GET", &path("told", &unasked), &Value::Null).await;
    assert_eq!(status, 400, "{answer}");
}

/// A job is known by the address that its Pod has, and by no other.
async fn from_its_pod(client: &Client, port: u16) {
    let pods = "/api/v1/namespaces/told/pods";
    let pod = json!({"metadata": {"name": "job"}, "spec": {
        "serviceAccountName": "algorithm", "nodeName": "nowhere",
        "containers": [{"name": "job", "image": "none"}]}});
    create(client, pods, &pod).await;
    let status = json!({"status": {"phase": "Running", "podIP": "127.0.0.77",
        "podIPs": [{"ip": "127.0.0.77"}]}});
    let path = format!("{pods}/job/status");
    let (code, answer) = patch(client, &path, "merge", &status).await;
    assert_eq!(code, 200, "{answer}");
    eventually("the job is told the past", async || {
        let answer = call([127, 0, 0, 77], port, "told").await;
        let answer = answer.map_err(|code| format!("code {code}"))?;
        let points = answer
            .series
            .first()
            .map_or(0, |series| series.points.len());
        holds(points == 11, || format!("{answer:?}"))
    })
    .await;
    assert_eq!(call([127, 0, 0, 77], port, "untold").await, Err(7));
    assert_eq!(call([127, 0, 0, 78], port, "told").await, Err(16));
}

/// The past of the workload over plain gRPC, as Kapacity's client asks; the code where there is none.
async fn call(from: [u8; 4], port: u16, namespace: &str) -> Result<QueryResponse, i32> {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind((from, 0).into())
        .expect("an address of loopback");
    let stream = socket.connect(([127, 0, 0, 1], port).into()).await;
    let stream = TokioIo::new(stream.expect("the port is open"));
    let handshake = http2::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = handshake.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    let now = clock::now().as_second();
    let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let workload = WorkloadResourceQuery {
        group_kind: Some(GroupKind {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
        }),
        namespace: namespace.to_owned(),
        name: "web".to_owned(),
        resource_name: "cpu".to_owned(),
        ready_pods_only: true,
    };
    let request = QueryRequest {
        query: Some(KapacityQuery {
            r#type: QueryType::WorkloadResource as i32,
            query: Some(KapacityQuerySubject::WorkloadResource(workload)),
        }),
        start: at(now - 600),
        end: at(now),
        step: Some(prost_types::Duration {
            seconds: 60,
            nanos: 0,
        }),
    };
    let message = request.encode_to_vec();
    let length = u32::try_from(message.len()).expect("it is short");
    let body = [&[0][..], &length.to_be_bytes(), &message].concat();
    let request = Request::post("http://evenkeel/io.kapacitystack.metric.ProviderService/Query")
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    let (head, body) = answer.into_parts();
    let body = body.collect().await.expect("it is whole");
    let told = body.trailers().and_then(|all| all.get("grpc-status"));
    let code = told.or(head.headers.get("grpc-status")).expect("a code");
    match code.to_str().expect("text").parse().expect("a number") {
        0 => Ok(QueryResponse::decode(&body.to_bytes()[5..]).expect("an answer")),
        code => Err(code),
    }
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_tenant_asks_for_series_by_the_api_server_and_a_job_from_its_pod,
]);
