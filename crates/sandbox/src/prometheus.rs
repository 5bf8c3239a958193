//! A Prometheus on loopback that answers the queries of the dev configuration, those of Evenkeel's
//! commands, and plain PromQL over the series of workloads, each now and in the past. Each resource
//! of nodes and of Pods has one metric name; `timestamp(name)` is the time of the exporter's last
//! scrape. Values come from the counters at the last scrape, so they are as late and as smooth as
//! real ones. Any other query is refused, with the unknown part.

mod evaluation;
mod expression;
mod grid;
mod history;
mod metrics;
mod names;
mod pre_run_history;
mod workload_query;

pub use self::names::{IO_PRESSURE, NETWORK_CAPACITY, NODE_METRICS, POD_METRICS};

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::history::PrometheusHistory;
use self::names::in_base_unit;
pub use self::pre_run_history::PreRunHistory;
use evenkeel_apiserver::{CpuMemoryUsage, ResourceMetrics, UsageMeasurement};
use evenkeel_units::{Amount, Resource, Resources};

use super::Timeline;
use crate::engine::ContainerShare;
use crate::machines::Machines;
use crate::scrape::ScrapedSample;

/// The service's check of node labels.
const PROBE: &str = "node_uname_info or node_memory_MemTotal_bytes or machine_memory_bytes";

/// For `metrics.k8s.io`, which has cpu and memory only.
pub struct ResourceReadings {
    machines: Machines,
    timeline: Timeline,
}

impl ResourceReadings {
    pub const fn new(machines: Machines, timeline: Timeline) -> Self {
        Self { machines, timeline }
    }

    fn reading(
        &self,
        namespace: &str,
        name: &str,
        sample: &ScrapedSample,
        shares: &[ContainerShare],
    ) -> UsageMeasurement {
        let part = |resource, part: f64| Amount::from_f64(sample.used[resource] * part).get();
        let usage = shares.iter().map(|share| CpuMemoryUsage {
            name: share.container.clone(),
            cpu_milli: part(Resource::Cpu, share.cpu),
            memory_bytes: part(Resource::Memory, share.memory),
        });
        UsageMeasurement {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            timestamp: self.timeline.date(sample.at),
            window: sample.window.unsigned_abs(),
            usage: usage.collect(),
        }
    }
}

impl ResourceMetrics for ResourceReadings {
    fn nodes(&self) -> Vec<UsageMeasurement> {
        let samples = self.machines.node_samples();
        let all = [ContainerShare {
            container: String::new(),
            cpu: 1.0,
            memory: 1.0,
        }];
        let reading =
            |(node, sample): &(String, ScrapedSample)| self.reading("", node, sample, &all);
        samples.iter().map(reading).collect()
    }

    fn pods(&self) -> Vec<UsageMeasurement> {
        let samples = self.machines.pod_samples();
        samples
            .iter()
            .map(|(pod, sample)| {
                let shares = self.machines.containers(pod);
                self.reading(pod.namespace(), pod.name(), sample, &shares)
            })
            .collect()
    }
}

/// Faults of the backend.
#[derive(Debug, Clone, Default)]
pub struct Behaviour(Arc<AtomicU8>);

/// Answers, refuses, or hangs.
const ANSWERS: u8 = 0;
const DOWN: u8 = 1;
const HANGS: u8 = 2;

impl Behaviour {
    /// Refuses every query while `down`.
    pub fn set_down(&self, down: bool) {
        self.0
            .store(if down { DOWN } else { ANSWERS }, Ordering::Relaxed);
    }

    /// Leaves every query without an answer while `hangs`.
    pub fn set_hanging(&self, hangs: bool) {
        self.0
            .store(if hangs { HANGS } else { ANSWERS }, Ordering::Relaxed);
    }
}

impl Behaviour {
    pub(crate) fn answers(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ANSWERS
    }
}

#[derive(Clone)]
struct Backend {
    machines: Machines,
    timeline: Timeline,
    behaviour: Behaviour,
    past: PrometheusHistory,
    /// Set once something was scraped: until then it is starting.
    scraped: Arc<OnceLock<()>>,
}

/// On a free port of loopback, with the past `before` the run; the future serves until it is
/// dropped.
///
/// # Errors
/// No port can be bound.
pub async fn serve(
    machines: Machines,
    timeline: Timeline,
    behaviour: Behaviour,
    before: PreRunHistory,
) -> std::io::Result<(SocketAddr, impl Future<Output = ()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let backend = Backend {
        machines,
        timeline,
        behaviour,
        past: PrometheusHistory::after(before),
        scraped: Arc::default(),
    };
    let recording = backend
        .past
        .clone()
        .record(backend.machines.clone(), backend.timeline.clone());
    let router = Router::new()
        .route("/api/v1/query", get(query).post(query))
        .route("/api/v1/query_range", get(query).post(query))
        .with_state(backend);
    let serving = async move {
        tokio::select! {
            // It ends with an error only if the listener is broken, which the service reports.
            _ = axum::serve(listener, router) => {}
            () = recording => {}
        }
    };
    Ok((address, serving))
}

async fn query(
    State(backend): State<Backend>,
    Form(form): Form<BTreeMap<String, String>>,
) -> Response {
    let behaviour = backend.behaviour.0.load(Ordering::Relaxed);
    if behaviour == DOWN || backend.is_starting() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if behaviour == HANGS {
        return std::future::pending().await;
    }
    let text = form.get("query").map_or("", String::as_str);
    let (kind, found) = if form.contains_key("step") {
        ("matrix", backend.past.answer(&form, &backend.timeline))
    } else {
        let known = backend.answer(text).map(Ok);
        ("vector", known.unwrap_or_else(|| backend.evaluate(text)))
    };
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            let error = format!("the Prometheus of evenkeel dev does not know this query: {why}");
            let body = json!({"status": "error", "errorType": "bad_data", "error": error});
            return (StatusCode::BAD_REQUEST, Json(body)).into_response();
        }
    };
    let data = json!({"resultType": kind, "result": found});
    Json(json!({"status": "success", "data": data})).into_response()
}

impl Backend {
    /// Like Prometheus itself, which refuses queries until it has data.
    fn is_starting(&self) -> bool {
        if self.scraped.get().is_none() && !self.machines.node_samples().is_empty() {
            self.scraped.get_or_init(|| ());
        }
        self.scraped.get().is_none()
    }

    fn answer(&self, text: &str) -> Option<Vec<Value>> {
        let inner = text
            .strip_prefix("timestamp(")
            .and_then(|rest| rest.strip_suffix(')'));
        let name = inner.unwrap_or(text);
        if name == NETWORK_CAPACITY.1 || name == IO_PRESSURE.1 {
            return Some(Vec::new());
        }
        if name == PROBE {
            return Some(self.nodes(|_| 1.0));
        }
        let of = |metrics: &Resources<(&str, &str)>| {
            Resource::ALL
                .into_iter()
                .find(|resource| metrics[*resource].1 == name)
        };
        let read_at = |sample: &ScrapedSample| {
            let at = self.timeline.date(sample.at);
            jiff::SignedDuration::from_nanos(i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX))
                .as_secs_f64()
        };
        if let Some(resource) = of(&NODE_METRICS) {
            return Some(self.nodes(|sample| match inner {
                Some(_) => read_at(sample),
                None => in_base_unit(resource, sample.used[resource]),
            }));
        }
        let resource = of(&POD_METRICS)?;
        let samples = self.machines.pod_samples().into_iter();
        let all = samples.map(|(pod, sample)| {
            let labels = json!({"namespace": pod.namespace(), "pod": pod.name()});
            self.series(&labels, in_base_unit(resource, sample.used[resource]))
        });
        Some(all.collect())
    }

    /// At the present time.
    fn evaluate(&self, text: &str) -> Result<Vec<Value>, String> {
        let expression = expression::parse(text)?;
        let now = self.timeline.now();
        let seconds = now.as_duration().as_secs_f64();
        let found = self
            .past
            .evaluate(&expression, seconds, self.timeline.at(now))?;
        let series = found.iter();
        Ok(series
            .map(|(labels, value)| self.series(&json!(labels), *value))
            .collect())
    }

    fn nodes(&self, value: impl Fn(&ScrapedSample) -> f64) -> Vec<Value> {
        let samples = self.machines.node_samples().into_iter();
        samples
            .map(|(node, sample)| self.series(&json!({"node": node}), value(&sample)))
            .collect()
    }

    /// A series of an instant vector.
    fn series(&self, labels: &Value, value: f64) -> Value {
        let now = self.timeline.now().as_second();
        json!({"metric": labels, "value": [now, value.to_string()]})
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Ratio;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::autoscaler;
    use crate::scenario::Scenario;

    #[test]
    fn the_configured_queries_are_answered_and_no_other() {
        let line = Ratio::new(0.8).unwrap();
        let machines = Machines::new(Scenario::mixed(), 1, line, autoscaler::SYNC);
        for at in 0..=30 {
            machines.step(SignedDuration::from_secs(at));
        }
        let timeline = Timeline::begun(Timestamp::from_second(1_000_000).unwrap());
        let backend = Backend {
            machines,
            timeline,
            behaviour: Behaviour::default(),
            past: PrometheusHistory::after(PreRunHistory::of(&Scenario::mixed(), 1)),
            scraped: Arc::default(),
        };
        assert!(!backend.is_starting());
        for (_, name) in NODE_METRICS.values() {
            assert_eq!(backend.answer(name).unwrap().len(), 6, "{name}");
            let dated = backend.answer(&format!("timestamp({name})")).unwrap();
            let read_at = dated.iter().map(|series| {
                let seconds = series["value"][1].as_str().unwrap();
                seconds.parse::<u32>().unwrap() - 1_000_000
            });
            assert!(
                read_at.into_iter().all(|at| (15..=30).contains(&at)),
                "{dated:?}"
            );
        }
        for (_, name) in POD_METRICS.values() {
            assert_eq!(backend.answer(name), Some(Vec::new()));
        }
        assert_eq!(backend.answer("up"), None);
    }
}
