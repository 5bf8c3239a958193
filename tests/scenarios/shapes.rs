//! Bursts of many shapes within one interval of measurements: where the Pods go without Evenkeel, with all of it,
//! and with each of the mechanisms alone by which a Pod counts before its binding is seen.
//!
//! All Pods of a burst wait before kube-scheduler starts, which takes and binds them as fast as it can. Their demand
//! together is seven tenths of what the nodes have left below the line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use evenkeel_service::metrics::exposition::Exposition;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::clear;
use crate::support::control_plane::objects::{self, PodSketch, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::between::{Between, Kept};
use super::throughput::{rounds, seconds_of_binding};
use super::volumes;
use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const NODES: usize = 10;
/// The share of the room that a burst takes.
const SHARE: f64 = 0.7;
const LINE: f64 = 80.0;
/// Longer than a Pod counts that no notice comes of where notices have been coming.
const UNNOTICED: Duration = Duration::from_secs(4);

/// A burst.
struct Shape {
    name: &'static str,
    pods: usize,
    /// Half of the nodes have twice the network of the others.
    mixed: bool,
    /// The special property of the Pods.
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
    /// Every second Pod belongs to another owner, and demands three times as much.
    TwoOwners,
    /// kube-scheduler may bind twenty a second.
    SlowBinding,
    /// Each waits for a volume, and none is made before a node is chosen for all of them; the second half comes
    /// seconds after the first.
    SlowVolumes,
}

const SHAPES: [Shape; 10] = [
    shape("equal nodes", 20, false, Special::Nothing),
    shape("equal nodes", 100, false, Special::Nothing),
    shape("equal nodes", 500, false, Special::Nothing),
    shape("mixed nodes", 100, true, Special::Nothing),
    shape("without requests", 100, true, Special::Silent),
    shape("soft spread", 100, true, Special::Spread),
    shape("soft affinity", 100, true, Special::Affinity),
    shape("two owners", 100, true, Special::TwoOwners),
    shape("slow binding", 100, true, Special::SlowBinding),
    shape("slow volumes", 100, true, Special::SlowVolumes),
];

const fn shape(name: &'static str, pods: usize, mixed: bool, special: Special) -> Shape {
    Shape {
        name,
        pods,
        mixed,
        special,
    }
}

/// The mechanisms that kube-scheduler works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    /// The extender, where a Pod counts once its binding is seen.
    Uncounted,
    /// The same, but the best node stands a point above the others.
    LeadAlone,
    /// The same, but a Pod counts where it was scored best until its binding is seen.
    GuessAlone,
    /// The same, but kube-scheduler tells its choices.
    NoticesAlone,
    /// All but these notices, as where another extender binds.
    WithoutNotices,
    Whole,
}

impl Mode {
    /// Without Evenkeel, and what users can have.
    const COMPARED: [Self; 3] = [Self::Plain, Self::Whole, Self::WithoutNotices];
    /// With single mechanisms.
    const REDUCED: [Self; 4] = [
        Self::Uncounted,
        Self::LeadAlone,
        Self::GuessAlone,
        Self::NoticesAlone,
    ];

    const fn has_notices(self) -> bool {
        matches!(self, Self::NoticesAlone | Self::Whole)
    }

    /// The mechanisms that a proxy between the two leaves, if a proxy is needed.
    const fn kept(self) -> Option<Kept> {
        let (lead, guess) = match self {
            Self::Plain | Self::WithoutNotices | Self::Whole => return None,
            Self::Uncounted | Self::NoticesAlone => (false, false),
            Self::LeadAlone => (true, false),
            Self::GuessAlone => (false, true),
        };
        Some(Kept { lead, guess })
    }
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

    /// The measured load there, in MB/s; among nodes of one size some are fuller than others.
    fn measured(&self, node: usize) -> f64 {
        let share = if node.is_multiple_of(2) { 0.5 } else { 0.1 };
        share * self.capacity(node)
    }

    /// The demand of a Pod, in MB/s.
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
            Special::SlowVolumes => {
                let claim = json!({"claimName": format!("pod-{pod}")});
                more["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": claim}]);
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

    /// kube-scheduler's configuration, and the proxy between it and Evenkeel.
    async fn scheduling(&self, mode: Mode, world: &World<'_>) -> (Value, Option<Between>) {
        let mut configuration = if mode == Mode::Plain {
            plain_scheduling()
        } else {
            world.scheduling()
        };
        // As many bindings as it can make, not the fifty a second of the default.
        let qps = if self.special == Special::SlowBinding {
            20
        } else {
            5000
        };
        configuration["clientConnection"] = json!({"qps": qps, "burst": qps});
        if mode == Mode::Plain {
            return (configuration, None);
        }
        let extender = &mut configuration["extenders"][0];
        if let Some(fields) = extender.as_object_mut().filter(|_| !mode.has_notices()) {
            fields.remove("bindVerb");
        }
        let mut between = None;
        if let Some(kept) = mode.kept() {
            let there = Between::start(extender, kept).await;
            there.lead(extender);
            between = Some(there);
        }
        (configuration, between)
    }
}

/// The outcome of one burst.
struct Outcome {
    /// The fullest node's network, in percent.
    fullest: f64,
    /// The standard deviation over the nodes, in points.
    spread: f64,
    /// Tries that found no node.
    refusals: f64,
    /// Mean time of an algorithm run, in milliseconds.
    algorithm: f64,
    /// Pods bound in a second.
    rate: f64,
}

fn bursts_of_every_shape_stay_below_the_line() {
    with_control_plane(async |plane| {
        let world = World::new(plane, NODES, Patience::Ample).await;
        let mut evenkeel = None;
        let mut plain = Vec::new();
        volumes::create_class(&plane.client).await;
        for mode in Mode::COMPARED {
            for shape in &SHAPES {
                set_up(&world, shape).await;
                if mode != Mode::Plain && evenkeel.is_none() {
                    evenkeel = Some(world.serve_bursts().await);
                }
                plain.push(run(&world, shape, mode).await);
            }
        }
        let shipped = plain.split_off(SHAPES.len());
        let modes = Mode::COMPARED.iter().skip(1);
        let runs = modes.flat_map(|mode| SHAPES.iter().zip(&plain).map(move |run| (mode, run)));
        for ((mode, (shape, plain)), found) in runs.zip(&shipped) {
            // If other plugins outvote the scores and no notice reports the choice, the fill of a
            // node depends on how fast bindings are seen.
            let is_outvoted = matches!(shape.special, Special::Affinity | Special::Spread);
            let most = if mode.has_notices() || !is_outvoted {
                LINE
            } else {
                plain.fullest
            };
            let name = shape.name;
            assert!(found.fullest < most, "{name}: {}", found.fullest);
            assert!(found.spread < plain.spread, "{name}");
        }
        assert!(plain.iter().any(|found| found.fullest >= LINE));
        evenkeel.expect("it runs").assert_within_rights();
    });
}

/// The run prints how full nodes become then; the reader judges it. `EVENKEEL_ROUNDS=2` has the largest burst, too.
fn bursts_of_every_shape_are_bound_whichever_mechanism_is_taken_away() {
    with_control_plane(async |plane| {
        let world = World::new(plane, NODES, Patience::Ample).await;
        volumes::create_class(&plane.client).await;
        let evenkeel = world.serve_bursts().await;
        for mode in Mode::REDUCED {
            // The largest burst has more than a third of all Pods.
            let sizes = if rounds() > 1 { 0..=500 } else { 0..=100 };
            for shape in SHAPES.iter().filter(|shape| sizes.contains(&shape.pods)) {
                set_up(&world, shape).await;
                run(&world, shape, mode).await;
            }
        }
        evenkeel.assert_within_rights();
    });
}

fn tell(shape: &Shape, mode: Mode, found: &Outcome) {
    report(&format!(
        "{:16} {:3} Pods {mode:14?} fullest {:5.1} % spread {:4.1} points {:3} refusals algorithm {:.2} ms \
         {:.0} Pods/s",
        shape.name,
        shape.pods,
        found.fullest,
        found.spread,
        found.refusals,
        found.algorithm,
        found.rate
    ));
}

async fn set_up(world: &World<'_>, shape: &Shape) {
    for (index, node) in world.node_names.iter().enumerate() {
        let capacity = format!("{}MB/s", shape.capacity(index));
        world.set_network_capacity(node, &capacity).await;
        world.load_network(node, shape.measured(index));
    }
}

async fn run(world: &World<'_>, shape: &Shape, mode: Mode) -> Outcome {
    let client = &world.plane.client;
    let name = shape.name.replace(' ', "-");
    let namespace = &format!("{name}-{}-{mode:?}", shape.pods).to_lowercase();
    world.plane.stop_scheduler();
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    if mode != Mode::Plain {
        world.await_webhook(namespace).await;
    }
    let (configuration, between) = shape.scheduling(mode, world).await;
    let waits = shape.special == Special::SlowVolumes;
    let first = if waits { shape.pods / 2 } else { shape.pods };
    create_pods(client, shape, namespace, 0..first).await;
    let (seconds, ()) = tokio::join!(seconds_of_binding(client, namespace, shape.pods), async {
        world.plane.start_scheduler(configuration).await;
        if waits {
            await_chosen(client, namespace, first).await;
            tokio::time::sleep(UNNOTICED).await;
            create_pods(client, shape, namespace, first..shape.pods).await;
            await_chosen(client, namespace, shape.pods).await;
            let chosen = volumes::chosen_for(client, namespace).await;
            volumes::make(client, namespace, &chosen).await;
        }
    });
    let found = await_bound(client, namespace, shape).await;
    let outcome = Outcome::of(world, shape, &found, seconds).await;
    drop(between);
    clear::delete_pods(client, namespace).await;
    tell(shape, mode, &outcome);
    outcome
}

impl Outcome {
    /// The outcome by the nodes' percents and kube-scheduler's own metrics.
    async fn of(world: &World<'_>, shape: &Shape, found: &[f64], seconds: f64) -> Self {
        let page = world.plane.scheduler_metrics().await;
        let metrics = Exposition::parse(&page);
        let of = |name: &str, labels: &[(&str, &str)]| metrics.sum(name, labels).unwrap_or(0.0);
        let refusals = of(
            "scheduler_schedule_attempts_total",
            &[("result", "unschedulable")],
        );
        let time = "scheduler_scheduling_algorithm_duration_seconds";
        let algorithm =
            1000.0 * of(&format!("{time}_sum"), &[]) / of(&format!("{time}_count"), &[]);
        let nodes = f64::from(u32::try_from(NODES).expect("ten"));
        let mean = found.iter().sum::<f64>() / nodes;
        let variance = found.iter().map(|percent| (percent - mean).powi(2));
        Self {
            fullest: found.iter().copied().fold(0.0, f64::max),
            spread: (variance.sum::<f64>() / nodes).sqrt(),
            refusals,
            algorithm,
            rate: f64::from(u32::try_from(shape.pods).expect("hundreds")) / seconds,
        }
    }
}

async fn create_pods(client: &Client, shape: &Shape, namespace: &str, pods: Range<usize>) {
    for pod in pods {
        let name = format!("pod-{pod}");
        if shape.special == Special::SlowVolumes {
            volumes::claim(client, namespace, &name).await;
        }
        shape.pod(pod).create(client, namespace, &name).await;
    }
}

/// Waits until a node is chosen for so many Pods that wait for their volumes, and tells how many of them show it.
async fn await_chosen(client: &Client, namespace: &str, pods: usize) {
    eventually("a node is chosen for each Pod", async || {
        let chosen = volumes::chosen_for(client, namespace).await.len();
        holds(chosen == pods, || format!("{chosen} of {pods}"))
    })
    .await;
    let all = objects::pods(client, namespace).await;
    let is_nominated = |pod: &&Pod| {
        let status = pod.status.as_ref();
        status.is_some_and(|status| status.nominated_node_name.is_some())
    };
    let nominated = all.iter().filter(is_nominated).count();
    report(&format!(
        "{nominated} of {pods} Pods that wait for volumes are nominated"
    ));
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

crate::support::trial::suite!(super::world::NEEDS => [
    bursts_of_every_shape_stay_below_the_line,
    bursts_of_every_shape_are_bound_whichever_mechanism_is_taken_away,
]);
