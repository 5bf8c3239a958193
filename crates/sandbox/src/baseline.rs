//! The scenario without Evenkeel: the default scheduler and a plain HPA over the same [`Engine`]
//! that `dev` runs, in steps of virtual time. This file only times decisions: number of Pods,
//! placement, and turns of the HPA. The engine has load, start-up, noise and measurements, and
//! `placement` chooses nodes. Lags and lost nodes are the same too, so a run with Evenkeel differs
//! in its decisions only.

mod workload_hpa;
mod workload_rule;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_hpa::Readings;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::ResourceRequests;
use evenkeel_metrics::sample::{PodMetrics, PodSample};
use evenkeel_metrics::signal::ResourceName;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::deletion_order::in_order;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Ratio, Resource, i64_ceil};
use jiff::SignedDuration;

use crate::autoscaler;
use crate::autoscaler::{Autoscaler, Life};
use crate::deletion_order::victim;
use crate::engine::lag::Lags;
use crate::engine::requests::RequestCounterKey;
use crate::engine::summary::RunSummary;
use crate::engine::{BoundPod, Engine, STEP};
use crate::lifecycle::Lifecycle;
use crate::placement::Placement;
use crate::pod_ordinals::Ordinals;
use crate::prometheus::PreRunHistory;
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::scheduler::plugins;
use crate::scrape::ScrapedSample;
use crate::target_replay::SeasonalRule;
use workload_hpa::requests_signal;
use workload_rule::WorkloadRule;

/// The first node is the lost one.
const LOST: usize = 0;

#[derive(Debug, Clone)]
pub struct Settings {
    pub scenario: Scenario,
    /// For noise and ties.
    pub seed: u64,
    /// The headroom line of the summary.
    pub line: Ratio,
    /// Waits of Pods for their nodes, and of HPAs for their turns.
    pub lags: Lags,
    /// Share of its own target that each HPA aims at: below 1 for a rival that buys safety with
    /// replicas.
    pub target_share: Ratio,
    /// The second metric of each HPA.
    pub rule: Option<SeasonalRule>,
    /// When the first node is lost and found.
    pub losses: Vec<(SignedDuration, SignedDuration)>,
}

#[derive(Debug)]
struct BaselinePod {
    workload: usize,
    ordinal: u32,
    name: PodName,
    made: SignedDuration,
    /// When the control plane handles it.
    due: SignedDuration,
    refused: bool,
    node: Option<usize>,
    gone: Option<SignedDuration>,
}

pub struct Baseline {
    settings: Settings,
    engine: Engine,
    next: SignedDuration,
    placement: Placement,
    pods: Vec<BaselinePod>,
    staying: Ordinals<PodName>,
    made: Vec<usize>,
    wanted: Vec<u32>,
    autoscalers: Vec<Option<Autoscaler>>,
    rule: Option<WorkloadRule>,
    next_sync: SignedDuration,
}

impl BaselinePod {
    /// The Pod is of the workload at `index`, and not deleted.
    const fn stays_in(&self, index: usize) -> bool {
        self.workload == index && self.gone.is_none()
    }
}

impl Baseline {
    pub fn new(settings: Settings) -> Self {
        let workloads = &settings.scenario.workloads;
        let share = settings.target_share;
        let autoscaler =
            |workload| workload_hpa::autoscaler(workload, share, settings.rule.is_some());
        Self {
            engine: Engine::new(settings.scenario.clone(), settings.seed, settings.line),
            next: SignedDuration::ZERO,
            placement: Placement::new(
                &settings.scenario.nodes,
                workloads,
                RandomSource::new(settings.seed),
            ),
            pods: Vec::new(),
            staying: Ordinals::new(),
            made: vec![0; workloads.len()],
            wanted: workloads.iter().map(|workload| workload.replicas).collect(),
            autoscalers: workloads.iter().map(autoscaler).collect(),
            rule: settings.rule.map(|rule| WorkloadRule {
                rule,
                past: PreRunHistory::of(&settings.scenario, settings.seed),
            }),
            next_sync: settings.lags.sync,
            settings,
        }
    }

    /// Runs until `at`, that moment included.
    pub fn advance(&mut self, at: SignedDuration) {
        while self.next <= at {
            self.step(self.next);
            self.next = self.next.saturating_add(STEP);
        }
    }

    pub fn set_lags(&mut self, lags: Lags) {
        self.settings.lags = lags;
    }

    /// Present wishes of the HPAs of workloads that have arrived.
    pub fn replicas(&self) -> impl Iterator<Item = (&ScenarioWorkload, u32)> {
        let workloads = self.settings.scenario.workloads.iter();
        let wanted = workloads.zip(&self.wanted).zip(&self.autoscalers);
        wanted
            .filter(|((workload, _), autoscaler)| {
                autoscaler.is_some() && workload.arrival < self.next
            })
            .map(|((workload, wanted), _)| (workload, *wanted))
    }

    /// Figures so far.
    pub fn summary(&self) -> RunSummary {
        self.engine.summary()
    }

    fn step(&mut self, at: SignedDuration) {
        let lost = self.is_lost(at);
        if let Some(node) = self.settings.scenario.nodes.get(LOST) {
            self.engine.set_lost(&node.name, lost);
        }
        self.placement.close(LOST, lost);
        if lost {
            self.keep(|pod| pod.node != Some(LOST));
        }
        self.control(at);
        let names: BTreeSet<&PodName> = self.pods.iter().map(|pod| &pod.name).collect();
        self.engine.retain(|pod| names.contains(pod));
        self.schedule(at);
        self.engine.step(at);
        if at >= self.next_sync {
            self.next_sync = self.next_sync.saturating_add(self.settings.lags.sync);
            self.scale(at);
        }
    }

    fn is_lost(&self, at: SignedDuration) -> bool {
        let mut losses = self.settings.losses.iter();
        losses.any(|(from, until)| *from <= at && at < *until)
    }

    /// Sets the counts of workloads that nothing scales as the scenario changes them.
    fn change_counts(&mut self, at: SignedDuration) {
        let workloads = &self.settings.scenario.workloads;
        for (wanted, workload) in self.wanted.iter_mut().zip(workloads) {
            let passed = workload.changes.iter().take_while(|(time, _)| *time <= at);
            if let Some((_, count)) = passed.last() {
                *wanted = *count;
            }
        }
    }

    /// Makes and ends Pods until the count is as wanted.
    fn control(&mut self, at: SignedDuration) {
        self.change_counts(at);
        for index in 0..self.settings.scenario.workloads.len() {
            if self.settings.scenario.workloads[index].arrival > at {
                continue;
            }
            let wanted = usize::try_from(self.wanted[index]).unwrap_or(usize::MAX);
            let have = self.staying.of(index).count();
            for position in self.first_to_go(index, have.saturating_sub(wanted), at) {
                let pod = &mut self.pods[position];
                self.staying.remove(index, pod.ordinal);
                self.engine.settled(&pod.name, at);
                // A Pod that runs nowhere has nothing to finish.
                pod.gone = Some(self.engine.delete(&pod.name, at).unwrap_or(at));
            }
            let missing = wanted.saturating_sub(have);
            for ordinal in self.staying.free(index, missing) {
                self.make(index, ordinal, at);
            }
        }
        self.keep(|pod| pod.gone.is_none_or(|gone| at < gone));
    }

    /// Positions of the Pods that a ReplicaSet deletes first.
    fn first_to_go(&self, index: usize, count: usize, at: SignedDuration) -> Vec<usize> {
        if count == 0 {
            return Vec::new();
        }
        let pods = self.pods.iter().enumerate();
        let staying = pods.filter(|(_, pod)| pod.workload == index && pod.gone.is_none());
        let uids = RandomSource::new(self.settings.seed).stream("uid");
        let identity = |pod: &BaselinePod| uids.stream(pod.name.name()).below(0, usize::MAX);
        let (positions, victims): (Vec<usize>, Vec<_>) = staying
            .map(|(position, pod)| {
                let life = self.engine.lifecycle(&pod.name);
                let victim = victim(pod.node, life, pod.made, at, identity(pod));
                (position, victim)
            })
            .unzip();
        let order = in_order(&victims, victims.iter().map(|pod| pod.node));
        order
            .into_iter()
            .take(count)
            .map(|at| positions[at])
            .collect()
    }

    fn make(&mut self, index: usize, ordinal: u32, at: SignedDuration) {
        let ScenarioWorkload {
            namespace, name, ..
        } = &self.settings.scenario.workloads[index];
        let number = self.made[index];
        self.made[index] += 1;
        let lag = self.settings.lags.of(namespace, name, number);
        let name = PodName::new(namespace, &format!("{name}-{number}"));
        self.staying.insert(index, ordinal, name.clone());
        self.pods.push(BaselinePod {
            workload: index,
            ordinal,
            name,
            made: at,
            due: at.saturating_add(lag),
            refused: false,
            node: None,
            gone: None,
        });
    }

    /// Also drops the requests and ordinals of the others.
    fn keep(&mut self, keep: impl Fn(&BaselinePod) -> bool) {
        for pod in self.pods.extract_if(.., |pod| !keep(pod)) {
            if let Some(node) = pod.node {
                self.placement.remove(pod.workload, node);
            }
            if pod.gone.is_none() {
                self.staying.remove(pod.workload, pod.ordinal);
            }
        }
    }

    fn schedule(&mut self, at: SignedDuration) {
        for pod in &mut self.pods {
            // A Pod that is due before the next step is placed between the two.
            if pod.node.is_some() || pod.gone.is_some() || pod.due >= at.saturating_add(STEP) {
                continue;
            }
            let choice = self.placement.draw();
            let feasible = self.placement.feasible(pod.workload);
            let sums = self.placement.sums(pod.workload, &feasible);
            let Some(chosen) = plugins::best(&sums, choice) else {
                pod.refused = true;
                self.engine.refused(&pod.name, at);
                continue;
            };
            let node = feasible[chosen];
            self.placement.add(pod.workload, node);
            pod.node = Some(node);
            let workload = &self.settings.scenario.workloads[pod.workload];
            let bound = BoundPod {
                pod: pod.name.clone(),
                app: workload.name.clone(),
                node: self.settings.scenario.nodes[node].name.clone(),
                demand: workload.demand,
                containers: Vec::new(),
            };
            let since = if pod.refused { at } else { pod.due };
            self.engine.bind(&bound, since);
            self.engine.settled(&pod.name, at);
        }
    }

    fn scale(&mut self, at: SignedDuration) {
        let measured: BTreeMap<&PodName, ScrapedSample> = self.engine.pod_samples().collect();
        let served = served(&self.engine);
        for (index, autoscaler) in self.autoscalers.iter_mut().enumerate() {
            let Some(autoscaler) = autoscaler else {
                continue;
            };
            let workload = &self.settings.scenario.workloads[index];
            if workload.arrival > at {
                continue;
            }
            let spec = autoscaler::pod_spec(requests(workload));
            let ours = self.pods.iter().filter(|pod| pod.stays_in(index));
            let (mut pods, mut metrics) = (Vec::new(), Vec::new());
            for pod in ours {
                let life = self.engine.lifecycle(&pod.name).map(life);
                let name = pod.name.name().to_owned();
                let sample = measured.get(&pod.name);
                metrics.extend(sample.map(|sample| usage(name.clone(), *sample)));
                pods.push(autoscaler::pod(name, life, &spec, at));
            }
            let current = i32::try_from(self.wanted[index]).unwrap_or(i32::MAX);
            let mut readings = Readings {
                others: [(requests_signal(), Ok(served.clone()))].into(),
                ..autoscaler::resource(metrics)
            };
            if let Some((rule, scale)) = self.rule.as_ref().zip(workload.scale) {
                rule.set(&mut readings, (workload, scale), at);
            }
            let wanted = autoscaler.reconcile(at, current, &pods, &readings);
            self.wanted[index] = u32::try_from(wanted.replicas).unwrap_or(0);
        }
    }
}

/// Requests per second by Pod, as the run's metrics adapter has them.
fn served(engine: &Engine) -> MetricsApiReading {
    let window = engine.timing().window;
    let samples = engine.request_rates().filter_map(|(of, rate)| {
        let RequestCounterKey::Served(pod) = of else {
            return None;
        };
        let milli = i64_ceil(rate.per_second * 1000.0);
        Some(PodSample {
            pod: pod.name().to_owned(),
            measurement: autoscaler::measurement(rate.at, window, milli),
        })
    });
    MetricsApiReading::Pods(samples.collect())
}

/// Those that the workload's HPA looks at.
fn requests(workload: &ScenarioWorkload) -> ResourceRequests {
    let cpu = workload.demand[Resource::Cpu].get();
    let milli = i64::try_from(cpu).unwrap_or(i64::MAX);
    [(ResourceName::Cpu, milli)].into_iter().collect()
}

fn life(lifecycle: Lifecycle) -> Life {
    Life {
        started: lifecycle.bound,
        running: lifecycle.running,
        unready: lifecycle.bound,
        ready: lifecycle.ready,
    }
}

/// As the run's metrics API shows it.
fn usage(pod: String, sample: ScrapedSample) -> PodMetrics {
    let milli = i64_ceil(sample.used[Resource::Cpu]);
    let measured = autoscaler::measurement(sample.at, sample.window, milli);
    autoscaler::metrics(pod, ResourceName::Cpu, measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_replay::Season;

    fn settings(seed: u64) -> Settings {
        Settings {
            scenario: Scenario::mixed(),
            seed,
            line: Ratio::new(0.8).unwrap(),
            lags: Lags::default(),
            target_share: Ratio::ONE,
            rule: None,
            losses: Vec::new(),
        }
    }

    fn summary(settings: Settings, hours: i64) -> RunSummary {
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
    fn counts_change_as_the_scenario_says() {
        let mut changed = settings(1);
        let minute = SignedDuration::from_mins;
        let index = 0;
        let workload = &mut changed.scenario.workloads[index];
        assert!(workload.scale.is_none() && workload.arrival < minute(5));
        workload.changes = vec![(minute(5), 7), (minute(9), 1)];
        let mut plain = Baseline::new(changed);
        let count = |plain: &Baseline| plain.staying.of(index).count();
        for (time, expected) in [(6, 7), (10, 1)] {
            plain.advance(minute(time));
            assert_eq!(count(&plain), expected, "{time}");
        }
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
            plain
                .pods
                .iter()
                .filter(|pod| pod.node == Some(LOST))
                .count()
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
    fn the_books_hold_what_is_there_while_a_node_is_lost_and_found() {
        let minutes = SignedDuration::from_mins;
        let losses = vec![(minutes(30), minutes(40)), (minutes(60), minutes(61))];
        let mut plain = Baseline::new(Settings {
            losses,
            ..settings(2)
        });
        let mut before = 0;
        for minute in 0..90 {
            plain.advance(minutes(minute));
            let counted = plain.placement.nodes().iter().map(|node| node.pods);
            for (node, counted) in counted.enumerate() {
                let here = plain.pods.iter().filter(|pod| pod.node == Some(node));
                assert_eq!(here.count(), usize::try_from(counted).unwrap(), "{minute}");
            }
            let (lost, there) = (
                plain.is_lost(minutes(minute)),
                &plain.placement.nodes()[LOST],
            );
            before = before.max(there.pods);
            assert!(!lost || there.pods == 0, "{minute}");
            assert_eq!(there.unschedulable, lost, "{minute}");
            for index in 0..plain.wanted.len() {
                let here = plain.pods.iter().filter(|pod| pod.stays_in(index));
                assert_eq!(here.count(), plain.staying.of(index).count());
            }
        }
        assert!(before > 0, "the node is lost with Pods on it");
    }

    #[test]
    fn what_evenkeel_scales_directly_has_an_hpa_without_it() {
        let text = include_str!("../../../examples/scenarios/direct.yaml");
        let shop = include_str!("../../../examples/traces/shop.csv");
        let scenario = Scenario::read(text, &|_| Ok(shop.to_owned())).unwrap();
        let mut plain = Baseline::new(Settings {
            scenario,
            ..settings(1)
        });
        let mut counts = BTreeSet::new();
        for step in 0..12 * 60 {
            plain.advance(STEP * step);
            counts.extend(plain.replicas().map(|(_, replicas)| replicas));
        }
        assert_eq!(counts.first(), Some(&2));
        assert!(counts.last().is_some_and(|most| *most >= 8), "{counts:?}");
    }

    #[test]
    fn lower_targets_cost_replicas_and_spare_requests() {
        let of = |target_share| {
            let run = Settings {
                target_share,
                ..settings(3)
            };
            summary(run, 6)
        };
        let (own, lower) = (of(Ratio::ONE), of(Ratio::new(0.7).unwrap()));
        assert!(lower.replica_hours > own.replica_hours * 1.1);
        assert!(lower.lost_share < own.lost_share);
        let direct = include_str!("../../../examples/scenarios/direct.yaml");
        let shop = include_str!("../../../examples/traces/shop.csv");
        let scenario = Scenario::read(direct, &|_| Ok(shop.to_owned())).unwrap();
        let target = |share| {
            let scaler = workload_hpa::autoscaler(&scenario.workloads[0], share, false);
            scaler.map(|scaler| format!("{scaler:?}"))
        };
        assert_ne!(target(Ratio::ONE), target(Ratio::new(0.7).unwrap()));
    }

    #[test]
    fn a_seasonal_rule_brings_replicas_before_the_load() {
        let of = |rule| {
            summary(
                Settings {
                    rule,
                    ..settings(3)
                },
                6,
            )
        };
        let yesterday = SeasonalRule {
            season: Season::Yesterday,
            factor: 1.0,
        };
        let (plain, ahead) = (of(None), of(Some(yesterday)));
        assert!(ahead.replica_hours > plain.replica_hours);
        let [plain, ahead] = [plain, ahead].map(|run| run.under_provisioned_seconds);
        assert!(ahead < plain, "{ahead} {plain}");
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
