//! The real router over a cluster of the test's making, asked without a socket.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_clock as clock;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_placement::balance::{Normalization, ScoringStrategy};
use evenkeel_placement::profile::ProfileTable;
use evenkeel_placement::score_term_rules::ScoreTermRules;
use evenkeel_placement::{NodesToScore, SchedulingPolicy, node_table};
use evenkeel_service::api::EXPLAIN;
use evenkeel_service::cluster::{ClusterState, Settings, WATCHED};
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_service::controller::{WriteSwitch, Writes};
use evenkeel_service::dashboard::DashboardScalingState;
use evenkeel_service::server::handlers::Handlers;
use evenkeel_service::server::tls::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities, Peer, ServerCertificate,
};
use evenkeel_service::server::{BodyPace, ListenerMetrics, handlers};
use evenkeel_service::telemetry::{Registry, SpanRecorder};
use evenkeel_service::{dashboard, server, telemetry};
use evenkeel_units as units;
use evenkeel_units::{Ratio, Resources};
use http_body_util::BodyExt as _;
use hyper::Response as HttpResponse;
use jiff::SignedDuration;
use kube::Client;
use kube::client::Body as KubeBody;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use tower::ServiceExt as _;

/// The largest body of the admission path, in bytes.
pub(crate) const ADMISSION_BODY: u64 = 3 << 20;
/// The same for the extender.
pub(crate) const EXTENDER_BODY: u64 = 64 << 20;

/// The policy that stands where nothing is configured.
pub(crate) fn policy() -> SchedulingPolicy {
    SchedulingPolicy {
        headroom: Ratio::share(0.8).expect("a share"),
        headroom_by_priority_class: [].into(),
        profile_threshold: Ratio::share(0.15).expect("a share"),
        no_headroom: NoHeadroom::Reject,
        nodes_to_score: NodesToScore::ALL,
        relax_after: Some(SignedDuration::from_mins(5)),
        scoring: ScoringStrategy::pure(Normalization::Joint),
        profiles: ProfileTable::default(),
        caps_as_demand: false,
        default_capacity: Resources::default(),
        scheduler_name: None,
        score_labels: None,
        max_age: SignedDuration::from_mins(3),
    }
}

/// An empty cluster of which nothing has been listed.
pub(crate) fn unlisted(expects_metrics: bool) -> ClusterState {
    with_settings(false, expects_metrics)
}

/// An empty cluster of which nothing has been listed yet, with costs of deletion or without.
pub(crate) fn with_settings(balances_scale_in: bool, expects_metrics: bool) -> ClusterState {
    ClusterState::new(Settings {
        balances_scale_in,
        shape_policy: None,
        table: node_table::Settings::default(),
        capacities: Capacities::default(),
        caps_as_demand: false,
        expects_metrics,
    })
}

/// An empty cluster with score labels of which everything has been listed, and its policy.
#[allow(dead_code)] // the test of score terms has one
pub(crate) fn with_score_labels() -> (ClusterState, SchedulingPolicy) {
    let policy = SchedulingPolicy {
        score_labels: Some(ScoreTermRules::default()),
        ..policy()
    };
    let cluster = ClusterState::new(Settings {
        balances_scale_in: false,
        shape_policy: Some(Arc::new(policy.clone())),
        table: node_table::Settings::default(),
        capacities: Capacities::default(),
        caps_as_demand: false,
        expects_metrics: true,
    });
    listed(&cluster);
    (cluster, policy)
}

/// Everything there is has been listed.
pub(crate) fn listed(cluster: &ClusterState) {
    for kind in WATCHED {
        cluster.set_synced(kind);
    }
}

/// An empty cluster of which everything has been listed.
pub(crate) fn cluster(expects_metrics: bool) -> ClusterState {
    let cluster = unlisted(expects_metrics);
    listed(&cluster);
    cluster
}

/// Adds a namespace with these annotations.
pub(crate) fn add_namespace(cluster: &ClusterState, name: &str, annotations: &[(&str, &str)]) {
    let annotations: serde_json::Map<_, _> = annotations
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    let namespace = serde_json::json!({"metadata": {"name": name, "annotations": annotations}});
    let namespace = serde_json::from_value(namespace).expect("a namespace");
    cluster.apply_namespace(&namespace, cluster.now());
}

/// The router with a client at its other end.
pub(crate) struct Asked {
    handlers: Handlers,
    router: Router,
    /// Made at its first use, because a client needs a runtime.
    dashboard: OnceLock<Router>,
    registry: Registry,
    peer: Arc<Peer>,
    switch: WriteSwitch,
}

/// An answer of the service.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    /// True if it says when to come back, which no answer may.
    pub retry_after: bool,
    pub body: Bytes,
}

/// Certificates of a service, and those of a scheduler that it knows.
pub(crate) struct Certificates {
    store: Arc<CertificateStore>,
    scheduler: Vec<CertificateDer<'static>>,
}

impl Certificates {
    /// New ones; `scheduler_authority` is whether clients of the extender are to show theirs.
    pub(crate) fn new(scheduler_authority: bool) -> Self {
        let day = SignedDuration::from_hours(24);
        let validity = Validity::new(day * 3650, day * 90, day * 30).expect("in order");
        let names = Names::new(["localhost".to_owned()], []).expect("names");
        let bundle = Bundle::generate(clock::now(), &names, &validity).expect("a bundle");
        let authorities = scheduler_authority.then(|| {
            let pem = bundle.scheduler_ca_bundle();
            ClientAuthorities::default()
                .with_pem(Authority::Scheduler, pem.as_bytes())
                .expect("an authority")
        });
        let server = ServerCertificate::from_pem(
            bundle.server_certificate().as_bytes(),
            bundle.server_key().as_bytes(),
        );
        let change = CertificateUpdate {
            server: Some(server.expect("a certificate")),
            authorities,
        };
        let store = CertificateStore::new(change, ListenerMetrics::default()).expect("a store");
        let client = bundle
            .issue_scheduler_client(clock::now(), day)
            .expect("a client certificate");
        let chain = CertificateDer::pem_slice_iter(client.certificate.as_bytes())
            .map(|certificate| certificate.expect("PEM").into_owned())
            .collect();
        Self {
            store: Arc::new(store),
            scheduler: chain,
        }
    }
}

fn dashboard_of(handlers: &Handlers, client: Client) -> Router {
    dashboard::routes(handlers, &DashboardScalingState::default(), client)
}

/// A client whose server knows no object.
fn no_api_server() -> Client {
    let service = tower::service_fn(|_: Request<KubeBody>| async {
        let response = HttpResponse::builder().status(404);
        response.body(KubeBody::empty())
    });
    Client::new(service, "default")
}

/// Records no span.
fn off() -> SpanRecorder {
    SpanRecorder::default()
}

impl Asked {
    /// The paths of the HTTPS listener, called without a certificate where none is needed.
    pub(crate) fn new(cluster: ClusterState, policy: SchedulingPolicy) -> Self {
        Self::by(cluster, policy, &Certificates::new(false), false)
    }

    /// The same, with a span for each call.
    #[allow(dead_code)] // the tests of spans record them
    pub(crate) fn traced(
        cluster: ClusterState,
        policy: SchedulingPolicy,
        recorder: SpanRecorder,
    ) -> Self {
        let certificates = Certificates::new(false);
        Self::with_chain(cluster, policy, &certificates, (Vec::new(), recorder))
    }

    /// The same, called by kube-scheduler with its certificate or without one.
    pub(crate) fn by(
        cluster: ClusterState,
        policy: SchedulingPolicy,
        certificates: &Certificates,
        scheduler: bool,
    ) -> Self {
        let chain = if scheduler {
            certificates.scheduler.clone()
        } else {
            Vec::new()
        };
        Self::with_chain(cluster, policy, certificates, (chain, off()))
    }

    /// The same, asked by the scheduler of another cluster.
    pub(crate) fn by_client_of(
        other: &Certificates,
        cluster: ClusterState,
        policy: SchedulingPolicy,
        certificates: &Certificates,
    ) -> Self {
        let scheduler = (other.scheduler.clone(), off());
        Self::with_chain(cluster, policy, certificates, scheduler)
    }

    fn with_chain(
        cluster: ClusterState,
        policy: SchedulingPolicy,
        certificates: &Certificates,
        (chain, recorder): (Vec<CertificateDer<'static>>, SpanRecorder),
    ) -> Self {
        let metrics = handlers::HandlerMetrics::default();
        let mut registry = telemetry::registry();
        metrics.register(&mut registry);
        let switch = WriteSwitch::new(Writes::Enabled);
        let handlers =
            Handlers::new(cluster, Arc::new(policy), metrics, switch.clone()).with_spans(recorder);
        let many = NonZeroUsize::new(64).expect("not zero");
        let shipped = Config::load(&ConfigSources::default()).expect("the defaults");
        let settings = handlers::Settings {
            admission_body: units::Bytes(ADMISSION_BODY),
            extender_body: units::Bytes(EXTENDER_BODY),
            admission_concurrency: shipped.handlers.admission_concurrency,
            extender_concurrency: many,
            body_pace: BodyPace {
                grace: Duration::from_mins(1),
                rate: units::Bytes(EXTENDER_BODY),
                longest: Duration::from_mins(1),
            },
            admission_budget: units::Bytes(4 * ADMISSION_BODY),
            extender_budget: units::Bytes(4 * EXTENDER_BODY),
        };
        Self {
            router: handlers
                .routes(&settings, server::ListenerMetrics::default())
                .into_router(),
            dashboard: OnceLock::new(),
            handlers,
            registry,
            peer: Arc::new(Peer::new(Arc::clone(&certificates.store), chain)),
            switch,
        }
    }

    /// The same with an API server, which explanations of HPAs read.
    #[allow(dead_code)] // the test of the HPA reader does
    pub(crate) fn with_api_server(mut self, client: Client) -> Self {
        self.dashboard = dashboard_of(&self.handlers, client).into();
        self
    }

    fn dashboard_router(&self) -> Router {
        let made = || dashboard_of(&self.handlers, no_api_server());
        self.dashboard.get_or_init(made).clone()
    }

    /// Sets the kill switch.
    #[allow(dead_code)] // the test of score terms does
    pub(crate) fn set_writes(&self, writes: Writes) {
        self.switch.set(writes);
    }

    /// Asks why a Pod went where it went; the status and the body.
    #[allow(dead_code)] // the extender's test asks
    pub(crate) async fn explain(&self, namespace: &str, pod: &str) -> (StatusCode, Bytes) {
        let target = format!("{EXPLAIN}?namespace={namespace}&pod={pod}");
        self.explained(Request::get(target).body(Body::empty()))
            .await
    }

    /// Asks what would become of a Pod; the status and the body.
    #[allow(dead_code)] // the extender's test asks
    pub(crate) async fn what_if(&self, query: &str, pod: &Value) -> (StatusCode, Value) {
        self.what_if_text(query, pod.to_string()).await
    }

    /// The same of a body that may be no Pod.
    #[allow(dead_code)] // the extender's test asks
    pub(crate) async fn what_if_text(&self, query: &str, body: String) -> (StatusCode, Value) {
        let request = Request::post(format!("{EXPLAIN}{query}"));
        let (status, body) = self.explained(request.body(body.into())).await;
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    /// Reads a path of the dashboard.
    #[allow(dead_code)] // the test of the dashboard reads
    pub(crate) async fn dashboard(&self, target: &str) -> Response {
        self.dashboard_from(target, "none").await
    }

    /// The same from a page of the same site, or of another.
    #[allow(dead_code)] // the test of the dashboard reads
    pub(crate) async fn dashboard_from(&self, target: &str, site: &str) -> Response {
        let request = Request::get(target).header("sec-fetch-site", site);
        let request = request.body(Body::empty());
        let answered = self.dashboard_router().oneshot(request.expect("a request"));
        answered.await.expect("the router answers")
    }

    async fn explained(&self, request: axum::http::Result<Request<Body>>) -> (StatusCode, Bytes) {
        let request = request.expect("a request");
        let answered = self.dashboard_router().oneshot(request).await;
        let (head, body) = answered.expect("the router answers").into_parts();
        let body = body.collect().await.expect("the answer's body").to_bytes();
        (head.status, body)
    }

    /// The handlers' part of `/metrics`.
    #[allow(dead_code)] // the extender's test looks
    pub(crate) fn page(&self) -> String {
        telemetry::encode(&self.registry).expect("the metrics can be shown")
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, target: &str, body: impl Into<Bytes>) -> Answer {
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        self.send(target, &headers, body.into()).await
    }

    /// Posts a body under these headers.
    pub(crate) async fn send(
        &self,
        target: &str,
        headers: &[(String, String)],
        body: Bytes,
    ) -> Answer {
        let mut request = Request::post(target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut request = request.body(Body::from(body)).expect("a request");
        request.extensions_mut().insert(Arc::clone(&self.peer));
        let answered = self.router.clone().oneshot(request).await;
        let response = answered.expect("the router answers");
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("the answer's body").to_bytes();
        Answer {
            status: head.status,
            retry_after: head.headers.contains_key("retry-after"),
            body,
        }
    }
}
