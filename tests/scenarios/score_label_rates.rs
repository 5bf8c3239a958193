//! kube-scheduler by itself and with score labels, on clusters of several sizes: how many Pods it places a second,
//! and how many of them on nodes without headroom. Half of the nodes have no room below the line for a Pod. The run
//! prints the figures of this machine; the reader judges the rates. `EVENKEEL_ROUNDS=10` compares ten rounds on up to
//! 1,000 nodes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::clear;
use crate::support::control_plane::evenkeel::Evenkeel;
use crate::support::control_plane::objects::{self, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, patch};

use super::throughput::{median, rounds, seconds_of_binding};
use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const APP: &str = "burst";
/// The use of every second node's network, in percent.
const HOT: f64 = 79.0;
/// The network that a Pod demands: 4 % of a node's.
const OF_A_POD: &str = "4MB/s";

/// The nodes, and the Pods of a burst on them. A node of the other half has room for 14, and gets at most 8: of more
/// Pods of one controller, kube-scheduler's default spread puts some on nodes without headroom.
const SIZES: [(usize, usize); 4] = [(50, 200), (150, 500), (500, 500), (1000, 500)];

/// Bursts so far, each in a namespace of its own.
static BURSTS: AtomicUsize = AtomicUsize::new(0);

/// The Pods of a burst.
#[derive(Clone, Copy)]
enum Pods {
    /// Of a Deployment, with kube-scheduler's default spread.
    Plain,
    /// With a preferred node term of their own, of this weight.
    Preferring(i32),
}

impl Pods {
    const ALL: [Self; 4] = [
        Self::Plain,
        Self::Preferring(1),
        Self::Preferring(50),
        Self::Preferring(100),
    ];

    fn name(self) -> String {
        match self {
            Self::Plain => "default spread".to_owned(),
            Self::Preferring(weight) => format!("a term of weight {weight}"),
        }
    }

    fn deployment(self, count: usize) -> Value {
        let mut template = json!({
            "metadata": {"labels": {"app": APP}, "annotations": {"evenkeel.dev/network-io": OF_A_POD}},
            "spec": {"containers": [{"name": "app", "image": "registry.example/app:1",
                "resources": {"requests": {"cpu": "40m", "memory": "16Mi"}}}]},
        });
        if let Self::Preferring(weight) = self {
            template["spec"]["affinity"] = json!({"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight,
                    "preference": {"matchExpressions": [{
                        "key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}}]}});
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": APP},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": APP}}, "template": template},
        })
    }
}

/// When the Pods of a burst come.
#[derive(Clone, Copy)]
enum Arrival {
    /// All of them before kube-scheduler starts, which takes them as fast as it can.
    Waiting,
    /// As fast as the ReplicaSet controller creates them.
    AtOnce,
    OverAMinute,
}

#[derive(Clone, Copy)]
struct BurstPlan {
    pods: Pods,
    count: usize,
    arrival: Arrival,
    /// In a namespace that has opted in.
    labelled: bool,
}

impl BurstPlan {
    const fn waiting(pods: Pods, count: usize, labelled: bool) -> Self {
        Self {
            pods,
            count,
            arrival: Arrival::Waiting,
            labelled,
        }
    }
}

/// The outcome of one burst.
struct Burst {
    rate: f64,
    /// The share of the Pods on nodes that had no room for them.
    on_hot: f64,
}

fn score_labels_keep_pods_off_nodes_without_headroom() {
    let sizes = if rounds() > 1 { SIZES.len() } else { 1 };
    for (nodes, pods) in SIZES.into_iter().take(sizes) {
        with_control_plane(async |plane| {
            let world = World::new(plane, nodes, Patience::Ample).await;
            heat(&world, |index| index.is_multiple_of(2));
            let evenkeel = world.serve_score_labels().await;
            teach(&world, &evenkeel).await;
            compare(&world, &evenkeel, pods).await;
            if nodes == SIZES[0].0 {
                of_every_kind(&world, &evenkeel, pods).await;
            }
            evenkeel.assert_within_rights();
        });
    }
}

/// Alternates between Pods of a namespace that has not opted in and of one that has.
async fn compare(world: &World<'_>, evenkeel: &Evenkeel, pods: usize) {
    let nodes = world.node_names.len();
    let mut ratios = Vec::new();
    for round in 0..rounds() {
        let order = if round % 2 == 0 {
            [false, true]
        } else {
            [true, false]
        };
        let mut rates = [0.0; 2];
        for labelled in order {
            let plan = BurstPlan::waiting(Pods::Plain, pods, labelled);
            let found = burst(world, evenkeel, plan).await;
            rates[usize::from(labelled)] = found.rate;
            report(&format!(
                "{nodes} nodes, labels {labelled}: {:.0} Pods/s, {:.1} % on hot nodes",
                found.rate,
                100.0 * found.on_hot
            ));
            assert_eq!(
                found.on_hot == 0.0,
                labelled,
                "{} of the Pods",
                found.on_hot
            );
        }
        ratios.push(rates[1] / rates[0]);
    }
    report(&format!(
        "{nodes} nodes: {:.2} of the plain rate, median of {} rounds ({ratios:.2?})",
        median(&mut ratios.clone()),
        ratios.len()
    ));
}

/// Pods with terms of their own, and all nodes without headroom.
async fn of_every_kind(world: &World<'_>, evenkeel: &Evenkeel, pods: usize) {
    for kind in Pods::ALL {
        both(world, evenkeel, &kind.name(), |labelled| {
            BurstPlan::waiting(kind, pods, labelled)
        })
        .await;
    }
    for (arrival, name) in [
        (Arrival::AtOnce, "300 at once"),
        (Arrival::OverAMinute, "300 over a minute"),
    ] {
        both(world, evenkeel, name, |labelled| BurstPlan {
            arrival,
            ..BurstPlan::waiting(Pods::Plain, 300, labelled)
        })
        .await;
    }
    heat(world, |_| true);
    await_labels(world, "every label is low", |_, level| level == 0).await;
    let plan = BurstPlan::waiting(Pods::Plain, pods, true);
    let full = burst(world, evenkeel, plan).await;
    report(&format!("all nodes full: {:.0} Pods/s", full.rate));
}

/// Reports a burst without score labels and one with them.
async fn both(
    world: &World<'_>,
    evenkeel: &Evenkeel,
    name: &str,
    plan: impl Fn(bool) -> BurstPlan,
) {
    let without = burst(world, evenkeel, plan(false)).await.on_hot;
    let labelled = burst(world, evenkeel, plan(true)).await.on_hot;
    report(&format!(
        "{name}: {:.1} % on hot nodes, without labels {:.1} %",
        100.0 * labelled,
        100.0 * without
    ));
}

fn heat(world: &World<'_>, is_hot: impl Fn(usize) -> bool) {
    for (index, node) in world.node_names.iter().enumerate() {
        world.load_network(node, if is_hot(index) { HOT } else { 20.0 });
    }
}

/// Lets the leader learn the shape of the Pods, and waits for its labels.
async fn teach(world: &World<'_>, evenkeel: &Evenkeel) {
    let plan = BurstPlan::waiting(Pods::Plain, 10, true);
    burst(world, evenkeel, plan).await;
    await_labels(world, "cold nodes have better labels", |index, level| {
        (level > 2) == (index % 2 == 1)
    })
    .await;
}

/// Waits until each node has a score label, and `is_right` says so of its position and level.
async fn await_labels(world: &World<'_>, what: &str, is_right: impl Fn(usize, u8) -> bool) {
    eventually(what, async || {
        let path = "/api/v1/nodes";
        let (_, nodes) = ask(&world.plane.client, "GET", path, &Value::Null).await;
        for (index, name) in world.node_names.iter().enumerate() {
            let level = level_of(&nodes, name).ok_or_else(|| format!("{name} has no label"))?;
            holds(is_right(index, level), || format!("{name}: {level}"))?;
        }
        Ok(())
    })
    .await;
}

/// The lowest of the node's score labels.
fn level_of(nodes: &Value, name: &str) -> Option<u8> {
    let mut items = nodes["items"].as_array()?.iter();
    let node = items.find(|node| node["metadata"]["name"] == name)?;
    let labels = node["metadata"]["labels"].as_object()?.iter();
    let of_scores = labels.filter(|(key, _)| key.starts_with("score.evenkeel.dev/"));
    of_scores
        .filter_map(|(_, value)| value.as_str()?.parse().ok())
        .min()
}

async fn burst(world: &World<'_>, evenkeel: &Evenkeel, plan: BurstPlan) -> Burst {
    let client = &world.plane.client;
    let count = plan.count;
    let number = BURSTS.fetch_add(1, Ordering::Relaxed);
    let namespace = &format!("burst-{number}");
    world.plane.stop_scheduler();
    let annotations: &[(&str, &str)] = if plan.labelled { &OPTED_IN } else { &[] };
    objects::create_namespace(client, namespace, annotations).await;
    if plan.labelled {
        world.await_webhook(namespace).await;
    }
    let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let mut configuration = plain_scheduling();
    configuration["clientConnection"] = json!({"qps": 5000, "burst": 5000});
    let binding = seconds_of_binding(client, namespace, count);
    let seconds = match plan.arrival {
        Arrival::Waiting => {
            create(client, &deployments, &plan.pods.deployment(count)).await;
            await_pods(client, namespace, count).await;
            let scheduling = world.plane.start_scheduler(configuration);
            tokio::join!(binding, scheduling).0
        }
        Arrival::AtOnce => {
            world.plane.start_scheduler(configuration).await;
            let deployment = plan.pods.deployment(count);
            tokio::join!(binding, create(client, &deployments, &deployment)).0
        }
        Arrival::OverAMinute => {
            world.plane.start_scheduler(configuration).await;
            create(client, &deployments, &plan.pods.deployment(0)).await;
            tokio::join!(binding, scale_over_a_minute(client, &deployments, count)).0
        }
    };
    let pods = objects::pods(client, namespace).await;
    let mut by_node: BTreeMap<&str, usize> = BTreeMap::new();
    for node in pods.iter().filter_map(node_of) {
        *by_node.entry(node).or_default() += 1;
    }
    let hot = world.node_names.iter().step_by(2);
    let on_hot: usize = hot.filter_map(|node| by_node.get(node.as_str())).sum();
    let (status, answer) = ask(
        client,
        "DELETE",
        &format!("{deployments}/{APP}"),
        &Value::Null,
    )
    .await;
    assert!(status < 300, "{status}: {answer}");
    clear::delete_pods(client, namespace).await;
    await_forgotten(evenkeel).await;
    let share = |pods: usize| f64::from(u32::try_from(pods).expect("hundreds"));
    Burst {
        rate: share(count) / seconds,
        on_hot: share(on_hot) / share(count),
    }
}

async fn scale_over_a_minute(client: &Client, deployments: &str, count: usize) {
    let path = format!("{deployments}/{APP}");
    for second in 1..=60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let replicas = json!({"spec": {"replicas": count * second / 60}});
        let (status, answer) = patch(client, &path, "merge", &replicas).await;
        assert_eq!(status, 200, "{answer}");
    }
}

async fn await_pods(client: &Client, namespace: &str, count: usize) {
    eventually("all Pods are created", async || {
        let pods = objects::pods(client, namespace).await.len();
        holds(pods == count, || format!("{pods} of {count}"))
    })
    .await;
}

/// Waits until the Pods of the last burst no longer count.
async fn await_forgotten(evenkeel: &Evenkeel) {
    eventually("no Pod counts any more", async || {
        let counted = evenkeel.metric("evenkeel_pods_in_flight", &[]).await;
        holds(counted == 0.0, || format!("{counted} Pods count"))
    })
    .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    score_labels_keep_pods_off_nodes_without_headroom,
]);
