//! The default queries against a real Prometheus that scrapes node_exporter, cAdvisor and
//! kube-state-metrics as the usual charts label them. An exporter with known values plays all
//! three.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_http_client::HeaderMap;
use evenkeel_objects::pod_name::PodName;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_service::metrics::prometheus::{
    ExporterMatchers, Grid, LabelMatchers, NodeLabel, PodSelection, PodsAsked, PromSeriesError,
    PrometheusConnection, PrometheusSource, Queries, SeriesTimes, Settings, Workloads,
};
use evenkeel_service::metrics::self_check::{MetricsFinding, NodeIdentity};
use evenkeel_service::metrics::{
    EndpointAccess, MetricsRound, MetricsSource, QueryRounds, QueryTimeLimits, UsageQuery,
    self_check,
};
use evenkeel_units::{Bytes, Resource, Resources};
use jiff::SignedDuration;

use crate::support::metrics_exporter as exporter;
use crate::support::metrics_exporter::Exporter;
use crate::support::metrics_server::Prometheus;

/// The longest wait for a condition; only a broken program takes so long.
const PATIENCE: Duration = Duration::from_mins(3);

/// Tolerance of a measured figure: scrapes of a busy machine come late.
const TOLERANCE: f64 = 0.1;

/// Rates are taken over so much: ten scrapes.
const WINDOW: SignedDuration = SignedDuration::from_secs(10);

/// Node 1 as kube-prometheus-stack labels it (by address only, and scraped by a second job as
/// well), node 2 as the plain Prometheus chart does, node 3 relabelled as by kube-prometheus. A
/// tenant's exporter says of node 1 what is true of node 3.
fn configuration(exporter: SocketAddr) -> String {
    let mut text =
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n".to_owned();
    for (job, path, labels) in [
        (
            "node-exporter",
            "node/1",
            "{instance: '10.0.0.1:9100', pod: ne-1}",
        ),
        ("service-endpoints", "node/1", "{instance: '10.0.0.1:9100'}"),
        (
            "service-endpoints-2",
            "node/2",
            "{instance: '10.0.0.2:9100', node: node-2}",
        ),
        ("relabelled", "node/3", "{instance: node-3}"),
        (
            "tenant",
            "node/3",
            "{instance: '10.2.3.4:8080', node: node-1}",
        ),
        (
            "kubelet",
            "cadvisor/1",
            "{instance: '10.0.0.1:10250', node: node-1}",
        ),
        (
            "nodes-cadvisor-2",
            "cadvisor/2",
            "{instance: node-2, kubernetes_io_hostname: node-2}",
        ),
        ("nodes-cadvisor-3", "cadvisor/3", "{instance: node-3}"),
        ("kube-state-metrics", "state", "{}"),
    ] {
        writeln!(
            text,
            "- {{job_name: {job}, metrics_path: /{path}, honor_labels: true, \
             static_configs: [{{targets: ['{exporter}'], labels: {labels}}}]}}"
        )
        .unwrap();
    }
    text
}

pub(crate) fn source(prometheus: &Prometheus, matchers: &str) -> Arc<PrometheusSource> {
    Arc::new(PrometheusSource::new(settings(prometheus, matchers)))
}

fn settings(prometheus: &Prometheus, matchers: &str) -> Settings {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Settings {
        connection: PrometheusConnection {
            url: prometheus.url.clone(),
            headers: HeaderMap::new(),
            access: EndpointAccess::default(),
            timeout: PATIENCE,
            body_limit: Bytes(1 << 20),
        },
        window: WINDOW,
        node_label: NodeLabel::Automatic,
        matchers: ExporterMatchers {
            node_exporter: matchers.parse().unwrap(),
            ..ExporterMatchers::default()
        },
        queries: Queries::default(),
    }
}

/// Samples until `wanted` is content, and says at the end what it last missed.
pub(crate) async fn until(
    source: &Arc<PrometheusSource>,
    prometheus: &Prometheus,
    mut wanted: impl FnMut(&MetricsRound) -> Result<(), String>,
) -> MetricsRound {
    let begun = clock::instant();
    let limits = QueryTimeLimits {
        deadline: PATIENCE,
        patience: PATIENCE,
    };
    let mut asking = QueryRounds::new(Arc::clone(source) as Arc<dyn MetricsSource>, limits);
    loop {
        let missing = match asking.round(clock::now()).await {
            Ok(round) => match wanted(&round) {
                Ok(()) => return round,
                Err(missing) => missing,
            },
            Err(error) => error.to_string(),
        };
        assert!(
            begun.elapsed() < PATIENCE,
            "{missing}\n{}",
            prometheus.log()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub(crate) fn near(what: &str, measured: Option<u64>, truth: f64) -> Result<(), String> {
    let exact = u32::try_from(measured.ok_or_else(|| format!("{what} is absent"))?);
    let measured = f64::from(exact.map_err(|_| format!("{what} is out of range"))?);
    if (measured - truth).abs() <= truth * TOLERANCE {
        Ok(())
    } else {
        Err(format!("{what} is {measured}, not {truth}"))
    }
}

/// Every figure of every node and Pod is what the exporter plays.
fn true_figures(round: &MetricsRound) -> Result<(), String> {
    for number in 1..=3 {
        let node = format!("node-{number}");
        let row = round.usage.node(&node);
        let truth = Resources::new([
            1000.0 * exporter::busy_cores(number),
            exporter::memory(number),
            exporter::received(number),
            2.0 * (1.0 + 1.0 / 3.0) * exporter::written(number),
            2.0 * 4e7,
        ]);
        for (resource, truth) in truth.iter() {
            let measured = row[resource].map(|measured| measured.value.get());
            near(&format!("{resource} of {node}"), measured, *truth)?;
        }
        let speed = round.usage.network_capacity.get(&*node);
        near("speed", speed.map(|speed| speed.get()), exporter::SPEED)?;
        for (pod, network) in [("web", Some(5e4)), ("host", None)] {
            true_pod(round, &format!("{pod}-{number}"), network)?;
        }
    }
    Ok(())
}

fn true_pod(round: &MetricsRound, name: &str, network: Option<f64>) -> Result<(), String> {
    let row = round.usage.pod(&PodName::new("shop", name));
    let truth = Resources::new([Some(400.0), Some(2e8), network, Some(3e5), Some(4e7)]);
    for (resource, truth) in truth.iter() {
        let measured = row[resource].map(evenkeel_units::Amount::get);
        match truth {
            Some(truth) => near(&format!("{resource} of {name}"), measured, *truth)?,
            None if measured.is_some() => return Err(format!("{resource} of {name} is counted")),
            None => {}
        }
    }
    Ok(())
}

async fn the_default_queries_measure_a_real_prometheus() {
    let (address, exporter) = exporter::start().await;
    let prometheus = Prometheus::start(&configuration(address));
    a_stranger_makes_no_node_idle(&prometheus).await;
    let source = source(&prometheus, r#"job!="tenant""#);
    let round = until(&source, &prometheus, true_figures).await;
    assert_eq!(round.failures().count(), 0);
    let nodes = round.usage.node_names();
    assert_eq!(nodes, ["node-1", "node-2", "node-3"].into());
    for report in &round.reports {
        let dropped: u64 = report.dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(dropped, 0, "{report:?}");
    }
    nodes_nobody_scrapes_are_found(&source, &round).await;
    workloads_are_summed_by_the_names_of_their_pods(&source, &prometheus).await;
    series_are_those_that_are_asked_for(&source).await;
    an_operators_own_query_for_pods_is_narrowed_too(&prometheus).await;

    counters_that_begin_anew_are_no_load(&source, &prometheus, &exporter).await;

    containers_are_dated_by_their_exporter(&source).await;
    exporter.gone.lock().unwrap().push(2);
    an_operators_own_query_grows_old_with_its_series(&prometheus).await;
    a_dead_node_ages(&prometheus, &exporter).await;
    a_dead_node_is_absent(&source, &prometheus).await;
}

/// A value of a container is as old as the scrape that brought it.
async fn containers_are_dated_by_their_exporter(source: &PrometheusSource) {
    let found = source.container_usage(&["shop"]).await.unwrap();
    let now = clock::now();
    assert!(found.len() >= 3, "{found:?}");
    for one in &found {
        let age = now.duration_since(one.at);
        assert!(!age.is_negative() && age < WINDOW, "{one:?}");
        assert!(one.used.cpu.get() > 0, "{one:?}");
    }
    let again = source.container_usage(&["shop"]).await.unwrap();
    let newest =
        |all: &[evenkeel_service::metrics::ContainerUsage]| all.iter().map(|one| one.at).max();
    assert!(newest(&again) >= newest(&found));
}

/// Without matchers the larger of two figures for a node counts, and it is told that there are two.
async fn a_stranger_makes_no_node_idle(prometheus: &Prometheus) {
    let source = source(prometheus, "");
    let round = until(&source, prometheus, |round| {
        let measured = round.usage.node("node-1")[Resource::Cpu];
        let larger = exporter::busy_cores(1).max(exporter::busy_cores(3));
        let measured = measured.map(|measured| measured.value.get());
        near("cpu of node-1", measured, 1000.0 * larger)
    })
    .await;
    let told = self_check::compare(&BTreeSet::new(), &round);
    let reasons: Vec<&str> = told.iter().map(MetricsFinding::reason).collect();
    assert!(reasons.contains(&"SeveralSeries"), "{told:?}");
}

/// A counter that falls is no negative use and no peak: `rate` goes on from zero.
async fn counters_that_begin_anew_are_no_load(
    source: &Arc<PrometheusSource>,
    prometheus: &Prometheus,
    exporter: &Exporter,
) {
    let begun = clock::instant();
    exporter.restarted.lock().unwrap().insert(1, begun);
    until(source, prometheus, |round| {
        let used = round.usage.of_pod("shop", "web-1", Resource::Cpu);
        let used = used.map_or(0, evenkeel_units::Amount::get);
        assert!(used <= 520, "{used} of 400 after a restart");
        // All of the window lies after it.
        if begun.elapsed() < WINDOW.unsigned_abs() + Duration::from_secs(2) {
            return Err("the window holds the restart".to_owned());
        }
        near("cpu of web-1", Some(used), 400.0)
    })
    .await;
}

/// Settings with a window in which a dead node still has values however slow this machine is.
fn settings_with_a_long_window(prometheus: &Prometheus) -> Settings {
    Settings {
        window: SignedDuration::try_from(2 * PATIENCE).unwrap(),
        ..settings(prometheus, r#"job!="tenant""#)
    }
}

/// A mean over the window still has a value, at the time of every answer, for a node without an exporter.
async fn an_operators_own_query_grows_old_with_its_series(prometheus: &Prometheus) {
    let mut settings = settings_with_a_long_window(prometheus);
    for (query, promql) in [
        (
            UsageQuery::Node(Resource::Memory),
            "max by ($node) (avg_over_time(node_memory_MemTotal_bytes{$exporter}[$window]))",
        ),
        (
            UsageQuery::Node(Resource::Cpu),
            "max by ($node) (avg_over_time(node_memory_MemTotal_bytes{$exporter}[$window]) \
             - avg_over_time(node_memory_MemAvailable_bytes{$exporter}[$window]))",
        ),
    ] {
        settings.queries.set(query, promql).unwrap();
    }
    let source = Arc::new(PrometheusSource::new(settings));
    until(&source, prometheus, |round| {
        for resource in [Resource::Memory, Resource::Cpu] {
            let at = |node| Some(round.usage.node(node)[resource]?.at);
            let (Some(dead), Some(alive)) = (at("node-2"), at("node-1")) else {
                return Err(format!("{resource} is not measured"));
            };
            if alive.duration_since(dead) < SignedDuration::from_secs(3) {
                return Err(format!("{resource} of the dead node looks fresh"));
            }
        }
        Ok(())
    })
    .await;
}

/// The last measurement of a dead node stays for a window, with the time of its scrape.
async fn a_dead_node_ages(prometheus: &Prometheus, exporter: &Exporter) {
    // Prometheus moves the time of a scrape by milliseconds, to make its intervals even.
    let rounding = SignedDuration::from_millis(100);
    let source = Arc::new(PrometheusSource::new(settings_with_a_long_window(
        prometheus,
    )));
    until(&source, prometheus, |round| {
        let at = |node| Some(round.usage.node(node)[Resource::Cpu]?.at);
        let (Some(dead), Some(alive)) = (at("node-2"), at("node-1")) else {
            return Err("a node is not measured".to_owned());
        };
        let read_at = exporter.read_at.lock().unwrap()[&2];
        assert!(
            dead <= read_at + rounding,
            "newer than the scrape that brought it"
        );
        if alive.duration_since(dead) < SignedDuration::from_secs(3) {
            return Err("the dead node looks fresh".to_owned());
        }
        Ok(())
    })
    .await;
}

/// A window after its death, a node and its Pods have no values.
async fn a_dead_node_is_absent(source: &Arc<PrometheusSource>, prometheus: &Prometheus) {
    let web = PodName::new("shop", "web-2");
    let round = until(source, prometheus, |round| {
        let web = round.usage.pod(&web);
        if round.usage.node_names().contains("node-2") || web.values().iter().any(Option::is_some) {
            return Err("node-2 or its Pod is still there".to_owned());
        }
        Ok(())
    })
    .await;
    assert_eq!(round.usage.node_names(), ["node-1", "node-3"].into());
}

/// `web-1` to `web-3` look like a StatefulSet's Pods, the others of a Deployment by its ending.
async fn workloads_are_summed_by_the_names_of_their_pods(
    source: &Arc<PrometheusSource>,
    prometheus: &Prometheus,
) {
    let name = |workload: &str| WorkloadName {
        namespace: "shop".into(),
        workload: workload.into(),
    };
    let begun = clock::instant();
    loop {
        let grid = Grid {
            // The values of a requested time are known half a window later.
            first: clock::now() - SignedDuration::from_secs(2) - source.lag(Resource::Cpu),
            step: SignedDuration::from_secs(1),
            points: 3,
        };
        let asked = source
            .workload_sums(Resource::Cpu, Workloads::In(&["shop"]), grid)
            .await;
        let found = asked.unwrap().unwrap();
        let dropped: u64 = found.dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(dropped, 0, "{found:?}");
        let wanted = [("StatefulSet/web", 1200.0), ("Deployment/api", 1500.0)];
        let near = wanted.iter().all(|(workload, truth)| {
            let points = found
                .sums
                .get(&name(workload))
                .map_or(&[][..], Vec::as_slice);
            points.len() == 3
                && points
                    .iter()
                    .all(|(_, sum)| (sum - truth).abs() < truth * TOLERANCE)
        });
        if near {
            break;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{found:?}\n{}",
            prometheus.log()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let elsewhere = Grid {
        first: clock::now(),
        step: SignedDuration::from_secs(1),
        points: 1,
    };
    let asked = source
        .workload_sums(Resource::Cpu, Workloads::In(&["other"]), elsewhere)
        .await;
    let found = asked.unwrap().unwrap();
    assert!(found.sums.is_empty() && found.series == 1, "{found:?}");
}

fn pods<'a>(namespace: &'a str, pods: PodSelection<'a>) -> PodsAsked<'a> {
    PodsAsked {
        namespace,
        pods,
        container: None,
        ready_only: false,
    }
}

/// The use of cpu now; the values in the order of the labels.
async fn cores(source: &PrometheusSource, asked: PodsAsked<'_>) -> Vec<f64> {
    let now = SeriesTimes::Now(clock::now());
    let series = source.pod_series(Resource::Cpu, &asked, now).await.unwrap();
    series.iter().map(|series| series.points[0].value).collect()
}

fn about(told: &[f64], truth: &[f64]) {
    let near = told.len() == truth.len()
        && told
            .iter()
            .zip(truth)
            .all(|(told, truth)| (told - truth).abs() <= truth * TOLERANCE);
    assert!(near, "{told:?} is not {truth:?}");
}

async fn series_are_those_that_are_asked_for(source: &PrometheusSource) {
    let names = ["web-1", "web-2"].map(str::to_owned);
    let each = pods("shop", PodSelection::Each(&names));
    about(&cores(source, each.clone()).await, &[0.4, 0.4]);
    let app = PodsAsked {
        container: Some("app"),
        ..each.clone()
    };
    about(&cores(source, app).await, &[0.3, 0.3]);
    about(
        &cores(source, pods("shop", PodSelection::Sum(&names))).await,
        &[0.8],
    );
    // Pods of the same names, and names that mean something to a regular expression.
    about(
        &cores(source, pods("bank", PodSelection::Each(&names))).await,
        &[],
    );
    let hostile = [".*".to_owned(), "web-1\"} or {pod=~\".+".to_owned()];
    about(
        &cores(source, pods("shop", PodSelection::Each(&hostile))).await,
        &[],
    );
    let web = WorkloadName {
        namespace: "shop".into(),
        workload: "StatefulSet/web".into(),
    };
    let grid = Grid {
        first: clock::now() - SignedDuration::from_secs(2),
        step: SignedDuration::from_secs(1),
        points: 2,
    };
    for (ready_only, truth) in [(false, 1.2), (true, 0.8)] {
        let asked = PodsAsked {
            ready_only,
            ..pods("shop", PodSelection::Workload(&web))
        };
        let past = source.pod_series(Resource::Cpu, &asked, SeriesTimes::Past(grid));
        let past = past.await.unwrap();
        assert_eq!(past.len(), 1, "{past:?}");
        let values: Vec<f64> = past[0].points.iter().map(|point| point.value).collect();
        about(&values, &[truth, truth]);
    }
    for (namespace, ready) in [
        ("shop", Some(2.0)),
        ("bank", Some(1.0)),
        ("shop\"} or {namespace=~\".+", None),
    ] {
        let matchers = LabelMatchers::default().equal("namespace", namespace);
        let promql = "sum(kube_pod_status_ready{condition=\"true\"})";
        let now = SeriesTimes::Now(clock::now());
        let series = source.metric_series(promql, &matchers, now).await.unwrap();
        let told = series.first().map(|series| series.points[0].value);
        assert_eq!(told, ready, "{namespace}");
    }
}

async fn an_operators_own_query_for_pods_is_narrowed_too(prometheus: &Prometheus) {
    let mut settings = settings(prometheus, "");
    let own = "sum by (namespace, pod) \
               (rate(container_cpu_usage_seconds_total{container=\"app\"}[$window]))";
    settings
        .queries
        .set(UsageQuery::Pod(Resource::Cpu), own)
        .unwrap();
    let source = PrometheusSource::new(settings);
    let names = ["web-1", "web-2"].map(str::to_owned);
    about(
        &cores(&source, pods("shop", PodSelection::Each(&names))).await,
        &[0.3, 0.3],
    );
    about(
        &cores(&source, pods("shop", PodSelection::Sum(&names))).await,
        &[0.6],
    );
    about(
        &cores(&source, pods("bank", PodSelection::Sum(&names))).await,
        &[],
    );
    let app = PodsAsked {
        container: Some("app"),
        ..pods("shop", PodSelection::Each(&names))
    };
    let now = SeriesTimes::Now(clock::now());
    let refused = source.pod_series(Resource::Cpu, &app, now).await;
    assert!(matches!(
        refused,
        Err(PromSeriesError::NoContainers(Resource::Cpu))
    ));
}

async fn nodes_nobody_scrapes_are_found(source: &PrometheusSource, round: &MetricsRound) {
    let nodes: Vec<NodeIdentity> = (1..=4)
        .map(|number| NodeIdentity {
            name: format!("node-{number}"),
            addresses: vec![("InternalIP".to_owned(), format!("10.0.0.{number}"))],
        })
        .collect();
    let names = nodes.iter().map(|node| &*node.name).collect();
    let findings = self_check::compare(&names, round);
    let unmeasured = MetricsFinding::Unmeasured {
        nodes: vec!["node-4".to_owned()],
        of: 4,
    };
    assert_eq!(findings, [unmeasured]);
    let series = source.probe().await.unwrap();
    assert_eq!(self_check::advise(&nodes, round, &series), None);
    assert!(
        series
            .iter()
            .any(|labels| labels.get("nodename").is_some_and(|n| n == "Node-1"))
    );
}

crate::support::trial::suite!(
    async [crate::support::trial::Requirement::Program("prometheus")] => [
        the_default_queries_measure_a_real_prometheus,
    ],
);
