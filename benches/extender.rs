//! Filter and prioritize from body to body: through the router, with the reservation and the
//! record for explanations that each answer leaves behind.

#[path = "../tests/support/answering.rs"]
#[allow(dead_code)] // shared with tests, which ask more
mod answering;

#[path = "../tests/support/collector.rs"]
mod collector;

mod support {
    pub(crate) mod fleet;
    pub(crate) mod percentiles;
}

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_clock as clock;
use evenkeel_objects::pod::Pod;
use evenkeel_service::config::{Config, ConfigSources, Override};
use evenkeel_service::server::paths::{FILTER, PRIORITIZE};
use evenkeel_service::span_export::SpanExporter;
use evenkeel_service::telemetry::{SpanMetrics, SpanRecorder};
use support::{fleet, percentiles};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const SIZES: [usize; 3] = [100, 1_000, 5_000];

/// The number of measured calls.
const CALLS: usize = 2_000;
const LARGE_CALLS: usize = 200;

fn service(nodes: usize) -> answering::Asked {
    traced_service(nodes, SpanRecorder::default())
}

fn traced_service(nodes: usize, recorder: SpanRecorder) -> answering::Asked {
    let cluster = answering::cluster(true);
    answering::add_namespace(
        &cluster,
        fleet::NAMESPACE,
        &[("evenkeel.dev/enabled", "true")],
    );
    fleet::fill(&cluster, nodes, nodes * 10);
    answering::Asked::traced(cluster, answering::policy(), recorder)
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

fn ask(runtime: &Runtime, service: &answering::Asked, path: &str, body: &Bytes) {
    let answer = runtime.block_on(service.post(path, body.clone()));
    assert!(answer.status.is_success(), "{answer:?}");
    black_box(answer);
}

fn by_names(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("filter + prioritize, names");
    for nodes in SIZES {
        let service = service(nodes);
        let bodies = fleet::by_names(nodes, fleet::ASKING);
        let both = |number: usize| {
            let body = &bodies[number % bodies.len()];
            ask(&runtime, &service, FILTER, body);
            ask(&runtime, &service, PRIORITIZE, body);
        };
        let name = format!("filter + prioritize, names, {nodes} nodes");
        let (mut number, mut first) = (0, true);
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            if std::mem::take(&mut first) {
                percentiles::report(&name, CALLS, both);
            }
            bencher.iter(|| {
                number += 1;
                both(number);
            });
        });
    }
    group.finish();
}

fn with_nodes(criterion: &mut Criterion) {
    let runtime = runtime();
    for (verb, path) in [("filter", FILTER), ("prioritize", PRIORITIZE)] {
        let mut group = criterion.benchmark_group(format!("{verb}, whole nodes"));
        group.sample_size(10);
        for nodes in SIZES {
            let service = service(nodes);
            let body = fleet::with_nodes(nodes);
            let name = format!("{verb}, {nodes} whole nodes, {} KB", body.len() / 1000);
            let mut first = true;
            group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
                if std::mem::take(&mut first) {
                    percentiles::report(&name, LARGE_CALLS, |_| {
                        ask(&runtime, &service, path, &body);
                    });
                }
                bencher.iter(|| ask(&runtime, &service, path, &body));
            });
        }
        group.finish();
    }
}

/// A second of a storm: 500 Pods that no node has room for, of which kube-scheduler asks about each again once in
/// ten seconds at the latest, while 100 other Pods are bound, so that no verdict holds for long.
fn storm(criterion: &mut Criterion) {
    const REFUSED: usize = 500;
    const CALLS_A_SECOND: usize = REFUSED / 10;
    const BINDS_A_SECOND: usize = 100;
    const NODES: usize = 5_000;
    let runtime = runtime();
    let cluster = answering::cluster(true);
    answering::add_namespace(
        &cluster,
        fleet::NAMESPACE,
        &[("evenkeel.dev/enabled", "true")],
    );
    fleet::fill(&cluster, NODES, NODES * 10);
    let service = answering::Asked::new(cluster.clone(), answering::policy());
    let bodies = fleet::refused(NODES, REFUSED);
    let answer = runtime.block_on(service.post(FILTER, bodies[0].clone()));
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(answer["NodeNames"], serde_json::json!([]), "none passes");
    let pods: Vec<Pod> = (0..4_096)
        .map(|number| fleet::bound_pod(NODES * 10 + number, number * 7 % NODES))
        .collect();
    let (mut asked, mut bound) = (0, 0);
    let mut second = |_| {
        for turn in 0..BINDS_A_SECOND {
            let pod = &pods[bound % pods.len()];
            // Once all are bound they go again, one after another.
            if (bound / pods.len()).is_multiple_of(2) {
                cluster.apply_pod(pod, clock::now());
            } else {
                cluster.remove_pod(pod.uid(), clock::now());
            }
            bound += 1;
            if turn.is_multiple_of(BINDS_A_SECOND / CALLS_A_SECOND) {
                asked += 1;
                ask(&runtime, &service, FILTER, &bodies[asked % bodies.len()]);
            }
        }
    };
    percentiles::report(
        "a second of 500 refused Pods and 100 binds, 5,000 nodes",
        60,
        &mut second,
    );
    let mut group = criterion.benchmark_group("500 refused Pods and 100 binds");
    group.sample_size(10);
    group.bench_function("a second", |bencher| bencher.iter(|| second(0)));
    group.finish();
}

/// Records spans at this rate, and exports them to a collector on threads of their own.
fn recorder(exporting: &Runtime, rate: u32) -> SpanRecorder {
    let (endpoint, _) = exporting.block_on(collector::start([]));
    let flag = |path: &str, value: String| Override {
        flag: "--set".to_owned(),
        path: path.to_owned(),
        value,
    };
    let sources = ConfigSources {
        flags: vec![
            flag("tracing.endpoint", endpoint),
            flag("tracing.samplingRatePerMillion", rate.to_string()),
        ],
        ..ConfigSources::default()
    };
    let settings = Config::load(&sources).expect("a configuration").tracing;
    let settings = settings.expect("an endpoint");
    let (recorder, exporter) = SpanExporter::new(&settings, "", "", &SpanMetrics::default());
    exporting.spawn(exporter.run(CancellationToken::new()));
    recorder
}

/// Filter without spans and with them: each round measures all rates, one after another, so that a ratio
/// compares calls of the same minute.
#[allow(clippy::print_stdout)] // a measurement's result is what it prints
fn spans(_: &mut Criterion) {
    const ROUNDS: usize = 201;
    const CALLS: usize = 50;
    let (runtime, exporting) = (runtime(), Runtime::new().expect("a runtime"));
    for nodes in SIZES {
        let mut services = vec![("off", service(nodes))];
        for (name, rate) in [
            ("rate 0", 0),
            ("rate 1 %", 10_000),
            ("rate 100 %", 1_000_000),
        ] {
            services.push((name, traced_service(nodes, recorder(&exporting, rate))));
        }
        let bodies = fleet::by_names(nodes, fleet::ASKING);
        let mut times = vec![Vec::new(); services.len()];
        for round in 0..ROUNDS {
            for turn in 0..services.len() {
                let position = (round + turn) % services.len();
                let used = clock::thread_time();
                for call in 0..CALLS {
                    let body = &bodies[(round * CALLS + call) % bodies.len()];
                    ask(&runtime, &services[position].1, FILTER, body);
                }
                times[position].push(clock::thread_time().saturating_sub(used));
            }
        }
        println!("filter, {nodes} nodes, processor time of a call, median of {ROUNDS} rounds");
        for ((name, _), times_of) in services.iter().zip(&times) {
            let pairs = times_of.iter().zip(&times[0]);
            let ratios = pairs.map(|(with, without)| with.as_secs_f64() / without.as_secs_f64());
            let (time, ratio) = (
                median(times_of.clone(), Duration::cmp),
                median(ratios, f64::total_cmp),
            );
            let calls = u32::try_from(CALLS).expect("small");
            println!("    {name:10}  {:?}  x {ratio:.4}", time / calls);
        }
    }
}

fn median<T: Copy>(
    values: impl IntoIterator<Item = T>,
    order: impl FnMut(&T, &T) -> std::cmp::Ordering,
) -> T {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable_by(order);
    values[values.len() / 2]
}

criterion_group!(benches, spans, by_names, with_nodes, storm);
criterion_main!(benches);
