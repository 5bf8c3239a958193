//! The simulated machines: which Pods run where since when, what they use, and what a metrics
//! backend has seen of it.
//!
//! Kubelet reports to it which Pods it has; each tick computes loads, feeds the backends' counters
//! and the recorder. Nothing here knows of the API.

pub mod lag;
pub mod lifecycle;
mod pods;
pub mod summary;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;

pub use self::pods::{Bound, Share};

use self::lag::Lags;
use self::pods::{Life, stranger};
use self::summary::{Recorder, Summary};
use self::wanted::Wanted;
use crate::Event;
use crate::engine::lifecycle::{Lifecycle, Stage};
use crate::events::{NodeLoads, WorkloadLoad};
use crate::load::random::Random;
use crate::load::{self, NodeUse, Served, Used};
use crate::scenario::{NodeShape, Scenario, Workload};
use crate::scrape::{Sample, Scraper, Timing};
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Ratio, Resources};

/// The machines; clones share them.
#[derive(Clone)]
pub struct World(Arc<Mutex<Inner>>);

struct Inner {
    scenario: Scenario,
    random: Random,
    lives: BTreeMap<PodName, Life>,
    wanted: Wanted,
    refused: BTreeSet<PodName>,
    images: BTreeSet<(String, String)>,
    lost: BTreeSet<String>,
    nodes: Scraper<String>,
    pods: Scraper<PodName>,
    recorder: Recorder,
    last: Option<SignedDuration>,
}

impl World {
    /// Machines without Pods; `line` is the headroom line of the summary, and HPAs are looked at
    /// each `sync`.
    #[must_use]
    pub fn new(scenario: Scenario, seed: u64, line: Ratio, sync: SignedDuration) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            scenario,
            random: Random::new(seed),
            lives: BTreeMap::new(),
            wanted: Wanted::new(Lags::new(sync)),
            refused: BTreeSet::new(),
            images: BTreeSet::new(),
            lost: BTreeSet::new(),
            nodes: Scraper::new(Timing::default()),
            pods: Scraper::new(Timing::default()),
            recorder: Recorder::new(line),
            last: None,
        })))
    }

    /// Takes on a Pod; the second time it only answers.
    pub fn bound(&self, bound: &Bound, at: SignedDuration) -> Lifecycle {
        let Bound {
            pod,
            app,
            node,
            demand,
            containers,
        } = bound;
        let mut inner = self.lock();
        if let Some(life) = inner.lives.get(pod) {
            return life.lifecycle;
        }
        let workload = inner.scenario.workload(&pod.namespace, app).cloned();
        let workload = workload.unwrap_or_else(|| stranger(pod, app, demand));
        let image = format!("{}/{}", workload.namespace, workload.name);
        let cached = !inner.images.insert((node.clone(), image));
        let lifecycle = Lifecycle::new(&workload.startup, at, cached);
        let slot = inner.free_slot(&workload);
        let refused = inner.refused.remove(pod);
        let owner = (workload.namespace.as_str(), workload.name.as_str());
        inner.wanted.taken(owner, refused, at);
        let life = Life {
            node: node.clone(),
            workload,
            slot,
            lifecycle,
            containers: containers.clone(),
        };
        inner.lives.insert(pod.clone(), life);
        lifecycle
    }

    /// The life of a Pod that was taken on.
    #[must_use]
    pub fn life(&self, pod: &PodName) -> Option<Lifecycle> {
        self.lock().lives.get(pod).map(|life| life.lifecycle)
    }

    /// A workload is to have so many Pods; those that it lacks are due from `at` on.
    pub fn wanted(&self, (namespace, name): (&str, &str), replicas: u32, at: SignedDuration) {
        let mut inner = self.lock();
        let same =
            |life: &&Life| life.workload.namespace == namespace && life.workload.name == name;
        let have = inner.lives.values().filter(same).count();
        let wanted = usize::try_from(replicas).unwrap_or(usize::MAX);
        let missing = wanted.saturating_sub(have);
        inner.wanted.missing((namespace, name), missing, at);
    }

    /// How long Pods took until a node took them on.
    #[must_use]
    pub fn lags(&self) -> Lags {
        self.lock().wanted.lags().clone()
    }

    /// Only these Pods are left.
    pub fn retain(&self, keep: impl Fn(&PodName) -> bool) {
        let mut inner = self.lock();
        inner.lives.retain(|pod, _| keep(pod));
        inner.refused.retain(|pod| keep(pod));
    }

    /// A node that is lost or found: while it is lost nothing runs on it and nobody measures it.
    pub fn set_lost(&self, node: &str, lost: bool) {
        let mut inner = self.lock();
        if lost {
            inner.lost.insert(node.to_owned());
        } else {
            inner.lost.remove(node);
        }
    }

    /// Whether a node is lost.
    #[must_use]
    pub fn is_lost(&self, node: &str) -> bool {
        self.lock().lost.contains(node)
    }

    /// No node takes the Pod.
    pub fn refused(&self, pod: &PodName, at: SignedDuration) {
        let mut inner = self.lock();
        inner.recorder.refused(&key(pod), at);
        inner.refused.insert(pod.clone());
    }

    /// The Pod was placed.
    pub fn placed(&self, pod: &PodName, at: SignedDuration) {
        self.lock().recorder.settled(&key(pod), at);
    }

    /// Lets time pass until `at`; says how loaded everything is.
    pub fn tick(&self, at: SignedDuration) -> Event {
        self.lock().tick(at)
    }

    /// What the backends have seen of nodes.
    #[must_use]
    pub fn node_samples(&self) -> Vec<(String, Sample)> {
        let inner = self.lock();
        let samples = inner.nodes.samples();
        samples
            .map(|(node, sample)| (node.clone(), sample))
            .collect()
    }

    /// What the backends have seen of Pods.
    #[must_use]
    pub fn pod_samples(&self) -> Vec<(PodName, Sample)> {
        let inner = self.lock();
        let samples = inner.pods.samples();
        samples.map(|(pod, sample)| (pod.clone(), sample)).collect()
    }

    /// How the usage of a Pod is told apart.
    #[must_use]
    pub fn containers(&self, pod: &PodName) -> Vec<Share> {
        let inner = self.lock();
        let life = inner.lives.get(pod);
        life.map(|life| life.containers.clone()).unwrap_or_default()
    }

    /// What the run has come to so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.lock().recorder.summary()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The lowest number that no Pod of the workload has; it decides the noise, so that the Pods of
    /// two runs of one seed are alike whatever they are called.
    fn free_slot(&self, workload: &Workload) -> u32 {
        let same = |life: &&Life| is_same(&life.workload, workload);
        let taken: BTreeSet<u32> = self
            .lives
            .values()
            .filter(same)
            .map(|life| life.slot)
            .collect();
        (0..u32::MAX)
            .find(|slot| !taken.contains(slot))
            .unwrap_or(u32::MAX)
    }

    fn tick(&mut self, at: SignedDuration) -> Event {
        let passed = at.saturating_sub(self.last.replace(at).unwrap_or(at));
        let served = self.served(at);
        for (_, served) in &served {
            self.recorder.requests(served.offered, served.lost, passed);
        }
        let scaled = self
            .lives
            .values()
            .filter(|life| life.workload.scale.is_some());
        self.recorder.replicas(scaled.count(), passed);
        let wanted = self.wanted(at, &served);
        let nodes: Vec<(&NodeShape, NodeUse)> = self
            .scenario
            .nodes
            .iter()
            .map(|shape| {
                let here = wanted.iter().filter(|(_, node, _)| *node == shape.name);
                (
                    shape,
                    NodeUse::of(shape.capacity, here.map(|(_, _, used)| *used)),
                )
            })
            .collect();
        let alive = |node: &str| !self.lost.contains(node);
        let answering: Vec<NodeUse> = nodes
            .iter()
            .filter(|(shape, _)| alive(&shape.name))
            .map(|(_, used)| *used)
            .collect();
        self.recorder.observe(at, &answering);
        let loads = nodes
            .iter()
            .map(|(shape, used)| {
                let pods = self.lives.values().filter(|life| life.node == shape.name);
                NodeLoads::of(&shape.name, alive(&shape.name), pods.count(), used)
            })
            .collect();
        let pods = wanted.iter().map(|(pod, node, used)| {
            let node = nodes.iter().find(|(shape, _)| shape.name == *node);
            let granted = node.map_or_else(Used::default, |(_, node)| node.granted());
            let got = Resources::from_fn(|resource| used[resource] * granted[resource]);
            (pod.clone(), got)
        });
        self.pods.observe(at, pods);
        let seen = nodes.iter().filter(|(shape, _)| alive(&shape.name));
        self.nodes.observe(
            at,
            seen.map(|(shape, used)| (shape.name.clone(), used.given)),
        );
        let workloads = served
            .into_iter()
            .map(|(index, served)| self.load_of(index, at, &served));
        Event::Loads {
            nodes: loads,
            workloads: workloads.collect(),
        }
    }

    /// What each Pod wants, on nodes that are there.
    fn wanted(
        &self,
        at: SignedDuration,
        served: &[(usize, Served)],
    ) -> Vec<(PodName, String, Used)> {
        let of = |workload: &Workload| {
            let found = served
                .iter()
                .find(|(index, _)| is_same(&self.scenario.workloads[*index], workload));
            found.map(|(_, served)| *served).unwrap_or_default()
        };
        self.lives
            .iter()
            .filter(|(_, life)| !self.lost.contains(&life.node))
            .map(|(pod, life)| {
                let noise = format!("{}-{}", life.workload.name, life.slot);
                let noise = self.random.stream(&noise);
                let stage = life.lifecycle.stage(at);
                let used = load::replica(&life.workload, stage, &of(&life.workload), noise, at);
                (pod.clone(), life.node.clone(), used)
            })
            .collect()
    }

    /// The traffic of each workload that has arrived.
    fn served(&self, at: SignedDuration) -> Vec<(usize, Served)> {
        let workloads = self.scenario.workloads.iter().enumerate();
        workloads
            .filter(|(_, workload)| workload.arrival <= at)
            .map(|(index, workload)| {
                let in_trace = at.saturating_add(self.scenario.trace_offset);
                let serve = |traffic| load::serve(traffic, in_trace, self.ready(workload, at));
                (
                    index,
                    workload.traffic.as_ref().map(serve).unwrap_or_default(),
                )
            })
            .collect()
    }

    fn ready(&self, workload: &Workload, at: SignedDuration) -> u32 {
        let ready = |life: &&Life| {
            is_same(&life.workload, workload)
                && life.lifecycle.stage(at) == Stage::Ready
                && !self.lost.contains(&life.node)
        };
        u32::try_from(self.lives.values().filter(ready).count()).unwrap_or(u32::MAX)
    }

    fn load_of(&self, index: usize, at: SignedDuration, served: &Served) -> WorkloadLoad {
        let workload = &self.scenario.workloads[index];
        let all = self
            .lives
            .values()
            .filter(|life| is_same(&life.workload, workload));
        WorkloadLoad {
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            ready: self.ready(workload, at),
            replicas: u32::try_from(all.count()).unwrap_or(u32::MAX),
            offered: served.offered,
            lost: served.lost,
        }
    }
}

fn is_same(one: &Workload, other: &Workload) -> bool {
    one.name == other.name && one.namespace == other.namespace
}

fn key(pod: &PodName) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::autoscaler;
    use evenkeel_core::units::Resource;

    fn world() -> World {
        let line = Ratio::new(0.8).unwrap();
        World::new(Scenario::mixed(), 1, line, autoscaler::SYNC)
    }

    fn network(event: &Event, name: &str) -> f64 {
        let Event::Loads { nodes, .. } = event else {
            panic!("{event:?}")
        };
        let node = nodes.iter().find(|node| node.name == name).unwrap();
        node.utilisation[Resource::NetworkIo]
    }

    #[test]
    fn a_pod_loads_its_node_once_it_runs_and_no_more_when_it_is_gone() {
        let (world, second) = (world(), SignedDuration::from_secs);
        let bound = Bound {
            pod: PodName::new("media", "stream-a"),
            app: "stream".to_owned(),
            node: "small-1".to_owned(),
            demand: Resources::default(),
            containers: Vec::new(),
        };
        let life = world.bound(&bound, second(100));
        let idle = network(&world.tick(second(101)), "small-1");
        let busy = network(&world.tick(life.ready), "small-1");
        assert!(busy > idle + 0.3, "{idle} {busy}");
        world.retain(|_| false);
        let after = network(&world.tick(life.ready + second(1)), "small-1");
        assert!((after - idle).abs() < 1e-9);
    }

    #[test]
    fn the_backends_are_late_and_a_lost_node_is_not_measured() {
        let (world, second) = (world(), SignedDuration::from_secs);
        world.tick(second(0));
        assert!(world.node_samples().is_empty());
        for at in 1..=20 {
            world.tick(second(at));
        }
        assert_eq!(world.node_samples().len(), 6);
        assert!(
            world
                .node_samples()
                .iter()
                .all(|(_, sample)| sample.at == second(15))
        );
        world.set_lost("small-1", true);
        world.tick(second(21));
        assert_eq!(world.node_samples().len(), 5);
    }
}
