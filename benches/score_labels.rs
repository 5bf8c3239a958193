//! The cost of score labels for a cluster of 5,000 nodes with 32 shapes in use, while 100 Pods are bound each
//! second and as many end: the processor time of the node table and of the leader's turn each second, and
//! the leader's patches of nodes. Sending them is not part of it.

#![allow(clippy::print_stdout)] // a measurement's result is what it prints

mod support {
    #[allow(dead_code)] // shared with the other benches
    pub(crate) mod fleet;
    pub(crate) mod percentiles;
}

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::node_table::{NodeTable, Settings};
use evenkeel_placement::plan::score_labels::{
    LabelledNode, LevelInputs, LevelPlanner, PATCHES_PER_SECOND,
};
use evenkeel_placement::score_labels::{Shape, ShapeTotals};
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_units::{Amount, Resource, Resources, count_as_f64};
use jiff::{SignedDuration, Timestamp};
use support::percentiles;

const NODES: usize = 5_000;
const BINDINGS: usize = 100;
/// Between two rounds of measurements, in seconds.
const ROUND: usize = 15;
/// Until every node has its first labels.
const FIRST_LABELS: usize = 200;
const SECONDS: usize = 300;
/// How long a Pod lives, in seconds.
const LIFE: usize = 60;

const CAPACITY: [u64; 5] = [16_000, 64 << 30, 1_250_000_000, 1_000_000_000, 400 << 30];

/// The same numbers each time.
fn mixed(number: usize) -> usize {
    let mixed = (number as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 40).unwrap_or(0)
}

/// 32 demands in different classes: two of each resource, of which each class is a fourth.
fn demand(number: usize) -> Resources<Amount> {
    let large = |bit: usize| (number >> bit) & 1 == 1;
    let step = |bit, small: u64| if large(bit) { small * 4 } else { small };
    let amounts = [
        step(0, 60),
        step(1, 60 << 20),
        step(2, 1_000_000),
        step(3, 1_000_000),
        step(4, 60 << 20),
    ];
    Resources::new(amounts).map(Amount::new)
}

struct Leader {
    table: NodeTable,
    policy: SchedulingPolicy,
    shapes: Vec<(Shape, Resources<Amount>)>,
    planner: LevelPlanner,
    inputs: LevelInputs,
    nodes: Vec<LabelledNode>,
    positions: HashMap<Arc<str>, usize>,
    pods: VecDeque<String>,
    patched: Patched,
}

/// The patches after all nodes have got their first labels.
#[derive(Default)]
struct Patched {
    seconds: usize,
    patches: usize,
    labels: usize,
    bytes: usize,
    waiting: usize,
}

impl Leader {
    fn new() -> Self {
        let mut table = NodeTable::new(Settings::default());
        let facts = NodeFacts {
            capacity: Resources::new(CAPACITY).map(|capacity| Some(Amount::new(capacity))),
            schedulable: true,
            ..NodeFacts::default()
        };
        let names: Vec<String> = (0..NODES).map(support::fleet::node_name).collect();
        for name in &names {
            table.apply_node(name, facts, at(0));
        }
        let unlabelled = |name: &String| LabelledNode {
            name: Arc::from(&**name),
            labels: BTreeMap::new(),
        };
        let nodes: Vec<LabelledNode> = names.iter().map(unlabelled).collect();
        let shapes = (0..32).map(demand);
        let shapes: Vec<_> = shapes
            .map(|demand| (Shape::of("normal", &demand), demand))
            .collect();
        Self {
            table,
            policy: Config::load(&ConfigSources::default())
                .expect("the defaults")
                .policy,
            planner: LevelPlanner::default(),
            inputs: inputs(&shapes),
            shapes,
            positions: nodes
                .iter()
                .enumerate()
                .map(|(at, node)| (Arc::clone(&node.name), at))
                .collect(),
            nodes,
            pods: VecDeque::new(),
            patched: Patched::default(),
        }
    }

    /// A round: each node between a fifth and two thirds full, and up to a hundredth off.
    fn measure(&mut self, second: usize) {
        let mut round = UsageSample::default();
        for (number, node) in self.nodes.iter().enumerate() {
            let used = Resources::from_fn(|resource: Resource| {
                let of = number * 5 + resource as usize;
                let share = 200 + mixed(of) % 450 + mixed(of ^ (second << 20)) % 10;
                let capacity = Resources::new(CAPACITY)[resource] / 1000;
                Some(NodeSample {
                    value: Amount::new(capacity * share as u64),
                    at: at(second),
                    window: SignedDuration::ZERO,
                })
            });
            round.insert_node(Arc::clone(&node.name), &used);
        }
        self.table.apply_sample(Arc::new(round), at(second));
        self.inputs.rounds += 1;
    }

    /// Pods that are bound now, and the end of the oldest ones.
    fn bind(&mut self, second: usize) {
        for pod in second * BINDINGS..(second + 1) * BINDINGS {
            let name = format!("web-{pod}");
            let demand = self.shapes[pod % self.shapes.len()].1;
            let node = &self.nodes[mixed(pod) % NODES].name;
            let known = PodName::new(support::fleet::NAMESPACE, &name);
            let facts = BoundPod::on(&known, Some(node), demand);
            self.table.apply_pod(&name, &facts, at(second));
            self.pods.push_back(name);
        }
        while self.pods.len() > BINDINGS * LIFE {
            let oldest = self.pods.pop_front().expect("there are more");
            self.table.remove_pod(&oldest, at(second));
        }
    }

    /// The leader's work of a second, with the patches applied as the API server would.
    fn turn(&mut self, second: usize) {
        let labelled = self.planner.shapes().clone();
        self.planner.choose(&self.inputs, &labelled, at(second));
        let nodes = self.table.nodes();
        self.planner
            .compute(&self.inputs, nodes, &self.policy, at(second));
        let due = self.planner.changes(&self.nodes);
        let waiting = due.len().saturating_sub(PATCHES_PER_SECOND);
        for change in due.into_iter().take(PATCHES_PER_SECOND) {
            let node = &mut self.nodes[self.positions[&change.node]];
            for (key, level) in &change.labels {
                let level = level.expect("no shape goes").value();
                node.labels.insert(key.clone(), level.into());
            }
            if second >= FIRST_LABELS {
                self.patched.patches += 1;
                self.patched.labels += change.labels.len();
                self.patched.bytes += change.to_patch().to_string().len();
            }
        }
        if second >= FIRST_LABELS {
            self.patched.seconds += 1;
            self.patched.waiting = self.patched.waiting.max(waiting);
        }
    }
}

/// As many Pods of each shape; some of each are bound each second.
fn inputs(shapes: &[(Shape, Resources<Amount>)]) -> LevelInputs {
    let mut inputs = LevelInputs::default();
    for (shape, demand) in shapes {
        let pods = BINDINGS * LIFE / shapes.len();
        let mut totals = ShapeTotals::default();
        for _ in 0..pods {
            totals.add(demand);
        }
        inputs.counts.insert(shape.clone(), pods);
        inputs.totals.insert(shape.clone(), totals);
        inputs.bound.insert(shape.clone());
    }
    inputs
}

fn at(second: usize) -> Timestamp {
    let second = i64::try_from(second).expect("minutes");
    Timestamp::from_second(1_800_000_000 + second).expect("a time of this century")
}

fn main() {
    let mut leader = Leader::new();
    percentiles::report(
        "a second of the leader, 5,000 nodes, 32 shapes",
        SECONDS,
        |second| {
            if second.is_multiple_of(ROUND) {
                leader.measure(second);
            }
            leader.bind(second);
            leader.turn(second);
        },
    );
    let Patched {
        seconds,
        patches,
        labels,
        bytes,
        waiting,
    } = leader.patched;
    println!(
        "    {:.1} patches a second with {:.1} labels and {:.0} bytes each; at most {waiting} nodes wait",
        count_as_f64(patches) / count_as_f64(seconds),
        count_as_f64(labels) / count_as_f64(patches),
        count_as_f64(bytes) / count_as_f64(patches),
    );
}
