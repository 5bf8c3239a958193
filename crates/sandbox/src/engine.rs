//! The machines of a cluster under their load, in steps of the scenario's time. A driver binds Pods
//! to nodes. Each step computes the use of Pods, what nodes can give, what a metrics backend sees,
//! and the figures of the run. The engine has no API and no clock:
//! [`Machines`](crate::machines::Machines) steps it at the pace of a clock for `dev`,
//! [`Baseline`](crate::baseline::Baseline) as fast as possible.

pub mod lag;
pub mod loads;
mod pods;
pub mod requests;
pub mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;

pub use self::loads::{Loads, NodeLoads, WorkloadLoad};
pub use self::pods::{BoundPod, ContainerShare};

use evenkeel_objects::pod_name::PodName;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_units::Ratio;
use evenkeel_units::random::RandomSource;

use self::pods::{RunningPod, unknown_workload};
use self::requests::{RequestCounterKey, RequestCounters, RequestRate};
use self::summary::{RunSummary, SummaryBuilder};
use crate::lifecycle::{Lifecycle, Stage};
use crate::load::{NodeUse, ServedRequestRates};
use crate::scenario::{NodeShape, ScaleBy, Scenario, ScenarioWorkload};
use crate::scrape::{Exporter, ScrapedSample, Scraper};
use crate::scrape_timing::Timing;
use crate::usage::{ClusterUsage, PodNow};
use crate::{load, usage};

/// Virtual time step: shorter than anything in a Pod's life.
pub const STEP: SignedDuration = SignedDuration::from_secs(5);

/// Pods on their nodes, and their use so far.
pub struct Engine {
    nodes: Vec<NodeShape>,
    workloads: Vec<Arc<ScenarioWorkload>>,
    /// By workload: the scaling metric, with the capacity of a Pod.
    capacities: Vec<Option<(ScaleBy, PodCapacity)>>,
    trace_offset: SignedDuration,
    random: RandomSource,
    pods: BTreeMap<PodName, RunningPod>,
    /// Pairs of node and workload with a pulled image.
    images: BTreeSet<(String, String)>,
    lost: BTreeSet<String>,
    /// Workloads that have had a ready Pod; before that a workload gets no requests.
    opened: BTreeSet<usize>,
    timing: Timing,
    node_scraper: Scraper<String>,
    pod_scraper: Scraper<PodName>,
    requests: RequestCounters,
    summary: SummaryBuilder,
    stepped: Option<SignedDuration>,
}

impl Engine {
    /// The scenario's nodes without Pods; `line` is the headroom line of the summary.
    pub fn new(scenario: Scenario, seed: u64, line: Ratio) -> Self {
        let Scenario {
            name: _,
            trace_offset,
            past: _,
            nodes,
            workloads,
            faults: _,
            objects: _,
            simulation,
        } = scenario;
        let timing = simulation.timing();
        Self {
            nodes,
            capacities: workloads.iter().map(ScenarioWorkload::capacity).collect(),
            workloads: workloads.into_iter().map(Arc::new).collect(),
            trace_offset,
            random: RandomSource::new(seed),
            pods: BTreeMap::new(),
            images: BTreeSet::new(),
            lost: BTreeSet::new(),
            opened: BTreeSet::new(),
            timing,
            node_scraper: Scraper::new(timing),
            pod_scraper: Scraper::new(timing),
            requests: RequestCounters::new(timing),
            summary: SummaryBuilder::new(line),
            stepped: None,
        }
    }

    /// A running Pod only returns its lifecycle.
    pub fn bind(&mut self, bound: &BoundPod, at: SignedDuration) -> Lifecycle {
        if let Some(running) = self.pods.get(&bound.pod) {
            return running.lifecycle;
        }
        let (index, workload) = self.workload_of(bound);
        let image = format!("{}/{}", workload.namespace, workload.name);
        let cached = !self.images.insert((bound.node.clone(), image));
        let lifecycle = Lifecycle::new(&workload.startup, at, cached);
        let running = RunningPod {
            place: self.nodes.iter().position(|node| node.name == bound.node),
            node: bound.node.clone(),
            noise: self.noise_of(&workload),
            index,
            workload,
            lifecycle,
            is_open: true,
            containers: bound.containers.clone(),
        };
        self.pods.insert(bound.pod.clone(), running);
        lifecycle
    }

    /// By the Pod's readiness gates.
    pub fn set_open(&mut self, pod: &PodName, is_open: bool) {
        if let Some(running) = self.pods.get_mut(pod) {
            running.is_open = is_open;
        }
    }

    pub fn lifecycle(&self, pod: &PodName) -> Option<Lifecycle> {
        self.pods.get(pod).map(|running| running.lifecycle)
    }

    /// The first deletion counts. Returns when the Pod is gone; `None` if it does not run here.
    pub fn delete(&mut self, pod: &PodName, at: SignedDuration) -> Option<SignedDuration> {
        let running = self.pods.get_mut(pod)?;
        let deleted = running.lifecycle.delete(at);
        Some(deleted.saturating_add(running.workload.shutdown))
    }

    /// Ends all other Pods.
    pub fn retain(&mut self, keep: impl Fn(&PodName) -> bool) {
        self.pods.retain(|pod, _| keep(pod));
    }

    /// Pods of a workload that stay.
    pub fn replicas(&self, namespace: &str, name: &str) -> usize {
        let of = |pod: &&RunningPod| pod.is_of(namespace, name) && !pod.lifecycle.is_deleted();
        self.pods.values().filter(of).count()
    }

    /// A lost node runs nothing and is not measured.
    pub fn set_lost(&mut self, node: &str, lost: bool) {
        if lost {
            self.lost.insert(node.to_owned());
        } else {
            self.lost.remove(node);
        }
    }

    pub fn is_lost(&self, node: &str) -> bool {
        self.lost.contains(node)
    }

    /// No node takes the Pod; repeated while it waits.
    pub fn refused(&mut self, pod: &PodName, at: SignedDuration) {
        self.summary.refused(pod, at);
    }

    /// The Pod was placed or is gone.
    pub fn settled(&mut self, pod: &PodName, at: SignedDuration) {
        self.summary.settled(pod, at);
    }

    pub fn step(&mut self, at: SignedDuration) -> Loads {
        let passed = at.saturating_sub(self.stepped.replace(at).unwrap_or(at));
        let pods = self.pods.iter();
        let there = pods.filter(|(_, running)| !self.lost.contains(&running.node));
        let pods: Vec<PodNow<'_, PodName>> = there
            .filter_map(|(name, running)| running.now(name, at))
            .collect();
        let ready = usage::ready(&pods, self.workloads.len());
        let with_ready = (0..ready.len()).filter(|&index| ready[index] > 0);
        self.opened.extend(with_ready);
        let served = self.served(&ready, at);
        let arrived: Vec<ServedRequestRates> =
            served.iter().map(|one| one.unwrap_or_default()).collect();
        let usage = usage::of(pods, &self.nodes, &arrived, at);
        for (index, served) in served.iter().enumerate() {
            let Some(served) = served else { continue };
            self.summary.requests(served.offered, served.lost, passed);
            let (workload, capacity) = (&self.workloads[index], self.capacities[index]);
            if load::is_under_provisioned(workload, capacity, served, ready[index]) {
                self.summary.under_provisioned(passed);
            }
        }
        self.count_requests(&served, at);
        let scaled = self.pods.values();
        let scaled = scaled.filter(|pod| pod.workload.scale.is_some()).count();
        self.summary.replicas(scaled, passed);
        let loads = Loads {
            nodes: self.node_loads(&usage.nodes),
            workloads: self.workload_loads(&served, &ready),
        };
        self.scrape(usage, at);
        loads
    }

    /// The backend scrapes what answers it; the use of present nodes is counted.
    fn scrape(&mut self, usage: ClusterUsage<PodName>, at: SignedDuration) {
        let interval = self.timing.interval;
        let granted = usage.pods.into_iter().map(|(pod, used)| {
            let phase = self.pods.get(&pod).map(|running| running.phase(interval));
            let phase = phase.unwrap_or_default();
            (pod, Exporter { used, phase })
        });
        self.pod_scraper.observe(at, granted);
        let nodes = self.nodes.iter().zip(usage.nodes);
        let answering: Vec<(&NodeShape, NodeUse)> = nodes
            .filter(|(shape, _)| !self.lost.contains(&shape.name))
            .collect();
        let seen = answering.iter();
        let seen = seen.map(|(shape, used)| {
            let random = self.random.stream("scrape").stream(&shape.name);
            let exporter = Exporter {
                used: used.given,
                phase: pods::phase(random, interval),
            };
            (shape.name.clone(), exporter)
        });
        self.node_scraper.observe(at, seen);
        let answering: Vec<NodeUse> = answering.into_iter().map(|(_, used)| used).collect();
        self.summary.observe(at, &answering);
    }

    /// As the metrics backend has them.
    pub fn node_samples(&self) -> impl Iterator<Item = (&String, ScrapedSample)> {
        self.node_scraper.samples()
    }

    /// As the metrics backend has them.
    pub fn pod_samples(&self) -> impl Iterator<Item = (&PodName, ScrapedSample)> {
        self.pod_scraper.samples()
    }

    pub const fn timing(&self) -> Timing {
        self.timing
    }

    /// As the metrics adapter has them.
    pub fn request_rates(&self) -> impl Iterator<Item = (&RequestCounterKey, RequestRate)> {
        self.requests.rates()
    }

    fn count_requests(&mut self, served: &[Option<ServedRequestRates>], at: SignedDuration) {
        let arriving = self.workloads.iter().zip(served);
        let arriving = arriving.filter_map(|(workload, served)| {
            workload.traffic.as_ref()?;
            let ScenarioWorkload {
                namespace, name, ..
            } = &**workload;
            let of = RequestCounterKey::Arriving(namespace.clone(), name.clone());
            Some((of, served.as_ref()?.offered))
        });
        let of_pods = self.pods.iter().filter_map(|(pod, running)| {
            running.workload.traffic.as_ref()?;
            let served = served[running.index?].as_ref()?;
            let is_ready = running.lifecycle.stage(at) == Stage::Ready && running.is_open;
            let rate = if is_ready { served.each } else { 0.0 };
            let answers = !self.lost.contains(&running.node);
            answers.then(|| (RequestCounterKey::Served(pod.clone()), rate))
        });
        let rates: Vec<_> = arriving.chain(of_pods).collect();
        self.requests.observe(at, rates);
    }

    pub fn containers(&self, pod: &PodName) -> &[ContainerShare] {
        let running = self.pods.get(pod);
        running.map_or(&[], |running| &running.containers)
    }

    /// Figures so far.
    pub fn summary(&self) -> RunSummary {
        self.summary.summary()
    }

    /// With its position; for a Pod that a user applied by hand, a substitute without a position.
    fn workload_of(&self, bound: &BoundPod) -> (Option<usize>, Arc<ScenarioWorkload>) {
        let of = |workload: &Arc<ScenarioWorkload>| {
            workload.namespace == bound.pod.namespace() && workload.name == bound.app
        };
        match self.workloads.iter().position(of) {
            Some(index) => (Some(index), Arc::clone(&self.workloads[index])),
            None => (None, Arc::new(unknown_workload(bound))),
        }
    }

    /// For a workload's next Pod, by the lowest free number, so that the Pods of two runs of one
    /// seed are alike whatever their names.
    fn noise_of(&self, workload: &ScenarioWorkload) -> RandomSource {
        let ScenarioWorkload {
            namespace, name, ..
        } = workload;
        let stream = |slot: u32| self.random.stream(&format!("{name}-{slot}"));
        let of = |pod: &&RunningPod| pod.is_of(namespace, name);
        let taken: Vec<RandomSource> = self.pods.values().filter(of).map(|pod| pod.noise).collect();
        let free = (0..u32::MAX).map(stream).find(|one| !taken.contains(one));
        free.unwrap_or(self.random)
    }

    /// By workload with `ready` Pods; `None` before it has arrived.
    fn served(&self, ready: &[u32], at: SignedDuration) -> Vec<Option<ServedRequestRates>> {
        let in_trace = at.saturating_add(self.trace_offset);
        let served = usage::served(&self.workloads, ready, in_trace);
        let served = served.into_iter().enumerate().map(|(index, served)| {
            let is_open = self.opened.contains(&index);
            let served = if is_open {
                served
            } else {
                ServedRequestRates::default()
            };
            (self.workloads[index].arrival <= at).then_some(served)
        });
        served.collect()
    }

    fn node_loads(&self, nodes: &[NodeUse]) -> Vec<NodeLoads> {
        let load = |(shape, used): (&NodeShape, &NodeUse)| NodeLoads {
            name: shape.name.clone(),
            ready: !self.lost.contains(&shape.name),
            pods: self
                .pods
                .values()
                .filter(|pod| pod.node == shape.name)
                .count(),
            utilisation: used.utilisation(),
        };
        self.nodes.iter().zip(nodes).map(load).collect()
    }

    fn workload_loads(
        &self,
        served: &[Option<ServedRequestRates>],
        ready: &[u32],
    ) -> Vec<WorkloadLoad> {
        let load = |(index, served): (usize, &Option<ServedRequestRates>)| {
            let ServedRequestRates { offered, lost, .. } = (*served)?;
            let workload = &self.workloads[index];
            let replicas = self.pods.values().filter(|pod| pod.index == Some(index));
            Some(WorkloadLoad {
                namespace: workload.namespace.clone(),
                name: workload.name.clone(),
                ready: ready[index],
                replicas: u32::try_from(replicas.count()).unwrap_or(u32::MAX),
                offered,
                lost,
            })
        };
        served.iter().enumerate().filter_map(load).collect()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::{Resource, Resources};

    use super::*;

    fn engine() -> Engine {
        Engine::new(Scenario::mixed(), 1, Ratio::new(0.8).unwrap())
    }

    fn network(loads: &Loads, name: &str) -> f64 {
        let node = loads.nodes.iter().find(|node| node.name == name).unwrap();
        node.utilisation[Resource::NetworkIo]
    }

    #[test]
    fn a_pod_loads_its_node_once_it_runs_and_no_more_when_it_is_gone() {
        let (mut engine, second) = (engine(), SignedDuration::from_secs);
        let bound = BoundPod {
            pod: PodName::new("media", "stream-a"),
            app: "stream".to_owned(),
            node: "small-1".to_owned(),
            demand: Resources::default(),
            containers: Vec::new(),
        };
        let life = engine.bind(&bound, second(100));
        let idle = network(&engine.step(second(101)), "small-1");
        let busy = network(&engine.step(life.ready), "small-1");
        assert!(busy > idle + 0.3, "{idle} {busy}");
        engine.retain(|_| false);
        let after = network(&engine.step(life.ready + second(1)), "small-1");
        assert!((after - idle).abs() < 1e-9);
    }

    #[test]
    fn the_backends_are_late_and_a_lost_node_is_not_measured() {
        let (mut engine, second) = (engine(), SignedDuration::from_secs);
        engine.step(second(0));
        assert_eq!(engine.node_samples().count(), 0);
        for at in 1..=30 {
            engine.step(second(at));
        }
        let at: Vec<_> = engine.node_samples().map(|(_, sample)| sample.at).collect();
        assert_eq!(at.len(), 6);
        assert!(at.iter().all(|at| (second(15)..=second(30)).contains(at)));
        let differ = at.iter().any(|other| *other != at[0]);
        assert!(differ, "each is read at its own moments: {at:?}");
        engine.set_lost("small-1", true);
        engine.step(second(31));
        assert_eq!(engine.node_samples().count(), 5);
    }

    #[test]
    fn pods_of_a_workload_differ_in_their_noise() {
        let mut engine = engine();
        for name in ["stream-a", "stream-b"] {
            let bound = BoundPod {
                pod: PodName::new("media", name),
                app: "stream".to_owned(),
                node: "small-1".to_owned(),
                demand: Resources::default(),
                containers: Vec::new(),
            };
            engine.bind(&bound, SignedDuration::ZERO);
        }
        let noises: Vec<RandomSource> = engine.pods.values().map(|pod| pod.noise).collect();
        let expected = ["stream-0", "stream-1"].map(|name| RandomSource::new(1).stream(name));
        assert_eq!(noises, expected);
    }
}
