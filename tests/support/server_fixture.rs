//! A running server with a few paths that do what a test needs.

#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)] // a fixture that cannot be set up fails its test

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_service::server::tls::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities, ServerCertificate,
};
use evenkeel_service::server::{
    BodyPace, BufferedRequest, Drain, DrainOutcome, DrainSettings, Listener, ListenerMetrics,
    ListenerSettings, LoadShedDecision, MetricsPage, PathLimits, Probes, Readiness, RouteEndpoint,
    Routes, SchedulerThread, ScrapeAccess, Shutdown, Transport,
};
use evenkeel_service::telemetry;
use evenkeel_service::telemetry::Registry;
use evenkeel_units::Bytes;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The largest body that the test's paths take.
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// Long enough for a machine under load; no test waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// No test waits for it either.
pub(crate) const PATIENT: BodyPace = BodyPace {
    grace: PATIENCE,
    rate: Bytes(1),
    longest: PATIENCE,
};

/// The options that a test chooses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub listener: ListenerSettings,
    /// How long readers of the metrics may take.
    pub reading: Duration,
    pub body_pace: BodyPace,
    pub concurrency: usize,
    /// The budget of each of the two callers, in bytes.
    pub body_budget: usize,
    pub drain: DrainSettings,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listener: ListenerSettings::new("test"),
            reading: PATIENCE,
            body_pace: PATIENT,
            concurrency: 64,
            body_budget: 1024 * BODY_LIMIT,
            drain: DrainSettings {
                delay: Duration::from_millis(200),
                timeout: PATIENCE,
            },
        }
    }
}

/// A server that serves.
pub(crate) struct Running {
    pub address: SocketAddr,
    pub store: Arc<CertificateStore>,
    pub bundle: Bundle,
    pub metrics: ListenerMetrics,
    pub registry: Arc<Registry>,
    /// A request to `/hold` waits for a permit of it.
    pub hold: Arc<Semaphore>,
    pub readiness: Readiness,
    pub probes: SocketAddr,
    /// The address of `/metrics` without authentication.
    pub scrapes: SocketAddr,
    pub shutdown: Shutdown,
    signal: UnboundedSender<()>,
    drained: JoinHandle<DrainOutcome>,
    _scheduler_thread: SchedulerThread,
}

/// The name by which kube-scheduler asks for the extender.
pub(crate) const EXTENDER_NAME: &str = "evenkeel-extender.evenkeel-system.svc";

pub(crate) fn names() -> Names {
    let names = ["localhost", EXTENDER_NAME].map(str::to_owned);
    Names::new(names, [[127, 0, 0, 1].into()]).unwrap()
}

pub(crate) fn bundle() -> Bundle {
    Bundle::generate(evenkeel_clock::now(), &names(), &Validity::default()).unwrap()
}

/// The bundle as the server takes it.
pub(crate) fn change(bundle: &Bundle) -> CertificateUpdate {
    let scheduler = bundle.scheduler_ca_bundle();
    let server = ServerCertificate::from_pem(
        bundle.server_certificate().as_bytes(),
        bundle.server_key().as_bytes(),
    );
    CertificateUpdate {
        server: Some(server.unwrap()),
        authorities: Some(
            ClientAuthorities::default()
                .with_pem(Authority::Scheduler, scheduler.as_bytes())
                .unwrap(),
        ),
    }
}

impl Running {
    pub(crate) fn start(options: Options) -> Self {
        let bundle = bundle();
        let metrics = ListenerMetrics::default();
        let store = CertificateStore::new(change(&bundle), metrics.clone()).unwrap();
        Self::start_with(Arc::new(store), metrics, bundle, options)
    }

    pub(crate) fn start_with(
        store: Arc<CertificateStore>,
        metrics: ListenerMetrics,
        bundle: Bundle,
        options: Options,
    ) -> Self {
        let mut registry = telemetry::registry();
        metrics.register(&mut registry);
        let registry = Arc::new(registry);
        let readiness = Readiness::default();
        let hold = Arc::new(Semaphore::new(0));
        let drain = Drain::new(options.drain);
        let scheduler_thread = SchedulerThread::start().unwrap();
        let tls = Transport::Tls {
            certificates: Arc::clone(&store),
            scheduler_thread: Some(scheduler_thread.handle()),
        };
        let listener = bind(options.listener, tls, &metrics);
        let address = listener.local_address().unwrap();
        tokio::spawn(listener.serve(routes(options, &metrics, &hold), drain.part()));
        let listener = bind(ListenerSettings::for_probes(), Transport::Plain, &metrics);
        let probes = listener.local_address().unwrap();
        let router = Probes {
            readiness: readiness.clone(),
            shutdown: drain.observer(),
        }
        .into_router();
        tokio::spawn(listener.serve(router, drain.observer()));
        let for_metrics = ListenerSettings {
            header_timeout: options.reading,
            ..ListenerSettings::for_metrics()
        };
        let listener = bind(for_metrics, Transport::Plain, &metrics);
        let scrapes = listener.local_address().unwrap();
        let page = MetricsPage::new(Arc::clone(&registry));
        let router = page.into_router(ScrapeAccess::Everybody);
        tokio::spawn(listener.serve(router, drain.observer()));
        let (signal, signals) = unbounded();
        Self {
            address,
            store,
            bundle,
            metrics,
            registry,
            hold,
            readiness,
            probes,
            scrapes,
            shutdown: drain.observer(),
            signal,
            drained: tokio::spawn(drain.run(signals)),
            _scheduler_thread: scheduler_thread,
        }
    }

    /// Sends what SIGTERM would.
    pub(crate) fn terminate(&self) {
        self.signal.unbounded_send(()).unwrap();
    }

    /// Waits until the service is over.
    pub(crate) async fn drained(self) -> DrainOutcome {
        let Self { drained, .. } = self;
        tokio::time::timeout(PATIENCE, drained)
            .await
            .expect("the service drains")
            .unwrap()
    }

    /// The value of a metric that counts, by the beginning of its line.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let page = telemetry::encode(&self.registry).unwrap();
        page.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
            .unwrap_or(0)
    }

    /// Waits until a metric has reached `value`.
    pub(crate) async fn metric_reaches(&self, name: &str, value: u64) {
        until(name, || self.metric(name) >= value).await;
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

fn bind(settings: ListenerSettings, transport: Transport, metrics: &ListenerMetrics) -> Listener {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    Listener::bind(any, settings, transport, metrics.clone()).unwrap()
}

fn routes(options: Options, metrics: &ListenerMetrics, hold: &Arc<Semaphore>) -> axum::Router {
    let endpoint = |path, authority| RouteEndpoint {
        path,
        limits: PathLimits {
            body: Bytes(BODY_LIMIT as u64),
            body_pace: options.body_pace,
            concurrency: NonZeroUsize::new(options.concurrency).unwrap(),
        },
        authority,
    };
    let hold = Arc::clone(hold);
    let waits = async move |call: BufferedRequest| {
        if call.load == LoadShedDecision::Shed {
            return "shed".to_owned();
        }
        hold.acquire().await.unwrap().forget();
        format!("held {}", call.body.len())
    };
    let budget = Bytes(options.body_budget as u64);
    let scheduler = Some(Authority::Scheduler);
    Routes::new(metrics.clone())
        .caller(
            "admission",
            budget,
            [
                (endpoint("/mutate", None), post(answer)),
                (endpoint("/echo", None), post(echo)),
                (endpoint("/hold", None), post(waits)),
                (endpoint("/panic", None), post(panics)),
            ],
        )
        .caller(
            "extender",
            budget,
            [(endpoint("/scheduler/filter", scheduler), post(answer))],
        )
        .into_router()
        .route("/plain", get(async || StatusCode::NO_CONTENT))
        .route("/thread", post(thread))
}

/// The name of the thread that answers.
async fn thread() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

async fn answer(call: BufferedRequest) -> String {
    format!("{} bytes", call.body.len())
}

/// An answer as large as the body.
async fn echo(call: BufferedRequest) -> bytes::Bytes {
    call.body.clone()
}

async fn panics(call: BufferedRequest) -> String {
    assert!(call.body.is_empty(), "a bug of ours");
    String::new()
}
