//! Bursts of many shapes within one interval of measurements: where the Pods go without Evenkeel, with it but
//! without the notices of kube-scheduler's choices, and with all of it.
//!
//! All Pods of a burst wait before kube-scheduler starts, so that it takes them as fast as it can. Their demand
//! together is seven tenths of what the nodes have left below the line.

use std::collections::BTreeMap;

use evenkeel::metrics::exposition::Exposition;
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::clear;
use crate::support::control_plane::objects::{self, PodSketch, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const NODES: usize = 10;
/// The share of the room that a burst takes.
const SHARE: f64 = 0.7;
const LINE: f64 = 80.0;

/// A burst.
struct Shape {
    name: &'static str,
    pods: usize,
    /// Half of the nodes have twice the network of the others.
    mixed: bool,
    /// What is special about the Pods.
    special: Special,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    Nothing,
    /// They request neither cpu nor memory.
    Silent,
    /// They ask softly for even numbers over the nodes.
    Spread,
    /// They prefer three of the nodes.
    Affinity,
    /// Every other one belongs to somebody else, and demands three times as much.
    TwoOwners,
    /// kube-scheduler may bind twenty a second.
    SlowBinding,
}

const SHAPES: [Shape; 9] = [
    shape("equal nodes", 20, false, Special::Nothing),
    shape("equal nodes", 100, false, Special::Nothing),
    shape("equal nodes", 500, false, Special::Nothing),
    shape("mixed nodes", 100, true, Special::Nothing),
    shape("without requests", 100, true, Special::Silent),
    shape("soft spread", 100, true, Special::Spread),
    shape("soft affinity", 100, true, Special::Affinity),
    shape("two owners", 100, true, Special::TwoOwners),
    shape("slow binding", 100, true, Special::SlowBinding),
];

const fn shape(name: &'static str, pods: usize, mixed: bool, special: Special) -> Shape {
    Shape {
        name,
        pods,
        mixed,
        special,
    }
}

/// What kube-scheduler works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    WithoutNotices,
    Whole,
}

impl Shape {
    /// How much a node can move over the network, in MB/s.
    fn capacity(&self, node: usize) -> f64 {
        if self.mixed && node < NODES / 2 {
            200.0
        } else {
            100.0
        }
    }

    /// What is measured there; of those of a size some are fuller than others.
    fn measured(&self, node: usize) -> f64 {
        let share = if node.is_multiple_of(2) { 0.5 } else { 0.1 };
        share * self.capacity(node)
    }

    /// What a Pod demands, in MB/s.
    fn demand(&self, pod: usize) -> f64 {
        let room = (0..NODES).map(|node| LINE / 100.0 * self.capacity(node) - self.measured(node));
        let pods = u32::try_from(self.pods).expect("hundreds");
        let mean = SHARE * room.sum::<f64>() / f64::from(pods);
        let factor = match self.special {
            Special::TwoOwners if pod.is_multiple_of(2) => 1.5,
            Special::TwoOwners => 0.5,
            _ => 1.0,
        };
        (mean * factor * 1000.0).floor() / 1000.0
    }

    fn pod(&self, pod: usize) -> PodSketch {
        let app = if pod.is_multiple_of(2) {
            "one"
        } else {
            "other"
        };
        let mut more = json!({"metadata": {"labels": {"app": app}}});
        match self.special {
            Special::Spread => {
                more["spec"]["topologySpreadConstraints"] = json!([{
                    "maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": app}}}]);
            }
            Special::Affinity => {
                let three: Vec<String> = (0..3).map(|node| format!("node-{node}")).collect();
                more["spec"]["affinity"] = json!({"nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100,
                        "preference": {"matchExpressions": [{
                            "key": "kubernetes.io/hostname", "operator": "In", "values": three}]}}]}});
            }
            _ => {}
        }
        let sketch = if self.special == Special::Silent {
            PodSketch::default()
        } else {
            PodSketch::requesting("40m", "16Mi")
        };
        let demand = format!("{:.0}kB/s", self.demand(pod) * 1000.0);
        sketch
            .annotated("evenkeel.dev/network-io", &demand)
            .with(more)
    }

    /// kube-scheduler's configuration.
    fn scheduling(&self, mode: Mode, world: &World<'_>) -> Value {
        let mut configuration = match mode {
            Mode::Plain => plain_scheduling(),
            Mode::WithoutNotices | Mode::Whole => world.scheduling(),
        };
        if mode == Mode::WithoutNotices {
            let extender = configuration["extenders"][0].as_object_mut();
            extender.expect("an extender").remove("bindVerb");
        }
        if self.special == Special::SlowBinding {
            configuration["clientConnection"] = json!({"qps": 20, "burst": 20});
        }
        configuration
    }
}

/// What came out.
struct Outcome {
    /// The fullest node's network, in percent.
    fullest: f64,
    /// The standard deviation over the nodes, in points.
    spread: f64,
    /// Tries that found no node.
    refusals: f64,
    /// Mean time of an algorithm run, in milliseconds.
    algorithm: f64,
}

#[test]
fn bursts_of_every_shape_stay_below_the_line() {
    with_control_plane(async |plane| {
        let world = World::new(plane, NODES, Patience::Ample).await;
        let mut evenkeel = None;
        let mut plain = Vec::new();
        for mode in [Mode::Plain, Mode::WithoutNotices, Mode::Whole] {
            for (number, shape) in SHAPES.iter().enumerate() {
                set_up(&world, shape).await;
                if mode != Mode::Plain && evenkeel.is_none() {
                    evenkeel = Some(world.serve_bursts().await);
                }
                let namespace = format!("shape-{number}-{mode:?}").to_lowercase();
                let found = run(&world, shape, mode, &namespace).await;
                report(&format!(
                    "{:16} {:3} Pods {mode:14?} fullest {:5.1} % spread {:4.1} points {:3} refusals \
                     algorithm {:.2} ms",
                    shape.name,
                    shape.pods,
                    found.fullest,
                    found.spread,
                    found.refusals,
                    found.algorithm
                ));
                if mode == Mode::Plain {
                    plain.push(found);
                    continue;
                }
                let name = shape.name;
                assert!(found.fullest < LINE, "{name}: {}", found.fullest);
                assert!(found.spread < plain[number].spread, "{name}");
            }
        }
        assert!(plain.iter().any(|found| found.fullest >= LINE));
        evenkeel.expect("it runs").assert_within_rights();
    });
}

async fn set_up(world: &World<'_>, shape: &Shape) {
    for (index, node) in world.node_names.iter().enumerate() {
        let capacity = format!("{}MB/s", shape.capacity(index));
        world.set_network_capacity(node, &capacity).await;
        world.load_network(node, shape.measured(index));
    }
}

async fn run(world: &World<'_>, shape: &Shape, mode: Mode, namespace: &str) -> Outcome {
    let client = &world.plane.client;
    world.plane.stop_scheduler();
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    if mode != Mode::Plain {
        world.await_webhook(namespace).await;
    }
    for pod in 0..shape.pods {
        let sketch = shape.pod(pod);
        sketch
            .create(client, namespace, &format!("pod-{pod}"))
            .await;
    }
    let configuration = shape.scheduling(mode, world);
    world.plane.start_scheduler(configuration).await;
    let found = await_bound(client, namespace, shape).await;
    let page = world.plane.scheduler_metrics().await;
    let metrics = Exposition::parse(&page);
    let of = |name: &str, labels: &[(&str, &str)]| metrics.sum(name, labels).unwrap_or(0.0);
    let refusals = of(
        "scheduler_schedule_attempts_total",
        &[("result", "unschedulable")],
    );
    let time = "scheduler_scheduling_algorithm_duration_seconds";
    let algorithm = 1000.0 * of(&format!("{time}_sum"), &[]) / of(&format!("{time}_count"), &[]);
    clear::delete_pods(client, namespace).await;
    let nodes = f64::from(u32::try_from(NODES).expect("ten"));
    let mean = found.iter().sum::<f64>() / nodes;
    let variance = found.iter().map(|percent| (percent - mean).powi(2));
    Outcome {
        fullest: found.iter().copied().fold(0.0, f64::max),
        spread: (variance.sum::<f64>() / nodes).sqrt(),
        refusals,
        algorithm,
    }
}

/// The percent of each node's network that is used once all Pods are bound.
async fn await_bound(client: &Client, namespace: &str, shape: &Shape) -> Vec<f64> {
    let added = eventually(&format!("all Pods of {namespace} are bound"), async || {
        let mut added: BTreeMap<String, f64> = BTreeMap::new();
        let pods = objects::pods(client, namespace).await;
        for pod in &pods {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let number = name.strip_prefix("pod-").and_then(|text| text.parse().ok());
            let node = node_of(pod).ok_or_else(|| format!("{name} has no node"))?;
            let demand = shape.demand(number.expect("a number"));
            *added.entry(node.to_owned()).or_default() += demand;
        }
        holds(pods.len() == shape.pods, || format!("{} Pods", pods.len()))?;
        Ok(added)
    })
    .await;
    let percent = |node: usize| {
        let added = added.get(&format!("node-{node}")).copied().unwrap_or(0.0);
        100.0 * (shape.measured(node) + added) / shape.capacity(node)
    };
    (0..NODES).map(percent).collect()
}
