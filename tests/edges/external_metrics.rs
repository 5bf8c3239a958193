//! Access to external metrics over TLS: only the API server's front proxy identifies callers, and
//! the API server says if they may read them.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Json, State};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use evenkeel_certificates::authority::ClientCertificate;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_clock::Clock;
use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_objects::api_group;
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::external_metrics::{KnownLoad, ServedLoad};
use evenkeel_scaling::recommend::expected_load::LoadBasis;
use evenkeel_service::aggregation::{CallerHeaders, FrontProxy, Groups, Introductions, Rights};
use evenkeel_service::controller::scaling::ServedLoads;
use evenkeel_service::external_metrics::ExternalMetrics;
use evenkeel_service::server::tls::{Authority, CertificateStore};
use evenkeel_service::server::{
    BodyPace, BufferedRequest, Drain, DrainSettings, Listener, ListenerMetrics, ListenerSettings,
    PathLimits, RouteEndpoint, Routes, Transport,
};
use http_body_util::Full;
use jiff::SignedDuration;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::server_client::{Answer, Connection, Http, Trust};
use crate::support::server_fixture::{bundle, change, until};

const GROUP: &str = "/apis/external.metrics.k8s.io/v1beta1";
const VALUES: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/evenkeel-expected-load";
pub(super) const PROXY: &str = "front-proxy-client";
const HPA: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// An API server that tells of a front proxy, and lets the HPA controller list.
#[derive(Debug, Clone)]
struct Api {
    client_ca: String,
    reviews: Arc<AtomicUsize>,
    away: Arc<AtomicBool>,
}

impl Api {
    fn client(&self) -> kube::Client {
        let config = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
        let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let router = Router::new()
            .route(config, get(told))
            .route(reviews, post(review))
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

async fn review(State(api): State<Api>, Json(mut review): Json<Value>) -> Response {
    api.reviews.fetch_add(1, Ordering::Relaxed);
    if api.away.load(Ordering::Relaxed) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let asked = json!({
        "user": HPA,
        "groups": ["system:serviceaccounts", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/node-name": ["a"]},
        "resourceAttributes": {"group": "external.metrics.k8s.io", "version": "v1beta1",
            "resource": "evenkeel-expected-load", "namespace": "shop", "verb": "list"},
    });
    review["status"] = json!({"allowed": review["spec"] == asked});
    (StatusCode::CREATED, Json(review)).into_response()
}

/// A server with the group and the extender's path, behind one listener.
struct Served {
    address: SocketAddr,
    bundle: Bundle,
    proxy: Authorities,
    api: Api,
    loads: ServedLoads,
    _drain: Drain,
    _proxy_followed: tokio_util::sync::DropGuard,
}

/// An authority for the clients of another.
pub(super) struct Authorities {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

pub(super) fn authority(name: &str) -> Authorities {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Authorities {
        issuer: Issuer::new(params, key),
        pem,
    }
}

/// A certificate for a client of this name.
pub(super) fn certificate(authority: &Authorities, name: &str) -> ClientCertificate {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    ClientCertificate {
        certificate: params.signed_by(&key, &authority.issuer).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

const LIMITS: PathLimits = PathLimits {
    body: evenkeel_units::Bytes(1024),
    body_pace: BodyPace {
        grace: Duration::from_mins(1),
        rate: evenkeel_units::Bytes(1),
        longest: Duration::from_mins(1),
    },
    concurrency: NonZeroUsize::MIN,
};

impl Served {
    /// A server that knows of its front proxy already.
    async fn start() -> Self {
        let (bundle, proxy) = (bundle(), authority("front-proxy-ca"));
        let api = Api {
            client_ca: proxy.pem.clone(),
            reviews: Arc::default(),
            away: Arc::default(),
        };
        let metrics = ListenerMetrics::default();
        let store = Arc::new(CertificateStore::new(change(&bundle), metrics.clone()).unwrap());
        let (headers, loads) = (CallerHeaders::default(), ServedLoads::default());
        let cancel = CancellationToken::new();
        let follower = FrontProxy::new(api.client(), headers.clone());
        tokio::spawn(follower.run(Arc::clone(&store), cancel.clone()));
        let known = headers.clone();
        until("the front proxy is known", move || known.names().is_some()).await;
        let introductions = Introductions::new(headers);
        let groups = Groups {
            introductions: introductions.clone(),
            groups: vec![api_group::group(Kind::ExternalMetrics)],
        };
        let external_metrics = ExternalMetrics {
            introductions,
            rights: Arc::new(Rights::new(api.client())),
            loads: loads.clone(),
            clock: Clock::real(),
            max_age: SignedDuration::from_mins(3),
        };
        let filter = RouteEndpoint {
            path: "/scheduler/filter",
            limits: LIMITS,
            authority: Some(Authority::Scheduler),
        };
        let answers = post(async |call: BufferedRequest| format!("{} bytes", call.body.len()));
        let extender = Routes::new(metrics.clone());
        let extender = extender.caller("extender", LIMITS.body, [(filter, answers)]);
        let router = groups
            .routes(external_metrics.routes(extender))
            .into_router();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (settings, tls) = (ListenerSettings::new("test"), Transport::tls(store));
        let listener = Listener::bind(any, settings, tls, metrics).unwrap();
        let address = listener.local_address().unwrap();
        let drain = Drain::new(DrainSettings {
            delay: Duration::ZERO,
            timeout: Duration::from_secs(1),
        });
        tokio::spawn(listener.serve(router, drain.part()));
        Self {
            address,
            bundle,
            proxy,
            api,
            loads,
            _drain: drain,
            _proxy_followed: cancel.drop_guard(),
        }
    }

    /// The front proxy's own certificate.
    fn proxy(&self) -> ClientCertificate {
        certificate(&self.proxy, PROXY)
    }

    /// The answer to a request with these headers, over a connection with this certificate.
    async fn ask(
        &self,
        certificate: Option<ClientCertificate>,
        request: axum::http::request::Builder,
    ) -> Answer {
        let trust = Trust {
            certificate,
            ..Trust::only(self.bundle.ca_bundle())
        };
        let connection = Connection::open(self.address, &trust, Http::One).await;
        let request = request.header(header::HOST, "localhost");
        let request = request.body(Full::new(Bytes::new())).unwrap();
        connection.unwrap().send(request).await.unwrap()
    }

    fn publish(&self, known: Option<KnownLoad>) {
        let load = ServedLoad::new("Deployment", "web", "cpu", known);
        self.loads.publish([("shop".into(), load)]);
    }
}

/// A request as the front proxy introduces that of the HPA controller.
fn by_hpa(path: &str) -> axum::http::request::Builder {
    Request::get(path)
        .header("X-Remote-User", HPA)
        .header("X-Remote-Group", "system:serviceaccounts")
        .header("X-Remote-Group", "system:authenticated")
        .header(
            "X-Remote-Extra-Authentication.kubernetes.io%2fnode-name",
            "a",
        )
}

fn known(load: f64) -> KnownLoad {
    KnownLoad {
        value: LoadUnit::Millicores.quantity(load),
        basis: LoadBasis::Forecast,
        measured: evenkeel_clock::now(),
    }
}

/// The answer as a Status of this code.
fn assert_status(answer: &Answer, code: u16, reason: &str, says: &str) {
    assert_eq!(answer.status, code, "{}", answer.text());
    let status: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(status["kind"], "Status", "{status}");
    assert_eq!(status["code"], code);
    assert_eq!(status["reason"], reason, "{status}");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
    assert!(answer.headers.get(header::RETRY_AFTER).is_none());
}

#[tokio::test]
async fn the_front_proxy_is_told_the_values_that_its_caller_may_list() {
    let served = Served::start().await;
    served.publish(Some(known(4100.0)));
    let selector = format!("{VALUES}?labelSelector=kind%3DDeployment%2Cname%3Dweb%2Csignal%3Dcpu");
    for _ in 0..3 {
        let answer = served.ask(Some(served.proxy()), by_hpa(&selector)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(list["kind"], "ExternalMetricValueList");
        assert_eq!(list["items"][0]["value"], "4100m");
        assert_eq!(list["items"][0]["metricLabels"]["basis"], "forecast");
    }
    assert_eq!(
        served.api.reviews.load(Ordering::Relaxed),
        1,
        "the verdict is held"
    );
    // Discovery needs no more than an introduction.
    for (path, kind) in [
        ("/apis", "APIGroupList"),
        ("/apis/external.metrics.k8s.io", "APIGroup"),
        (GROUP, "APIResourceList"),
    ] {
        let request = Request::get(path).header("X-Remote-User", "somebody");
        let answer = served.ask(Some(served.proxy()), request).await;
        let document: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status.as_u16(), &document["kind"]),
            (200, &json!(kind))
        );
    }
    assert_eq!(served.api.reviews.load(Ordering::Relaxed), 1);
    let openapi = served
        .ask(Some(served.proxy()), by_hpa("/openapi/v2"))
        .await;
    assert_eq!(openapi.status, 404, "without which the API server does");
}

#[tokio::test]
async fn headers_count_for_nothing_without_the_front_proxys_certificate() {
    let served = Served::start().await;
    served.publish(Some(known(4100.0)));
    let scheduler = served
        .bundle
        .issue_scheduler_client(evenkeel_clock::now(), DAY);
    let stranger = authority("front-proxy-ca");
    for (what, certificate, says) in [
        (
            "no certificate",
            None,
            "certificate of the front-proxy authority",
        ),
        (
            "another CA of the same name",
            Some(certificate(&stranger, PROXY)),
            "not signed by the front-proxy authority",
        ),
        (
            "the scheduler's certificate",
            Some(scheduler.unwrap()),
            "not signed by the front-proxy authority",
        ),
        (
            "a name that is not allowed",
            Some(certificate(&served.proxy, "kube-etcd-client")),
            "common name",
        ),
    ] {
        for path in [VALUES, GROUP, "/apis"] {
            let answer = served.ask(certificate.clone(), by_hpa(path)).await;
            assert_status(&answer, 401, "Unauthorized", says);
            assert!(!answer.text().contains("4100m"), "{what}");
        }
    }
    let nameless = Request::get(VALUES).header("X-Remote-Group", "system:masters");
    let nameless = served.ask(Some(served.proxy()), nameless).await;
    assert_status(&nameless, 401, "Unauthorized", "names no user");
    assert_eq!(
        served.api.reviews.load(Ordering::Relaxed),
        0,
        "nobody was asked about"
    );
}

#[tokio::test]
async fn the_front_proxys_certificate_opens_no_path_of_the_extender() {
    let served = Served::start().await;
    let filter = || Request::post("/scheduler/filter").header("content-type", "application/json");
    let refused = served.ask(Some(served.proxy()), filter()).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let scheduler = served
        .bundle
        .issue_scheduler_client(evenkeel_clock::now(), DAY);
    let answered = served.ask(Some(scheduler.unwrap()), filter()).await;
    assert_eq!(answered.status, 200, "{}", answered.text());
}

#[tokio::test]
async fn who_may_not_list_is_told_and_nobody_is_admitted_unasked() {
    let served = Served::start().await;
    served.publish(Some(known(4100.0)));
    let other = Request::get(VALUES).header("X-Remote-User", "system:serviceaccount:shop:web");
    let forbidden = served.ask(Some(served.proxy()), other).await;
    assert_status(
        &forbidden,
        403,
        "Forbidden",
        "system:serviceaccount:shop:web",
    );
    let elsewhere = VALUES.replace("shop", "bank");
    let forbidden = served.ask(Some(served.proxy()), by_hpa(&elsewhere)).await;
    assert_status(&forbidden, 403, "Forbidden", "bank");
    served.api.away.store(true, Ordering::Relaxed);
    let unasked = served.ask(Some(served.proxy()), by_hpa(VALUES)).await;
    assert_status(&unasked, 503, "ServiceUnavailable", "cannot be asked");
    served.api.away.store(false, Ordering::Relaxed);
    let answered = served.ask(Some(served.proxy()), by_hpa(VALUES)).await;
    assert_eq!(answered.status, 200, "that it was away is not kept");
}

#[tokio::test]
async fn what_is_not_known_is_an_error_and_never_nothing() {
    let served = Served::start().await;
    let ask = async |path: &str| served.ask(Some(served.proxy()), by_hpa(path)).await;
    assert_status(
        &ask(VALUES).await,
        503,
        "ServiceUnavailable",
        "just started",
    );
    served.publish(None);
    assert_status(
        &ask(VALUES).await,
        503,
        "ServiceUnavailable",
        "Deployment web",
    );
    served.publish(Some(known(0.0)));
    let zero: Value = serde_json::from_slice(&ask(VALUES).await.body).unwrap();
    assert_eq!(
        zero["items"][0]["value"], "0",
        "a load of none is one that is known"
    );
    let none = ask(&format!("{VALUES}?labelSelector=name%3Dnobody")).await;
    let none: Value = serde_json::from_slice(&none.body).unwrap();
    assert_eq!(none["items"], json!([]));
    let selector = ask(&format!("{VALUES}?labelSelector=a%20in")).await;
    assert_status(&selector, 400, "BadRequest", "labelSelector");
    let watched = ask(&format!("{VALUES}?watch=true")).await;
    assert_status(&watched, 405, "MethodNotAllowed", "watched");
    let mut change = by_hpa(VALUES);
    change = change.method("DELETE");
    let change = served.ask(Some(served.proxy()), change).await;
    assert_status(&change, 405, "MethodNotAllowed", "changed");
}
