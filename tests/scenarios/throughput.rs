//! The Pods per second that kube-scheduler places alone, with an extender that judges nothing, and with Evenkeel. 500
//! Pods wait before it starts, on a hundred nodes. The run prints the figures of this machine; the reader judges them.
//! `EVENKEEL_ROUNDS=10` compares ten rounds.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use evenkeel_clock as clock;
use evenkeel_service::metrics::exposition::Exposition;

use crate::support::control_plane::clear;
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::report;
use crate::support::control_plane::with_control_plane;

use crate::support::control_plane::evenkeel::Evenkeel;

use super::idle_extender::IdleExtender;
use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const NODES: usize = 100;
const PODS: usize = 500;

/// The extender that kube-scheduler calls. Evenkeel runs in each case, and watches the same Pods.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Nobody,
    Idle(&'a IdleExtender),
    IdleByTls(&'a IdleExtender),
    Evenkeel,
    /// Which is not told of choices.
    EvenkeelUntold,
}

impl Asked<'_> {
    const IDLE_BY_TLS: &'static str = "idle-tls";

    const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "alone",
            Self::Idle(_) => "idle",
            Self::IdleByTls(_) => Self::IDLE_BY_TLS,
            Self::Evenkeel => "with",
            Self::EvenkeelUntold => "untold",
        }
    }

    fn scheduling(self, world: &World<'_>) -> Value {
        let mut configuration = match self {
            Self::Nobody => plain_scheduling(),
            Self::Idle(asked) | Self::IdleByTls(asked) => asked.instead_of(world.scheduling()),
            Self::Evenkeel | Self::EvenkeelUntold => world.scheduling(),
        };
        if let Self::EvenkeelUntold = self {
            let extender = configuration["extenders"][0].as_object_mut();
            extender.expect("an extender").remove("bindVerb");
        }
        // As many bindings as it can make, not the fifty a second of the default.
        configuration["clientConnection"] = json!({"qps": 5000, "burst": 5000});
        configuration
    }
}

/// The number of rounds: `EVENKEEL_ROUNDS`, or one. In each round kube-scheduler calls each extender once; rounds go to
/// and fro, so that a slow minute meets each alike.
#[allow(clippy::disallowed_methods)] // an option of this test
pub(super) fn rounds() -> usize {
    let rounds = std::env::var("EVENKEEL_ROUNDS").ok();
    rounds.map_or(1, |rounds| rounds.parse().expect("a number of rounds"))
}

fn five_hundred_pods_are_placed_on_a_hundred_nodes() {
    with_control_plane(async |plane| {
        let world = World::new(plane, NODES, Patience::Ample).await;
        let idle = IdleExtender::over_http().await;
        let idle_by_tls = IdleExtender::over_tls().await;
        let evenkeel = world.serve_bursts().await;
        let mut cases = [
            Asked::Nobody,
            Asked::Idle(&idle),
            Asked::IdleByTls(&idle_by_tls),
            Asked::Evenkeel,
            Asked::EvenkeelUntold,
        ];
        let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for round in 0..rounds() {
            for asked in cases {
                let namespace = format!("{}-{round}", asked.name());
                let rate = run(&world, &evenkeel, asked, &namespace).await;
                rates.entry(asked.name()).or_default().push(rate);
            }
            cases.reverse();
        }
        compare(&mut rates);
        let time = "evenkeel_extender_duration_seconds";
        for verb in ["filter", "prioritize", "bind"] {
            let of = async |part: &str| {
                let name = format!("{time}_{part}");
                evenkeel.metric(&name, &[("verb", verb)]).await
            };
            let (sum, count) = (of("sum").await, of("count").await);
            report(&format!(
                "{verb}: {:.0} µs of {count} calls",
                1e6 * sum / count
            ));
        }
        let waits = evenkeel.metric("evenkeel_extender_filter_waits_total", &[]);
        report(&format!("{} answers waited for a notice", waits.await));
        evenkeel.assert_within_rights();
    });
}

/// Reports the median rate of each case, and the median of its ratios to the idle extender over TLS in the same round.
fn compare(rates: &mut BTreeMap<&str, Vec<f64>>) {
    let idle = rates[Asked::IDLE_BY_TLS].clone();
    for (name, rates) in rates {
        let ratios = rates.iter().zip(&idle).map(|(own, idle)| own / idle);
        let mut ratios: Vec<f64> = ratios.collect();
        let (rate, ratio) = (median(rates), median(&mut ratios));
        let (least, most) = (ratios.first(), ratios.last());
        report(&format!(
            "{name:8} {rate:.0} Pods/s, {ratio:.2} of the idle extender over TLS ({:.2} to {:.2}), {} rounds",
            least.unwrap_or(&0.0),
            most.unwrap_or(&0.0),
            idle.len()
        ));
    }
}

/// Sorts them, too.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// Returns the Pods a second.
async fn run(world: &World<'_>, evenkeel: &Evenkeel, asked: Asked<'_>, namespace: &str) -> f64 {
    let client = &world.plane.client;
    world.plane.stop_scheduler();
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    world.await_webhook(namespace).await;
    let pod = PodSketch::requesting("40m", "16Mi").annotated("evenkeel.dev/network-io", "4MB/s");
    objects::create_pods(client, namespace, PODS, &pod).await;
    let configuration = asked.scheduling(world);
    let taken = || {
        let [scheduler, apiserver] = world.plane.processor_seconds();
        [scheduler, apiserver, evenkeel.processor_seconds()]
    };
    let before = taken();
    let (seconds, ()) = tokio::join!(
        seconds_of_binding(client, namespace, PODS),
        world.plane.start_scheduler(configuration)
    );
    let after = taken();
    let pods = f64::from(u32::try_from(PODS).expect("hundreds"));
    let each: [f64; 3] = std::array::from_fn(|of| 1000.0 * (after[of] - before[of]) / pods);
    let page = world.plane.scheduler_metrics().await;
    let metrics = Exposition::parse(&page);
    let time = "scheduler_scheduling_algorithm_duration_seconds";
    let of = |part: &str| metrics.sum(&format!("{time}_{part}"), &[]).unwrap_or(0.0);
    report(&format!(
        "{namespace:10} {:.0} Pods/s, algorithm {:.2} ms; processor for each Pod: kube-scheduler with its start \
         {:.2} ms, kube-apiserver {:.2} ms, Evenkeel {:.2} ms",
        pods / seconds,
        1000.0 * of("sum") / of("count"),
        each[0],
        each[1],
        each[2]
    ));
    clear::delete_pods(client, namespace).await;
    pods / seconds
}

/// The time from the first binding of so many Pods to the last, as a watch shows them.
pub(super) async fn seconds_of_binding(client: &Client, namespace: &str, count: usize) -> f64 {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let bound = watcher::Config::default().fields("spec.nodeName!=");
    let mut bound = std::pin::pin!(watcher(pods, bound).default_backoff().applied_objects());
    let mut seen = HashSet::new();
    let mut began: Option<Instant> = None;
    while seen.len() < count {
        if let Some(Ok(pod)) = bound.next().await {
            began.get_or_insert_with(clock::instant);
            seen.insert(pod.name_any());
        }
    }
    began.map_or(0.0, |began| {
        clock::instant().duration_since(began).as_secs_f64()
    })
}

crate::support::trial::suite!(super::world::NEEDS => [
    five_hundred_pods_are_placed_on_a_hundred_nodes,
]);
