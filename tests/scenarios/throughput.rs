//! The Pods per second that kube-scheduler places alone, with an extender that judges nothing, and with Evenkeel. 500
//! Pods wait before it starts, on a hundred nodes. The run prints the figures of this machine; the reader judges them.

use std::collections::HashSet;
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
use crate::support::control_plane::manifests::NAMESPACE;

use super::idle_extender::IdleExtender;
use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const NODES: usize = 100;
const PODS: usize = 500;

/// The extender that kube-scheduler calls.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Nobody,
    Idle(&'a IdleExtender),
    Evenkeel(&'a Evenkeel),
    /// By the webhook's name, by which it is offered HTTP/2.
    EvenkeelByHttp2(&'a Evenkeel),
}

impl<'a> Asked<'a> {
    const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "alone",
            Self::Idle(_) => "idle",
            Self::Evenkeel(_) => "with",
            Self::EvenkeelByHttp2(_) => "http2",
        }
    }

    const fn evenkeel(self) -> Option<&'a Evenkeel> {
        match self {
            Self::Nobody | Self::Idle(_) => None,
            Self::Evenkeel(asked) | Self::EvenkeelByHttp2(asked) => Some(asked),
        }
    }

    fn scheduling(self, world: &World<'_>) -> Value {
        let mut configuration = match self {
            Self::Nobody => plain_scheduling(),
            Self::Idle(asked) => asked.instead_of(world.scheduling()),
            Self::Evenkeel(_) | Self::EvenkeelByHttp2(_) => world.scheduling(),
        };
        if let Self::EvenkeelByHttp2(_) = self {
            let name = format!("evenkeel.{NAMESPACE}.svc");
            configuration["extenders"][0]["tlsConfig"]["serverName"] = json!(name);
        }
        // As many bindings as it can make, not the fifty a second of the default.
        configuration["clientConnection"] = json!({"qps": 5000, "burst": 5000});
        configuration
    }
}

fn five_hundred_pods_are_placed_on_a_hundred_nodes() {
    with_control_plane(async |plane| {
        let world = World::new(plane, NODES, Patience::Ample).await;
        run(&world, Asked::Nobody).await;
        let idle = IdleExtender::start().await;
        run(&world, Asked::Idle(&idle)).await;
        drop(idle);
        let evenkeel = world.serve_bursts().await;
        run(&world, Asked::Evenkeel(&evenkeel)).await;
        run(&world, Asked::EvenkeelByHttp2(&evenkeel)).await;
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

async fn run(world: &World<'_>, asked: Asked<'_>) {
    let (client, namespace) = (&world.plane.client, asked.name());
    let evenkeel = asked.evenkeel();
    world.plane.stop_scheduler();
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    if evenkeel.is_some() {
        world.await_webhook(namespace).await;
    }
    let pod = PodSketch::requesting("40m", "16Mi").annotated("evenkeel.dev/network-io", "4MB/s");
    objects::create_pods(client, namespace, PODS, &pod).await;
    let configuration = asked.scheduling(world);
    let taken = || {
        let [scheduler, apiserver] = world.plane.processor_seconds();
        let evenkeel = evenkeel.map_or(0.0, Evenkeel::processor_seconds);
        [scheduler, apiserver, evenkeel]
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
        "{namespace:5} {:.0} Pods/s, algorithm {:.2} ms; processor for each Pod: kube-scheduler with its start \
         {:.2} ms, kube-apiserver {:.2} ms, Evenkeel {:.2} ms",
        pods / seconds,
        1000.0 * of("sum") / of("count"),
        each[0],
        each[1],
        each[2]
    ));
    clear::delete_pods(client, namespace).await;
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
