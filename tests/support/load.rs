//! A Prometheus on loopback with Pods that share a load. The load is a function of time, now and in
//! the past. The server can be broken in the ways that real ones break.
//!
//! Each metric of the configuration is one word. A range is answered for the one workload of the
//! Pods, whatever the query wraps the word in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use evenkeel_clock::Clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The node that carries all Pods.
pub(crate) const NODE: &str = "a";

/// How it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Fault {
    /// As it should.
    #[default]
    None,
    /// It refuses everything.
    Down,
    /// It answers nothing.
    Hangs,
    /// Usage is no number.
    NotANumber,
    /// Usage is below zero.
    Negative,
    /// Every series is there twice, as of a Prometheus that was added to another.
    Duplicate,
    /// Its clock is so far behind that all it has was measured long ago.
    Behind,
    /// Its clock is ahead.
    Ahead,
    /// It refuses the traffic, and nothing else.
    NoTraffic,
    /// Counters began anew in this many Pods: `rate` has nothing to say of them for a window.
    Reset(usize),
}

/// How far a wrong clock is off.
const OFF: SignedDuration = SignedDuration::from_mins(20);

type Load = Box<dyn Fn(Timestamp) -> f64 + Send>;

struct Inner {
    /// The clock that dates its samples.
    clock: Clock,
    /// Cores that all Pods use together.
    load: Load,
    /// Requests per second that come to all Pods together, and the number of Pods of the past.
    traffic: Option<(Load, Load)>,
    namespace: String,
    workload: String,
    /// The nodes with the cores that are used on them.
    nodes: Vec<(String, f64)>,
    pods: Vec<String>,
    fault: Fault,
    ranges: usize,
}

/// The one query of a target's own that is answered, with everything in its place: a hundred orders a
/// second for each core.
const ORDERS: &str = r#"sum(rate(orders_total{namespace="shop"}[20000ms]))"#;

/// The one query of the traffic that is answered, where there is any.
const REQUESTS: &str = r#"sum(rate(requests_total{namespace="shop"}[20000ms]))"#;

/// The running server; it ends when it is dropped.
pub(crate) struct Prometheus {
    /// Its address.
    pub url: String,
    /// The handle on its measurements and its behaviour.
    pub handle: Handle,
    server: JoinHandle<()>,
}

/// A server's measurements and behaviour; clones share them.
#[derive(Clone)]
pub(crate) struct Handle(Arc<Mutex<Inner>>);

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Prometheus {
    /// Starts one for the Pods of `namespace`/`workload`, such as `Deployment/web`; `load` gives
    /// the cores that they use together at a time of `clock`.
    pub(crate) async fn start(
        (namespace, workload): (&str, &str),
        clock: Clock,
        load: impl Fn(Timestamp) -> f64 + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let inner = Arc::new(Mutex::new(Inner {
            clock,
            load: Box::new(load),
            traffic: None,
            namespace: namespace.to_owned(),
            workload: workload.to_owned(),
            nodes: vec![(NODE.to_owned(), 1.0)],
            pods: Vec::new(),
            fault: Fault::None,
            ranges: 0,
        }));
        let router = Router::new()
            .route("/api/v1/query", post(instant))
            .route("/api/v1/query_range", post(range))
            .with_state(Arc::clone(&inner));
        let handle = Handle(inner);
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            url: format!("http://{address}"),
            handle,
            server,
        }
    }
}

impl Handle {
    /// From now on these Pods share the load.
    pub(crate) fn set_pods(&self, pods: &[String]) {
        lock(&self.0).pods = pods.to_vec();
    }

    /// From now on these nodes are measured, with so many cores in use.
    pub(crate) fn set_nodes(&self, nodes: &[(&str, f64)]) {
        let nodes = nodes
            .iter()
            .map(|(name, cores)| ((*name).to_owned(), *cores));
        lock(&self.0).nodes = nodes.collect();
    }

    /// From now on this is the load.
    pub(crate) fn set_load(&self, load: impl Fn(Timestamp) -> f64 + Send + 'static) {
        lock(&self.0).load = Box::new(load);
    }

    /// From now on so many requests per second come, and there were so many Pods.
    pub(crate) fn set_traffic(
        &self,
        requests: impl Fn(Timestamp) -> f64 + Send + 'static,
        pods: impl Fn(Timestamp) -> f64 + Send + 'static,
    ) {
        lock(&self.0).traffic = Some((Box::new(requests), Box::new(pods)));
    }

    /// Breaks it, or mends it.
    pub(crate) fn set_fault(&self, fault: Fault) {
        lock(&self.0).fault = fault;
    }

    /// The cores that the Pods use together at a time.
    pub(crate) fn load(&self, at: Timestamp) -> f64 {
        (lock(&self.0).load)(at)
    }

    /// How often the past was asked for.
    pub(crate) fn ranges(&self) -> usize {
        lock(&self.0).ranges
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

type Asked = Form<HashMap<String, String>>;

async fn instant(State(inner): State<Arc<Mutex<Inner>>>, Form(form): Asked) -> Response {
    let fault = lock(&inner).fault;
    match fault {
        Fault::Down => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Fault::Hangs => std::future::pending().await,
        Fault::NoTraffic if form["query"] == REQUESTS => {
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        _ => success("vector", &lock(&inner).vector(&form["query"])),
    }
}

async fn range(State(inner): State<Arc<Mutex<Inner>>>, Form(form): Asked) -> Response {
    let fault = lock(&inner).fault;
    lock(&inner).ranges += 1;
    match fault {
        Fault::Down => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Fault::Hangs => std::future::pending().await,
        _ => success("matrix", &lock(&inner).matrix(&form)),
    }
}

fn success(kind: &str, result: &[Value]) -> Response {
    Json(json!({"status": "success", "data": {"resultType": kind, "result": result}}))
        .into_response()
}

fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

impl Inner {
    fn vector(&self, query: &str) -> Vec<Value> {
        let now = self.clock.now();
        let of = |labels: Value, value: f64| json!({"metric": labels, "value": [seconds(now), value.to_string()]});
        let of_nodes = |value: &dyn Fn(f64) -> f64| {
            let nodes = self.nodes.iter();
            nodes
                .map(|(name, cores)| of(json!({"node": name}), value(*cores)))
                .collect()
        };
        if query.contains("timestamp(") {
            let at = match self.fault {
                Fault::Behind => now - OFF,
                Fault::Ahead => now + OFF,
                _ => now,
            };
            return of_nodes(&|_| seconds(at));
        }
        if query.starts_with("node_") {
            return of_nodes(&|cores| if query == "node_cpu" { cores } else { 1.0 });
        }
        if query == ORDERS {
            return vec![of(json!({}), 100.0 * (self.load)(now))];
        }
        if let Some((requests, _)) = self.traffic.as_ref().filter(|_| query == REQUESTS) {
            return vec![of(json!({}), requests(now))];
        }
        if query != "pod_cpu" {
            return Vec::new();
        }
        let gone = match self.fault {
            Fault::Reset(pods) => pods,
            _ => 0,
        };
        let counted = u32::try_from(self.pods.len()).expect("few Pods");
        let each = match self.fault {
            Fault::NotANumber => f64::NAN,
            Fault::Negative => -1.0,
            _ => (self.load)(now) / f64::from(counted),
        };
        let pods = self.pods.iter().skip(gone);
        let series = pods.map(|pod| of(json!({"namespace": self.namespace, "pod": pod}), each));
        self.twice(series.collect())
    }

    fn matrix(&self, form: &HashMap<String, String>) -> Vec<Value> {
        let query = &*form["query"];
        let traffic = self.traffic.as_ref();
        let of = |at: Timestamp| match traffic {
            _ if query == ORDERS => Some(100.0 * (self.load)(at)),
            Some((requests, _)) if query == REQUESTS => Some(requests(at)),
            Some((_, pods)) if query.starts_with("count by") => Some(pods(at)),
            _ => query.contains("pod_cpu").then(|| (self.load)(at)),
        };
        let number = |field: &str| -> f64 { form[field].parse().expect("a number") };
        let step = form["step"].strip_suffix("ms").expect("milliseconds");
        let step = step.parse::<f64>().expect("a number") / 1000.0;
        let (start, end) = (number("start"), number("end"));
        let mut points = Vec::new();
        let mut at = start;
        while at <= end + 0.001 {
            let since = SignedDuration::try_from_secs_f64(at).expect("a time");
            let time = Timestamp::UNIX_EPOCH + since;
            let value = match self.fault {
                Fault::NotANumber => f64::NAN,
                Fault::Negative => -1.0,
                _ => match of(time) {
                    Some(value) => value,
                    None => return Vec::new(),
                },
            };
            points.push(json!([at, value.to_string()]));
            at += step;
        }
        let labels = json!({"namespace": self.namespace, "workload": self.workload});
        self.twice(vec![json!({"metric": labels, "values": points})])
    }

    fn twice(&self, mut series: Vec<Value>) -> Vec<Value> {
        if self.fault == Fault::Duplicate {
            let again = series.clone();
            series.extend(again);
        }
        series
    }
}
