//! The scenario without Evenkeel: default scheduling and a plain HPA, in steps of virtual time.
//!
//! It uses the same load, start-up times, metrics lag and noise as a run with Evenkeel, and where
//! it is told them the same lags of the control plane and the same lost nodes, so the two differ
//! in decisions only.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::engine::lag::Lags;
use crate::engine::lifecycle::{Lifecycle, Stage};
use crate::engine::summary::{Recorder, Summary};
use crate::load::random::Random;
use crate::load::{self, NodeUse, Served, Used};
use crate::scenario::{NodeShape, Scenario, Workload};
use crate::scheduler::plugins::{self as scheduling, NodeRequest, PodRequest};
use crate::scrape::{Scraper, Timing};
use crate::simulate::autoscaler::{Autoscaler, PodReading};
use evenkeel_core::units::{Ratio, Resource};

/// One step: shorter than anything that happens in a Pod's life.
pub const STEP: SignedDuration = SignedDuration::from_secs(5);

/// The node that losses are of: the first.
const LOST: usize = 0;

/// What a run is given.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What happens.
    pub scenario: Scenario,
    /// What decides noise and ties.
    pub seed: u64,
    /// The line that the summary counts time above.
    pub line: Ratio,
    /// How long Pods wait for their nodes, and HPAs for their turns.
    pub lags: Lags,
    /// From when to when the first node is lost, each time.
    pub losses: Vec<(SignedDuration, SignedDuration)>,
}

#[derive(Debug)]
struct Pod {
    workload: usize,
    ordinal: u32,
    name: String,
    /// When the control plane has come to it.
    due: SignedDuration,
    refused: bool,
    placed: Option<Placed>,
}

#[derive(Debug, Clone, Copy)]
struct Placed {
    node: usize,
    life: Lifecycle,
}

/// A run that goes on step by step.
pub struct Baseline {
    settings: Settings,
    next: SignedDuration,
    random: Random,
    recorder: Recorder,
    pods: Vec<Pod>,
    /// Pods made so far, by workload.
    made: Vec<usize>,
    /// Which node has which workload's image.
    images: BTreeSet<(usize, usize)>,
    wanted: Vec<u32>,
    autoscalers: Vec<Option<Autoscaler>>,
    scraper: Scraper<String>,
    next_sync: SignedDuration,
    decisions: u64,
}

impl Baseline {
    /// A run at its beginning.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let workloads = &settings.scenario.workloads;
        let autoscaler = |workload: &Workload| {
            let request = workload.demand[Resource::Cpu];
            workload.scale.map(|scale| Autoscaler::new(scale, request))
        };
        Self {
            next: SignedDuration::ZERO,
            random: Random::new(settings.seed),
            recorder: Recorder::new(settings.line),
            pods: Vec::new(),
            made: vec![0; workloads.len()],
            images: BTreeSet::new(),
            wanted: workloads.iter().map(|workload| workload.replicas).collect(),
            autoscalers: workloads.iter().map(autoscaler).collect(),
            scraper: Scraper::new(Timing::default()),
            next_sync: settings.lags.sync,
            decisions: 0,
            settings,
        }
    }

    /// Goes on until `at`, that moment included.
    pub fn advance(&mut self, at: SignedDuration) {
        while self.next <= at {
            self.step(self.next);
            self.next = self.next.saturating_add(STEP);
        }
    }

    /// Keeps to other lags from now on.
    pub fn set_lags(&mut self, lags: Lags) {
        self.settings.lags = lags;
    }

    /// What the HPAs of the workloads that have arrived want now, by namespace and name.
    pub fn replicas(&self) -> impl Iterator<Item = ((&str, &str), u32)> {
        let workloads = self.settings.scenario.workloads.iter();
        let wanted = workloads.zip(&self.wanted).zip(&self.autoscalers);
        wanted
            .filter(|((workload, _), autoscaler)| {
                autoscaler.is_some() && workload.arrival < self.next
            })
            .map(|((workload, wanted), _)| ((&*workload.namespace, &*workload.name), *wanted))
    }

    /// What it has come to so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.recorder.summary()
    }

    fn step(&mut self, at: SignedDuration) {
        if self.is_lost(at) {
            let on_lost = |pod: &mut Pod| pod.placed.is_some_and(|placed| placed.node == LOST);
            self.pods.extract_if(.., on_lost).for_each(drop);
        }
        self.control(at);
        self.schedule(at);
        self.measure(at);
        if at >= self.next_sync {
            self.next_sync = self.next_sync.saturating_add(self.settings.lags.sync);
            self.scale(at);
        }
    }

    fn is_lost(&self, at: SignedDuration) -> bool {
        let mut losses = self.settings.losses.iter();
        losses.any(|(from, until)| *from <= at && at < *until)
    }

    /// Makes and ends Pods until there are as many as wanted; the newest end first.
    fn control(&mut self, at: SignedDuration) {
        for (index, workload) in self.settings.scenario.workloads.iter().enumerate() {
            if workload.arrival > at {
                continue;
            }
            let wanted = self.wanted[index];
            let surplus = |pod: &Pod| pod.workload == index && pod.ordinal >= wanted;
            for pod in self.pods.extract_if(.., |pod| surplus(pod)) {
                self.recorder.settled(&pod.name, at);
            }
            let here = self.pods.iter().filter(|pod| pod.workload == index);
            let have: BTreeSet<u32> = here.map(|pod| pod.ordinal).collect();
            for ordinal in (0..wanted).filter(|ordinal| !have.contains(ordinal)) {
                let (namespace, name) = (&workload.namespace, &workload.name);
                let lag = self.settings.lags.of(namespace, name, self.made[index]);
                self.made[index] += 1;
                self.pods.push(Pod {
                    workload: index,
                    ordinal,
                    name: format!("{name}-{ordinal}"),
                    due: at.saturating_add(lag),
                    refused: false,
                    placed: None,
                });
            }
        }
    }

    fn schedule(&mut self, at: SignedDuration) {
        let lost = self.is_lost(at);
        let mut nodes = self.requested();
        for pod in &mut self.pods {
            // One that is due before the next step is placed between the two.
            if pod.placed.is_some() || pod.due >= at.saturating_add(STEP) {
                continue;
            }
            let workload = &self.settings.scenario.workloads[pod.workload];
            let request = PodRequest {
                requests: workload.demand,
                ..PodRequest::default()
            };
            let choice = self.random.stream("tie").unit(self.decisions);
            self.decisions += 1;
            let Some(node) = place(&request, &nodes, lost, choice) else {
                pod.refused = true;
                self.recorder.refused(&pod.name, at);
                continue;
            };
            nodes[node].add(&workload.demand);
            let cached = !self.images.insert((node, pod.workload));
            let bound = if pod.refused { at } else { pod.due };
            let life = Lifecycle::new(&workload.startup, bound, cached);
            pod.placed = Some(Placed { node, life });
            self.recorder.settled(&pod.name, at);
        }
    }

    /// The nodes with the requests of the Pods on them.
    fn requested(&self) -> Vec<NodeRequest> {
        let empty = |shape: &NodeShape| NodeRequest {
            name: shape.name.clone(),
            allocatable: shape.capacity,
            max_pods: shape.pods,
            ..NodeRequest::default()
        };
        let mut nodes: Vec<NodeRequest> = self.settings.scenario.nodes.iter().map(empty).collect();
        for pod in &self.pods {
            if let Some(placed) = pod.placed {
                nodes[placed.node].add(&self.settings.scenario.workloads[pod.workload].demand);
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
        let scaled = self
            .pods
            .iter()
            .filter(|pod| pod.placed.is_some() && self.autoscalers[pod.workload].is_some());
        self.recorder.replicas(scaled.count(), STEP);
        let used: Vec<(&Pod, usize, Used)> = self
            .pods
            .iter()
            .filter_map(|pod| {
                let Placed { node, life } = pod.placed?;
                let workload = &self.settings.scenario.workloads[pod.workload];
                let noise = self.random.stream(&pod.name);
                let used =
                    load::replica(workload, life.stage(at), &served[pod.workload], noise, at);
                Some((pod, node, used))
            })
            .collect();
        let shapes = self.settings.scenario.nodes.iter().enumerate();
        let nodes: Vec<NodeUse> = shapes
            .map(|(index, shape)| {
                let here = used.iter().filter(|(_, node, _)| *node == index);
                NodeUse::of(shape.capacity, here.map(|(_, _, used)| *used))
            })
            .collect();
        let answering = if self.is_lost(at) {
            &nodes[LOST + 1..]
        } else {
            &nodes[..]
        };
        self.recorder.observe(at, answering);
        let got = used.iter().map(|(pod, node, used)| {
            let granted = nodes[*node].granted();
            let got = evenkeel_core::units::Resources::from_fn(|of| used[of] * granted[of]);
            (pod.name.clone(), got)
        });
        self.scraper.observe(at, got);
    }

    fn served(&self, index: usize, at: SignedDuration) -> Served {
        let workload = &self.settings.scenario.workloads[index];
        let traffic = workload.traffic.as_ref();
        let Some(traffic) = traffic.filter(|_| workload.arrival <= at) else {
            return Served::default();
        };
        let ready = self
            .pods
            .iter()
            .filter(|pod| pod.workload == index && pod.is_ready(at));
        let ready = u32::try_from(ready.count()).unwrap_or(u32::MAX);
        let in_trace = at.saturating_add(self.settings.scenario.trace_offset);
        load::serve(traffic, in_trace, ready)
    }

    fn scale(&mut self, at: SignedDuration) {
        for (index, autoscaler) in self.autoscalers.iter_mut().enumerate() {
            let Some(autoscaler) = autoscaler else {
                continue;
            };
            if self.settings.scenario.workloads[index].arrival > at {
                continue;
            }
            let measured: BTreeMap<&String, f64> = self
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

/// The node that kube-scheduler would take; none that is lost.
fn place(pod: &PodRequest, nodes: &[NodeRequest], lost: bool, choice: f64) -> Option<usize> {
    let feasible: Vec<usize> = (0..nodes.len())
        .filter(|&node| !(lost && node == LOST))
        .filter(|&node| scheduling::refusals(pod, &nodes[node]).is_empty())
        .collect();
    let candidates: Vec<&NodeRequest> = feasible.iter().map(|&node| &nodes[node]).collect();
    let scores = scheduling::scores(pod, &candidates);
    scheduling::best(&scores, choice).map(|position| feasible[position])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(seed: u64) -> Settings {
        Settings {
            scenario: Scenario::mixed(),
            seed,
            line: Ratio::new(0.8).unwrap(),
            lags: Lags::default(),
            losses: Vec::new(),
        }
    }

    fn summary(settings: Settings, hours: i64) -> Summary {
        let mut plain = Baseline::new(settings);
        plain.advance(SignedDuration::from_hours(hours));
        plain.summary()
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_seed_another() {
        assert_eq!(summary(settings(1), 1), summary(settings(1), 1));
        assert_ne!(summary(settings(1), 1), summary(settings(2), 1));
    }

    #[test]
    fn in_one_go_or_in_many_it_comes_to_the_same() {
        let mut plain = Baseline::new(settings(1));
        for second in 0..=3600 {
            plain.advance(SignedDuration::from_secs(second));
        }
        assert_eq!(plain.summary(), summary(settings(1), 1));
    }

    #[test]
    fn a_control_plane_that_lags_costs_requests() {
        let mut late = settings(1);
        for lag in [60, 60] {
            late.lags
                .record("shop", "web", SignedDuration::from_secs(lag));
        }
        let (late, prompt) = (summary(late, 1), summary(settings(1), 1));
        assert!(late.lost_share > prompt.lost_share);
        let longer = late.under_provisioned_seconds - prompt.under_provisioned_seconds;
        assert!(longer >= 55.0, "{longer}");
    }

    #[test]
    fn a_lost_node_has_no_pods_until_it_is_back() {
        let minute = SignedDuration::from_mins;
        let mut plain = Baseline::new(Settings {
            losses: vec![(minute(5), minute(10))],
            ..settings(1)
        });
        let on_first = |plain: &Baseline| {
            let placed = plain.pods.iter().filter_map(|pod| pod.placed);
            placed.filter(|placed| placed.node == LOST).count()
        };
        plain.advance(minute(4));
        let (before, all) = (on_first(&plain), plain.pods.len());
        assert!(before > 0);
        plain.advance(minute(9));
        assert_eq!(on_first(&plain), 0);
        assert!(plain.pods.len() >= all, "they are made again elsewhere");
    }

    #[test]
    fn by_default_nodes_run_over_the_line_in_what_the_default_scheduler_does_not_see() {
        let summary = summary(settings(1), 6);
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
        let mut plain = Baseline::new(settings(3));
        let scale = Scenario::mixed().workload("shop", "web").unwrap().scale;
        let scale = scale.unwrap();
        let mut counts = BTreeSet::new();
        for step in 0..24 * 720 {
            plain.advance(STEP * step);
            counts.extend(plain.replicas().map(|(_, replicas)| replicas));
        }
        assert!(counts.len() >= 3, "{counts:?}");
        assert!(
            counts
                .iter()
                .all(|count| (scale.min..=scale.max).contains(count))
        );
    }
}
