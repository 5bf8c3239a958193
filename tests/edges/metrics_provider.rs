//! Access to series: behind the API server, over gRPC with a token, and over gRPC without TLS by
//! the address of the calling Pod. Sockets on loopback are real; the API server and Prometheus are
//! simulated.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Json, Path, Query, State};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_metrics::series_query::RangeLimits;
use evenkeel_objects::api_group;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::kinds::Kind;
use evenkeel_placement::node_table;
use evenkeel_service::aggregation::{CallerHeaders, FrontProxy, Groups, Introductions, Rights};
use evenkeel_service::cluster;
use evenkeel_service::cluster::{ClusterState, SCALING};
use evenkeel_service::metrics::prometheus::{
    ExporterMatchers, NodeLabel, PrometheusConnection, PrometheusSource, Queries,
};
use evenkeel_service::metrics::signals::ServedSource;
use evenkeel_service::metrics::{ApiCallLimits, EndpointAccess, prometheus};
use evenkeel_service::metrics_provider::{
    Callers, ConfiguredQuery, GrpcService, MetricsProvider, PodCallers, SeriesApi, SeriesSources,
    Settings, messages,
};
use evenkeel_service::server::tls::CertificateStore;
use evenkeel_service::server::{
    Drain, DrainSettings, Listener, ListenerMetrics, ListenerSettings, Routes, Transport,
};
use http_body_util::Full;
use jiff::SignedDuration;
use messages::{
    ExternalQuery, GroupKind, KapacityQuerySubject, MetricIdentifier, PodIdentifier,
    PodResourceQuery, QueryLatestRequest, QueryLatestResponse, QueryRequest, QueryResponse,
    QueryType, WorkloadExternalQuery, WorkloadResourceQuery,
};
use prost::Message;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::external_metrics::{Authorities, PROXY, authority, certificate};
use crate::support::metrics_stand_in;
use crate::support::metrics_stand_in::{Reply, StandIn};
use crate::support::server_client::{Answer, Connection, Http, Trust};
use crate::support::server_fixture::{bundle, change, until};

const GROUP: &str = "/apis/metrics.evenkeel.dev/v1alpha1";
const TENANT: &str = "system:serviceaccount:shop:algorithm";
const TOKEN: &str = "the-tenants-token";
/// The address of the tenant's Pod, and one without a Pod.
const POD: [u8; 4] = [127, 0, 0, 7];
const NOBODY: [u8; 4] = [127, 0, 0, 8];

/// An API server with a tenant. The tenant may ask about `shop` and `yard`, but not about a metric
/// called `payroll` there.
#[derive(Debug, Clone)]
struct Api {
    client_ca: String,
}

impl Api {
    fn client(&self) -> kube::Client {
        let config = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
        let router = Router::new()
            .route(config, get(told))
            .route(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                post(review),
            )
            .route("/apis/authentication.k8s.io/v1/tokenreviews", post(owner))
            .route("/api/v1/pods", get(pods_at))
            .route(
                "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods",
                get(usage),
            )
            .route(
                "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}",
                get(external),
            )
            .with_state(self.clone());
        kube::Client::new(router, "default")
    }
}

async fn told(State(api): State<Api>) -> Json<Value> {
    Json(
        json!({"metadata": {"name": "extension-apiserver-authentication"}, "data": {
            "requestheader-client-ca-file": api.client_ca,
            "requestheader-allowed-names": format!("[\"{PROXY}\"]"),
            "requestheader-username-headers": "[\"X-Remote-User\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
        }}),
    )
}

async fn review(Json(mut review): Json<Value>) -> Response {
    let (user, asked) = (
        &review["spec"]["user"],
        &review["spec"]["resourceAttributes"],
    );
    let known = ["series", "pods", "queue", "payroll"].map(Value::from);
    assert!(known.contains(&asked["resource"]), "{asked}");
    let metric = asked["subresource"].as_str().or(asked["resource"].as_str());
    let is_own = asked["namespace"] == "shop" || asked["namespace"] == "yard";
    let allowed = user == TENANT && is_own && metric != Some("payroll");
    review["status"] = json!({"allowed": allowed});
    (StatusCode::CREATED, Json(review)).into_response()
}

async fn owner(Json(mut review): Json<Value>) -> Response {
    review["status"] = if review["spec"]["token"] == TOKEN {
        json!({"authenticated": true, "user": {"username": TENANT}})
    } else {
        json!({"authenticated": false})
    };
    (StatusCode::CREATED, Json(review)).into_response()
}

async fn pods_at(Query(query): Query<HashMap<String, String>>) -> Json<Value> {
    let address = query["fieldSelector"]
        .strip_prefix("status.podIP=")
        .unwrap();
    let job = json!({"metadata": {"name": "job", "namespace": "shop"},
        "spec": {"serviceAccountName": "algorithm", "containers": []},
        "status": {"phase": "Running", "podIP": "127.0.0.7"}});
    let items = if address == "127.0.0.7" {
        vec![job]
    } else {
        Vec::new()
    };
    Json(json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
}

async fn usage(Path(namespace): Path<String>) -> Json<Value> {
    let pod = |name: &str, cpu: &str| {
        json!({"metadata": {"name": name, "namespace": namespace},
            "timestamp": "2026-03-02T09:00:00Z", "window": "15s",
            "containers": [{"name": "app", "usage": {"cpu": cpu, "memory": "64Mi"}}]})
    };
    Json(json!({"items": [pod("web-0", "250m"), pod("web-1", "500m"), pod("other", "9")]}))
}

async fn external(Path((_, metric)): Path<(String, String)>) -> Json<Value> {
    Json(json!({"items": [{"metricName": metric, "metricLabels": {},
        "timestamp": "2026-03-02T09:00:00Z", "value": "1500m"}]}))
}

/// The picture of a cluster with a StatefulSet of two Pods in `shop`.
fn picture() -> ClusterState {
    let cluster = ClusterState::new(cluster::Settings {
        table: node_table::Settings::default(),
        capacities: Capacities::default(),
        caps_as_demand: false,
        expects_metrics: true,
        balances_scale_in: false,
        shape_policy: None,
    });
    for name in ["web-0", "web-1"] {
        let ready = if name == "web-0" { "True" } else { "False" };
        let pod = json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set",
                "controller": true}]},
            "spec": {"nodeName": "node-1", "containers": [{"name": "app"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready,
                "lastTransitionTime": "2026-03-02T08:00:00Z"}]},
        });
        cluster.apply_pod(&serde_json::from_value(pod).unwrap(), cluster.now());
    }
    for kind in SCALING {
        cluster.set_synced(kind);
    }
    cluster
}

/// The provider behind its three doors.
struct Stage {
    https: SocketAddr,
    grpc: SocketAddr,
    plaintext: SocketAddr,
    bundle: Bundle,
    proxy: Authorities,
    _drain: Drain,
    _following: DropGuard,
}

impl Stage {
    /// A stage with this Prometheus, or with the metrics APIs alone.
    async fn start(prometheus: Option<&StandIn>, timeout: Duration) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (bundle, proxy) = (bundle(), authority("front-proxy-ca"));
        let api = Api {
            client_ca: proxy.pem.clone(),
        };
        let metrics = ListenerMetrics::default();
        let store = Arc::new(CertificateStore::new(change(&bundle), metrics.clone()).unwrap());
        let (headers, cancel) = (CallerHeaders::default(), CancellationToken::new());
        let follower = FrontProxy::new(api.client(), headers.clone());
        tokio::spawn(follower.run(Arc::clone(&store), cancel.clone()));
        let known = headers.clone();
        until("the front proxy is known", move || known.names().is_some()).await;
        let provider = Arc::new(provider(&api, prometheus, timeout));
        let introductions = Introductions::new(headers);
        let groups = Groups {
            introductions: introductions.clone(),
            groups: vec![api_group::group(Kind::MetricSeries)],
        };
        let series = SeriesApi {
            introductions,
            rights: Arc::new(Rights::new(api.client())),
            provider: Arc::clone(&provider),
        };
        let by_token = GrpcService::for_tokens(api.client(), Arc::clone(&provider));
        let by_address = GrpcService {
            callers: Callers::Addresses(PodCallers::new(api.client())),
            provider,
        };
        let drain = Drain::new(DrainSettings {
            delay: Duration::ZERO,
            timeout: Duration::from_secs(1),
        });
        let routes = || Routes::new(metrics.clone());
        let serve = |transport: Transport, router: Router| {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let settings = ListenerSettings::new("test");
            let listener = Listener::bind(any, settings, transport, metrics.clone()).unwrap();
            let address = listener.local_address().unwrap();
            tokio::spawn(listener.serve(router, drain.part()));
            address
        };
        let tls = || Transport::tls(Arc::clone(&store));
        Self {
            https: serve(tls(), groups.routes(series.routes(routes())).into_router()),
            grpc: serve(tls(), by_token.routes(routes()).into_router()),
            plaintext: serve(
                Transport::PlainHttp2,
                by_address.routes(routes()).into_router(),
            ),
            bundle,
            proxy,
            _drain: drain,
            _following: cancel.drop_guard(),
        }
    }

    /// The answer of the group to a request that the front proxy passes on.
    async fn ask(&self, user: &str, path: &str) -> Answer {
        let request = Request::get(path).header("X-Remote-User", user);
        self.send(true, request).await
    }

    async fn send(&self, as_proxy: bool, request: axum::http::request::Builder) -> Answer {
        let certificate = as_proxy.then(|| certificate(&self.proxy, PROXY));
        let trust = Trust {
            certificate,
            ..Trust::only(self.bundle.ca_bundle())
        };
        let connection = Connection::open(self.https, &trust, Http::One).await;
        let request = request.header(header::HOST, "localhost");
        let request = request.body(Full::new(Bytes::new())).unwrap();
        connection.unwrap().send(request).await.unwrap()
    }

    /// The answer of gRPC over TLS to a caller with this token.
    async fn with_token<M: Message + Default>(
        &self,
        token: Option<&str>,
        method: &str,
        message: &impl Message,
    ) -> Result<M, Fault> {
        let trust = Trust::only(self.bundle.ca_bundle());
        let connection = Connection::open(self.grpc, &trust, Http::Two).await;
        call(&mut connection.unwrap(), token, method, message).await
    }

    /// That of gRPC without TLS to a Pod at this address, which shows nothing, as Kapacity's client.
    async fn call_from<M: Message + Default>(
        &self,
        address: [u8; 4],
        method: &str,
        message: &impl Message,
    ) -> Result<M, Fault> {
        let connection = Connection::open_plain(self.plaintext, address).await;
        call(&mut connection.unwrap(), None, method, message).await
    }
}

fn provider(api: &Api, prometheus: Option<&StandIn>, timeout: Duration) -> MetricsProvider {
    let bounds = ApiCallLimits {
        timeout,
        body_limit: evenkeel_units::Bytes(1 << 20),
    };
    let prometheus = prometheus.map(|stand_in| {
        PrometheusSource::new(prometheus::Settings {
            connection: PrometheusConnection {
                url: stand_in.url.clone(),
                headers: evenkeel_http_client::HeaderMap::new(),
                access: EndpointAccess::default(),
                timeout,
                body_limit: evenkeel_units::Bytes(1 << 20),
            },
            window: SignedDuration::from_mins(2),
            node_label: NodeLabel::Automatic,
            matchers: ExporterMatchers::default(),
            queries: Queries::default(),
        })
    });
    let sources = SeriesSources {
        client: api.client(),
        served: ServedSource::new(api.client(), bounds),
        prometheus,
        cluster: picture(),
    };
    let ready = "sum(kube_pod_status_ready{condition=\"true\"})";
    let settings = Settings {
        grpc: None,
        plaintext_grpc: None,
        limits: RangeLimits {
            longest: SignedDuration::from_hours(24 * 31),
            points: 45_000,
        },
        timeout,
        queries: vec![ConfiguredQuery::new("ready_pods_count", ready, None).unwrap()],
    };
    MetricsProvider::new(
        sources,
        settings,
        evenkeel_service::metrics_provider::SeriesProviderMetrics::default(),
    )
}

/// The error of gRPC instead of an answer: code and message.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    code: i32,
    message: String,
}

const INVALID: i32 = 3;
const DEADLINE: i32 = 4;
const FORBIDDEN: i32 = 7;
const EXHAUSTED: i32 = 8;
const UNIMPLEMENTED: i32 = 12;
const UNAUTHENTICATED: i32 = 16;

async fn call<M: Message + Default>(
    connection: &mut Connection,
    token: Option<&str>,
    method: &str,
    message: &impl Message,
) -> Result<M, Fault> {
    let message = message.encode_to_vec();
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    let path = format!("https://localhost/io.kapacitystack.metric.ProviderService/{method}");
    let mut request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let answer = connection.send(request).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = |name: &str| {
        let told = answer.trailers.get(name).or(answer.headers.get(name));
        told.map(|value| value.to_str().unwrap().to_owned())
    };
    match told("grpc-status").unwrap().parse().unwrap() {
        0 => {
            let length = u32::from_be_bytes(answer.body[1..5].try_into().unwrap());
            assert_eq!(answer.body.len(), 5 + length as usize);
            Ok(M::decode(&answer.body[5..]).unwrap())
        }
        code => Err(Fault {
            code,
            message: told("grpc-message").unwrap_or_default().replace("%20", " "),
        }),
    }
}

fn query(of: QueryType, subject: KapacityQuerySubject) -> messages::KapacityQuery {
    messages::KapacityQuery {
        r#type: of as i32,
        query: Some(subject),
    }
}

fn pod(namespace: &str) -> QueryLatestRequest {
    let subject = KapacityQuerySubject::PodResource(PodResourceQuery {
        namespace: namespace.to_owned(),
        pod_identifier: Some(PodIdentifier::Name("web-0".to_owned())),
        resource_name: "cpu".to_owned(),
    });
    QueryLatestRequest {
        query: Some(query(QueryType::PodResource, subject)),
    }
}

fn group_kind() -> GroupKind {
    GroupKind {
        group: "apps".to_owned(),
        kind: "StatefulSet".to_owned(),
    }
}

/// The past of a workload, as Kapacity's client asks for it.
fn past(query: messages::KapacityQuery, seconds: i64) -> QueryRequest {
    let at = |seconds| prost_types::Timestamp { seconds, nanos: 0 };
    QueryRequest {
        query: Some(query),
        start: Some(at(0)),
        end: Some(at(seconds)),
        step: Some(prost_types::Duration {
            seconds: 60,
            nanos: 0,
        }),
    }
}

fn workload(namespace: &str) -> messages::KapacityQuery {
    let subject = KapacityQuerySubject::WorkloadResource(WorkloadResourceQuery {
        group_kind: Some(group_kind()),
        namespace: namespace.to_owned(),
        name: "web".to_owned(),
        resource_name: "cpu".to_owned(),
        ready_pods_only: true,
    });
    query(QueryType::WorkloadResource, subject)
}

fn ready_pods(namespace: &str) -> messages::KapacityQuery {
    let subject = KapacityQuerySubject::WorkloadExternal(WorkloadExternalQuery {
        group_kind: Some(group_kind()),
        namespace: namespace.to_owned(),
        name: "web".to_owned(),
        metric: Some(MetricIdentifier {
            name: "ready_pods_count".to_owned(),
            selector: None,
        }),
    });
    query(QueryType::WorkloadExternal, subject)
}

fn external_metric(name: &str) -> QueryLatestRequest {
    let subject = KapacityQuerySubject::External(ExternalQuery {
        namespace: Some("shop".to_owned()),
        metric: Some(MetricIdentifier {
            name: name.to_owned(),
            selector: None,
        }),
    });
    QueryLatestRequest {
        query: Some(query(QueryType::External, subject)),
    }
}

/// A Status of this code that says so.
fn assert_status(answer: &Answer, code: u16, says: &str) {
    assert_eq!(answer.status, code, "{}", answer.text());
    let status: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (&status["kind"], &status["code"]),
        (&json!("Status"), &json!(code))
    );
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_tenant_is_told_series_of_its_own_namespace_alone() {
    let stage = Stage::start(None, MINUTE).await;
    let path = |namespace: &str| {
        format!("{GROUP}/namespaces/{namespace}/series/pod-resource?name=web-0&resource=cpu")
    };
    let answer = stage.ask(TENANT, &path("shop")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let list: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (&list["kind"], &list["unit"]),
        (&json!("SeriesList"), &json!("cores"))
    );
    let expected = json!([{"labels": {"namespace": "shop", "pod": "web-0"},
        "points": [{"timestamp": 1_772_442_000.0, "value": 0.25}]}]);
    assert_eq!(list["items"], expected);
    let bank = stage.ask(TENANT, &path("bank")).await;
    assert_status(
        &bank,
        403,
        "get series.metrics.evenkeel.dev \"pod-resource\"",
    );
    let stranger = stage.ask("mallory", &path("shop")).await;
    assert_status(&stranger, 403, "mallory");
    // The same headers from another client.
    let forged = Request::get(path("shop")).header("X-Remote-User", TENANT);
    assert_status(&stage.send(false, forged).await, 401, "certificate");
    // A sum of the workload's own Pods, and of those that are ready.
    for (ready_only, sum) in [(false, 0.75), (true, 0.25)] {
        let path = format!(
            "{GROUP}/namespaces/shop/series/workload-resource?group=apps&kind=StatefulSet&name=web\
             &resource=cpu&readyPodsOnly={ready_only}"
        );
        let answer = stage.ask(TENANT, &path).await;
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(list["items"][0]["points"][0]["value"], sum, "{list}");
    }
}

#[tokio::test]
async fn nobody_learns_what_the_api_behind_the_question_would_not_tell() {
    let stage = Stage::start(None, MINUTE).await;
    let of = |metric: &str| format!("{GROUP}/namespaces/shop/series/external?metric={metric}");
    let answer = stage.ask(TENANT, &of("queue")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("1.5"), "{}", answer.text());
    let payroll = stage.ask(TENANT, &of("payroll")).await;
    assert_status(&payroll, 403, "list payroll.external.metrics.k8s.io");
    let workload = format!(
        "{GROUP}/namespaces/shop/series/workload-external?group=apps&kind=StatefulSet&name=web\
         &metric=payroll"
    );
    let payroll = stage.ask(TENANT, &workload).await;
    assert_status(&payroll, 403, "get pods/payroll.custom.metrics.k8s.io");
    let fault = stage
        .with_token::<QueryLatestResponse>(Some(TOKEN), "QueryLatest", &external_metric("payroll"))
        .await
        .unwrap_err();
    assert_eq!(fault.code, FORBIDDEN, "{fault:?}");
}

#[tokio::test]
async fn what_is_no_question_is_refused_and_the_past_is_not_made_up() {
    let stage = Stage::start(None, MINUTE).await;
    let base = format!("{GROUP}/namespaces/shop/series");
    let pod = "name=web-0&resource=cpu";
    for (path, code, says) in [
        (
            format!("{base}/pod-resource?{pod}&start=0&end=600&step=60"),
            501,
            "history needs metrics.source prometheus",
        ),
        (
            format!("{base}/pod-resource?{pod}&query=up"),
            400,
            "there is no parameter",
        ),
        (
            format!("{base}/pod-resource?name=a%22%7D%20or%20up%7B&resource=cpu"),
            400,
            "name: ",
        ),
        (format!("{base}/pods?{pod}"), 404, "series/KIND"),
        (
            format!("{base}/pod-resource?name=web-0&resource=disk"),
            404,
            "cpu and memory",
        ),
        (
            format!("{base}/workload-resource?group=apps&kind=Deployment&name=api&resource=cpu"),
            404,
            "no Pods of the Deployment api",
        ),
        (
            format!("{base}/pod-resource?{pod}&watch=true"),
            405,
            "get only",
        ),
    ] {
        assert_status(&stage.ask(TENANT, &path).await, code, says);
    }
    let posted =
        Request::post(format!("{base}/pod-resource?{pod}")).header("X-Remote-User", TENANT);
    assert_status(&stage.send(true, posted).await, 405, "get only");
}

#[tokio::test]
async fn whoever_is_introduced_reads_what_is_served() {
    let stage = Stage::start(None, MINUTE).await;
    for (path, place, expected) in [
        ("/apis", "/groups/0/name", "metrics.evenkeel.dev"),
        (
            "/apis/metrics.evenkeel.dev",
            "/name",
            "metrics.evenkeel.dev",
        ),
        (GROUP, "/resources/0/name", "series"),
        (
            "/openapi/v3/apis/metrics.evenkeel.dev/v1alpha1",
            "/openapi",
            "3.0.0",
        ),
    ] {
        let answer = stage.ask("somebody", path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let document: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(document.pointer(place), Some(&json!(expected)), "{path}");
        let nobody = stage.send(false, Request::get(path)).await;
        assert_status(&nobody, 401, "certificate");
    }
    let index = stage.ask("somebody", "/openapi/v3").await;
    let index: Value = serde_json::from_slice(&index.body).unwrap();
    let address = &index["paths"]["apis/metrics.evenkeel.dev/v1alpha1"]["serverRelativeURL"];
    let document = stage.ask("somebody", address.as_str().unwrap()).await;
    assert_eq!(document.status, 200, "{}", document.text());
}

#[tokio::test]
async fn over_grpc_a_token_is_worth_what_its_owner_may() {
    let stage = Stage::start(None, MINUTE).await;
    let ask = async |token: Option<&'static str>, namespace: &str| {
        let request = pod(namespace);
        let latest = stage.with_token::<QueryLatestResponse>(token, "QueryLatest", &request);
        latest.await
    };
    let answer = ask(Some(TOKEN), "shop").await.unwrap();
    let [sample] = &answer.samples[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(sample.point.unwrap().timestamp, 1_772_442_000_000);
    assert!((sample.point.unwrap().value - 0.25).abs() < 1e-9);
    assert_eq!(sample.labels["pod"], "web-0");
    assert_eq!(sample.window.as_ref().unwrap().seconds, 15);
    for (token, namespace, code) in [
        (None, "shop", UNAUTHENTICATED),
        (Some("another"), "shop", UNAUTHENTICATED),
        (Some(TOKEN), "bank", FORBIDDEN),
    ] {
        let fault = ask(token, namespace).await.unwrap_err();
        assert_eq!(fault.code, code, "{fault:?}");
    }
    let past = past(workload("shop"), 600);
    let fault = stage
        .with_token::<QueryResponse>(Some(TOKEN), "Query", &past)
        .await
        .unwrap_err();
    assert_eq!(fault.code, UNIMPLEMENTED, "{fault:?}");
    let nothing = QueryLatestRequest { query: None };
    let fault = stage
        .with_token::<QueryLatestResponse>(Some(TOKEN), "QueryLatest", &nothing)
        .await
        .unwrap_err();
    assert_eq!(fault.code, INVALID, "{fault:?}");
}

#[tokio::test]
async fn without_tls_a_pod_is_its_address_and_asks_about_its_own_namespace_alone() {
    let stage = Stage::start(None, MINUTE).await;
    let ask = async |address: [u8; 4], request: QueryLatestRequest| {
        let latest = stage.call_from::<QueryLatestResponse>(address, "QueryLatest", &request);
        latest.await
    };
    let answer = ask(POD, pod("shop")).await.unwrap();
    assert_eq!(answer.samples.len(), 1);
    let other = ask(POD, pod("bank")).await.unwrap_err();
    assert_eq!(other.code, FORBIDDEN, "{other:?}");
    assert!(other.message.contains("without a token"), "{other:?}");
    // Its ServiceAccount's rights bind it in its own namespace, too.
    let payroll = ask(POD, external_metric("payroll")).await.unwrap_err();
    assert_eq!(payroll.code, FORBIDDEN, "{payroll:?}");
    let nobody = ask(NOBODY, pod("shop")).await.unwrap_err();
    assert_eq!(nobody.code, UNAUTHENTICATED, "{nobody:?}");
}

/// The form that Prometheus was sent, read.
fn form(text: &str) -> HashMap<String, String> {
    let pairs = axum::http::Uri::try_from(format!("http://p/?{text}")).unwrap();
    Query::<HashMap<String, String>>::try_from_uri(&pairs)
        .unwrap()
        .0
}

fn matrix(labels: &str) -> Reply {
    Reply::Answer(
        200,
        format!(
            r#"{{"status":"success","data":{{"resultType":"matrix","result":[
                {{"metric":{{{labels}}},"values":[[0,"0.5"],[60,"NaN"],[120,"0.75"]]}},
                {{"metric":{{"namespace":"bank","workload":"StatefulSet/web"}},"values":[[0,"9"]]}}]}}}}"#
        ),
    )
}

#[tokio::test]
async fn a_job_of_kapacity_is_told_the_past_of_its_workload() {
    let prometheus = metrics_stand_in::start(|asked| {
        if asked.contains("kube_pod_status_ready")
            && !asked.contains("cadvisor")
            && !asked.contains("container_cpu")
        {
            return Reply::Answer(
                200,
                r#"{"status":"success","data":{"resultType":"matrix","result":[
                    {"metric":{},"values":[[0,"2"],[60,"3"]]}]}}"#
                    .to_owned(),
            );
        }
        matrix(r#""namespace":"shop","workload":"StatefulSet/web""#)
    })
    .await;
    let stage = Stage::start(Some(&prometheus), MINUTE).await;
    let asked = async |query| {
        let request = past(query, 600);
        let answer = stage.call_from::<QueryResponse>(POD, "Query", &request);
        answer.await.unwrap()
    };
    let used = asked(workload("shop")).await;
    let [series] = &used.series[..] else {
        panic!("{used:?}");
    };
    let points: Vec<_> = series.points.iter().map(|point| point.timestamp).collect();
    assert_eq!(points, [0, 120_000], "what is no number is left out");
    assert_eq!(series.window.as_ref().unwrap().seconds, 120);
    let ready = asked(ready_pods("shop")).await;
    assert_eq!(ready.series[0].points.len(), 2);
    let forms: Vec<_> = prometheus
        .asked
        .forms
        .lock()
        .unwrap()
        .iter()
        .map(|text| form(text))
        .collect();
    for form in &forms {
        assert_eq!((&*form["start"], &*form["step"]), ("0.000", "60000ms"));
    }
    let of_use = &forms[0]["query"];
    assert!(
        of_use.contains(r#"namespace=~"shop",pod=~"(web)-.+""#),
        "{of_use}"
    );
    assert!(
        of_use.contains(r#"condition="true",namespace="shop""#),
        "{of_use}"
    );
    assert_eq!(
        forms[1]["query"],
        r#"sum(kube_pod_status_ready{condition="true",namespace="shop",pod=~"web-[0-9]+"})"#
    );
}

/// The harm: questions about one namespace, which Prometheus does not answer, keep all others waiting.
#[tokio::test]
async fn a_prometheus_that_hangs_for_one_namespace_leaves_places_to_others() {
    let prometheus = metrics_stand_in::start(|asked| {
        if asked.contains("container_cpu") {
            Reply::Hang
        } else {
            matrix(r#""namespace":"yard""#)
        }
    })
    .await;
    let stage = Stage::start(Some(&prometheus), Duration::from_secs(5)).await;
    let hanging = past(workload("shop"), 600);
    let asked = |_| stage.with_token::<QueryResponse>(Some(TOKEN), "Query", &hanging);
    let many = futures::future::join_all((0..24).map(asked));
    let others = async {
        let asked = Arc::clone(&prometheus.asked);
        until("two hang", move || asked.forms.lock().unwrap().len() >= 2).await;
        let ready = past(ready_pods("yard"), 600);
        let answer = stage.with_token::<QueryResponse>(Some(TOKEN), "Query", &ready);
        answer.await.unwrap()
    };
    let (many, told) = tokio::join!(many, others);
    assert_eq!(
        told.series.len(),
        2,
        "what its query gives is told as it is"
    );
    let codes: Vec<i32> = many.into_iter().map(|one| one.unwrap_err().code).collect();
    assert!(
        codes.contains(&DEADLINE) && codes.contains(&EXHAUSTED),
        "{codes:?}"
    );
    // They have given their places back.
    let ready = past(ready_pods("shop"), 600);
    let answer = stage.with_token::<QueryResponse>(Some(TOKEN), "Query", &ready);
    answer.await.unwrap();
}

#[test]
fn the_kind_of_answers_is_in_the_table_of_kinds() {
    assert_eq!(format!("/apis/{}", Kind::MetricSeries.api_version()), GROUP);
}
