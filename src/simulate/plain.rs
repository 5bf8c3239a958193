//! The scenario without Evenkeel: default scheduling and a plain HPA, in steps of virtual time.
//!
//! It uses the same load, start-up times, metrics lag and noise as a run with Evenkeel, so the two
//! differ in decisions only.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::autoscaler::{self, Autoscaler, PodReading};
use super::lifecycle::{Lifecycle, Stage};
use super::load::{self, NodeUse, Served, Used};
use super::random::Random;
use super::scenario::{Scenario, Workload};
use super::scheduling::{self, NodeRequest, PodRequest};
use super::scrape::{Scraper, Timing};
use super::summary::{Recorder, Summary};
use super::trace::Trace;
use crate::units::{Ratio, Resource};

/// One step: shorter than anything that happens in a Pod's life.
const STEP: SignedDuration = SignedDuration::from_secs(5);

/// What a run is given.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// What happens.
    pub scenario: &'a Scenario,
    /// What traffic follows.
    pub trace: &'a Trace,
    /// What decides noise and ties.
    pub seed: u64,
    /// How long it lasts, in time of the scenario.
    pub duration: SignedDuration,
    /// The line that the summary counts time above.
    pub line: Ratio,
}

/// Runs the scenario to its end.
#[must_use]
pub fn run(run: &Run<'_>) -> Summary {
    let mut world = World::new(run);
    let mut at = SignedDuration::ZERO;
    while at <= run.duration {
        world.step(at);
        at = at.saturating_add(STEP);
    }
    world.recorder.summary()
}

#[derive(Debug)]
struct Pod {
    workload: usize,
    ordinal: u32,
    name: String,
    placed: Option<Placed>,
}

#[derive(Debug, Clone, Copy)]
struct Placed {
    node: usize,
    life: Lifecycle,
}

struct World<'a> {
    run: &'a Run<'a>,
    random: Random,
    recorder: Recorder,
    pods: Vec<Pod>,
    /// Which node has which workload's image.
    images: BTreeSet<(usize, usize)>,
    wanted: Vec<u32>,
    autoscalers: Vec<Option<Autoscaler>>,
    scraper: Scraper<String>,
    next_sync: SignedDuration,
    decisions: u64,
}

impl<'a> World<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        let workloads = &run.scenario.workloads;
        let autoscaler = |workload: &Workload| {
            let request = workload.demand[Resource::Cpu];
            workload.scale.map(|scale| Autoscaler::new(scale, request))
        };
        Self {
            run,
            random: Random::new(run.seed),
            recorder: Recorder::new(run.line),
            pods: Vec::new(),
            images: BTreeSet::new(),
            wanted: workloads.iter().map(|workload| workload.replicas).collect(),
            autoscalers: workloads.iter().map(autoscaler).collect(),
            scraper: Scraper::new(Timing::default()),
            next_sync: autoscaler::SYNC,
            decisions: 0,
        }
    }

    fn step(&mut self, at: SignedDuration) {
        self.control(at);
        self.schedule(at);
        self.measure(at);
        if at >= self.next_sync {
            self.next_sync = at.saturating_add(autoscaler::SYNC);
            self.scale(at);
        }
    }

    /// Makes and ends Pods until there are as many as wanted; the newest end first.
    fn control(&mut self, at: SignedDuration) {
        for (index, workload) in self.run.scenario.workloads.iter().enumerate() {
            if workload.arrival > at {
                continue;
            }
            let wanted = self.wanted[index];
            let surplus = |pod: &Pod| pod.workload == index && pod.ordinal >= wanted;
            for pod in self.pods.extract_if(.., |pod| surplus(pod)) {
                self.recorder.settled(&pod.name, at);
            }
            let have = self.pods.iter().filter(|pod| pod.workload == index).count();
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            self.pods.extend((have..wanted).map(|ordinal| Pod {
                workload: index,
                ordinal,
                name: format!("{}-{ordinal}", workload.name),
                placed: None,
            }));
        }
    }

    fn schedule(&mut self, at: SignedDuration) {
        let mut nodes = self.requested();
        for position in 0..self.pods.len() {
            if self.pods[position].placed.is_some() {
                continue;
            }
            let workload = &self.run.scenario.workloads[self.pods[position].workload];
            let request = PodRequest {
                requests: workload.demand,
                ..PodRequest::default()
            };
            let pod = &mut self.pods[position];
            let choice = self.random.stream("tie").unit(self.decisions);
            self.decisions += 1;
            let Some(node) = place(&request, &nodes, choice) else {
                self.recorder.refused(&pod.name, at);
                continue;
            };
            nodes[node].add(&workload.demand);
            let cached = !self.images.insert((node, pod.workload));
            let life = Lifecycle::new(&workload.startup, at, cached);
            pod.placed = Some(Placed { node, life });
            self.recorder.settled(&pod.name, at);
        }
    }

    /// The nodes with the requests of the Pods on them.
    fn requested(&self) -> Vec<NodeRequest> {
        let empty = |shape: &super::scenario::NodeShape| NodeRequest {
            name: shape.name.clone(),
            allocatable: shape.capacity,
            max_pods: shape.pods,
            ..NodeRequest::default()
        };
        let mut nodes: Vec<NodeRequest> = self.run.scenario.nodes.iter().map(empty).collect();
        for pod in &self.pods {
            if let Some(placed) = pod.placed {
                nodes[placed.node].add(&self.run.scenario.workloads[pod.workload].demand);
            }
        }
        nodes
    }

    fn measure(&mut self, at: SignedDuration) {
        let served: Vec<Served> = (0..self.wanted.len())
            .map(|index| self.served(index, at))
            .collect();
        for served in &served {
            self.recorder.requests(served.offered, served.lost, STEP);
        }
        let used: Vec<(&Pod, usize, Used)> = self
            .pods
            .iter()
            .filter_map(|pod| {
                let Placed { node, life } = pod.placed?;
                let workload = &self.run.scenario.workloads[pod.workload];
                let noise = self.random.stream(&pod.name);
                let used =
                    load::replica(workload, life.stage(at), &served[pod.workload], noise, at);
                Some((pod, node, used))
            })
            .collect();
        let shapes = self.run.scenario.nodes.iter().enumerate();
        let nodes: Vec<NodeUse> = shapes
            .map(|(index, shape)| {
                let here = used.iter().filter(|(_, node, _)| *node == index);
                NodeUse::of(shape.capacity, here.map(|(_, _, used)| *used))
            })
            .collect();
        self.recorder.observe(at, &nodes);
        let got = used.iter().map(|(pod, node, used)| {
            let granted = nodes[*node].granted();
            let got = crate::units::Resources::from_fn(|of| used[of] * granted[of]);
            (pod.name.clone(), got)
        });
        self.scraper.observe(at, got);
    }

    fn served(&self, index: usize, at: SignedDuration) -> Served {
        let workload = &self.run.scenario.workloads[index];
        let Some(traffic) = workload.traffic.filter(|_| workload.arrival <= at) else {
            return Served::default();
        };
        let ready = self
            .pods
            .iter()
            .filter(|pod| pod.workload == index && pod.is_ready(at));
        let ready = u32::try_from(ready.count()).unwrap_or(u32::MAX);
        let in_trace = at.saturating_add(self.run.scenario.trace_offset);
        load::serve(&traffic, self.run.trace, in_trace, ready)
    }

    fn scale(&mut self, at: SignedDuration) {
        for (index, autoscaler) in self.autoscalers.iter_mut().enumerate() {
            let Some(autoscaler) = autoscaler else {
                continue;
            };
            if self.run.scenario.workloads[index].arrival > at {
                continue;
            }
            let measured: std::collections::BTreeMap<&String, f64> = self
                .scraper
                .samples()
                .map(|(pod, sample)| (pod, sample.used[Resource::Cpu]))
                .collect();
            let pods = self.pods.iter().filter(|pod| pod.workload == index);
            let readings: Vec<PodReading> = pods
                .map(|pod| PodReading {
                    ready: pod.is_ready(at),
                    cpu: measured.get(&pod.name).copied(),
                })
                .collect();
            self.wanted[index] = autoscaler
                .recommend(at, self.wanted[index], &readings)
                .replicas;
        }
    }
}

impl Pod {
    fn is_ready(&self, at: SignedDuration) -> bool {
        self.placed
            .is_some_and(|placed| placed.life.stage(at) == Stage::Ready)
    }
}

/// The node that kube-scheduler would take.
fn place(pod: &PodRequest, nodes: &[NodeRequest], choice: f64) -> Option<usize> {
    let feasible: Vec<usize> = (0..nodes.len())
        .filter(|&node| scheduling::refusals(pod, &nodes[node]).is_empty())
        .collect();
    let candidates: Vec<&NodeRequest> = feasible.iter().map(|&node| &nodes[node]).collect();
    let scores = scheduling::scores(pod, &candidates);
    scheduling::best(&scores, choice).map(|position| feasible[position])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(seed: u64, hours: i64) -> Summary {
        run(&Run {
            scenario: &Scenario::mixed(),
            trace: Trace::web(),
            seed,
            duration: SignedDuration::from_hours(hours),
            line: Ratio::new(0.8).unwrap(),
        })
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_seed_another() {
        assert_eq!(summary(1, 1), summary(1, 1));
        assert_ne!(summary(1, 1), summary(2, 1));
    }

    #[test]
    fn by_default_nodes_run_over_the_line_in_what_the_default_scheduler_does_not_see() {
        let summary = summary(1, 6);
        let of = |resource: Resource| {
            let found = summary.resources.iter().find(|of| of.resource == resource);
            *found.unwrap()
        };
        assert!(
            of(Resource::NetworkIo).spread > of(Resource::Cpu).spread,
            "{summary:#?}"
        );
        assert!(summary.seconds_over_line > 0.0, "{summary:#?}");
    }

    #[test]
    fn the_web_workload_follows_its_traffic() {
        let scenario = Scenario::mixed();
        let run = Run {
            scenario: &scenario,
            trace: Trace::web(),
            seed: 3,
            duration: SignedDuration::ZERO,
            line: Ratio::new(0.8).unwrap(),
        };
        let mut world = World::new(&run);
        let web = scenario
            .workloads
            .iter()
            .position(|web| web.scale.is_some());
        let web = web.unwrap();
        let mut counts = BTreeSet::new();
        for step in 0..24 * 720 {
            world.step(STEP * step);
            counts.insert(world.wanted[web]);
        }
        let scale = scenario.workloads[web].scale.unwrap();
        assert!(counts.len() >= 3, "{counts:?}");
        assert!(
            counts
                .iter()
                .all(|count| (scale.min..=scale.max).contains(count))
        );
    }
}
