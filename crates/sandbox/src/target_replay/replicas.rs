//! The Pods of one replayed target and the HPA that scales them. Pods of one age and scrape time
//! form a cohort, because they carry the same load. Usage is measured as in a cluster: over a rate
//! window, after two scrapes, and without Pods that start or end.

mod amounts;
mod cohort_usage;
mod parking;
mod rule_metric;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::observed_pods::{ObservedPodSet, ObservedPodState};
use super::settings::{GRID, ReplayTarget, Start};
use crate::autoscaler;
use crate::autoscaler::{Autoscaler, Life};
use crate::scrape::{Exporter, ScrapedSample, Scraper};
pub(super) use amounts::metric;
use amounts::{milli, pod_spec};
use evenkeel_forecast::RegularSeries;
use evenkeel_hpa::ObservedTarget;
use evenkeel_metrics::pod::{PodFacts, PodSpecFacts};
use evenkeel_metrics::sample::Measurement;
use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_objects::start_time::StartTime;
use evenkeel_scaling::counterfactual::pareto_frontier::{Cost, is_under_provisioned};
use evenkeel_scaling::load::observation::{LoadSample, SignalSamples, TargetObservation};
use evenkeel_scaling::load::serving_pods::ServingPods;
use evenkeel_units::{Resource, Resources};

/// Shorter than a tick, so that Pods become ready between ticks.
const STEP: SignedDuration = SignedDuration::from_secs(5);

/// Pods of one age, scrape time and load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cohort {
    key: u32,
    /// Number in its Pods' names, and number of its first Pod.
    batch: u32,
    first: i32,
    phase: SignedDuration,
    made: SignedDuration,
    /// Begin of the time before readiness.
    unready: SignedDuration,
    ready: SignedDuration,
    /// They run without traffic.
    is_cutoff: bool,
    /// End of deleted Pods.
    end: Option<CohortEnd>,
    count: i32,
}

/// Deleted Pods go on as before until they are gone.
#[derive(Debug, Clone, Copy)]
struct CohortEnd {
    gone: SignedDuration,
    /// Load of each Pod.
    load: f64,
}

pub(super) struct ScaledPods {
    target: ReplayTarget,
    /// Begin of the run, since 1970.
    begin: SignedDuration,
    autoscaler: Autoscaler,
    scraper: Scraper<u32>,
    /// The oldest first.
    pub(super) pods: Vec<Cohort>,
    keys: u32,
    cost: Cost,
    spec: Arc<PodSpecFacts>,
    carriers: ServingPods,
    seen: ObservedPodSet,
    /// Present load of each serving Pod.
    each: f64,
    /// Start of a Pod, known once one has been ready.
    start: [StartTime; 1],
    /// A Pod has been ready.
    is_open: bool,
}

#[cfg(test)]
impl Cohort {
    pub(super) const fn stays(&self) -> bool {
        self.end.is_none()
    }

    pub(super) const fn made(&self) -> SignedDuration {
        self.made
    }
}

#[cfg(test)]
impl ScaledPods {
    /// Containers of a cohort crash at `at`, and are ready again at `ready`.
    pub(super) fn restart(&mut self, index: usize, at: SignedDuration, ready: SignedDuration) {
        (self.pods[index].unready, self.pods[index].ready) = (at, ready);
    }
}

impl Cohort {
    fn serves(&self, at: SignedDuration) -> bool {
        self.end.is_none() && !self.is_cutoff && self.ready <= at
    }
}

impl ScaledPods {
    /// When `load` begins, below an HPA with the target `share` of the request. Cost is counted by
    /// the target's own share.
    pub(super) fn new(
        target: &ReplayTarget,
        load: &RegularSeries,
        share: f64,
        start: Start,
    ) -> Self {
        let mut new = Self {
            target: *target,
            begin: load.start().duration_since(Timestamp::UNIX_EPOCH),
            autoscaler: Autoscaler::new(
                target.bounds.min(),
                target.bounds.max(),
                vec![metric(target, share)],
            ),
            scraper: Scraper::new(target.metrics),
            pods: Vec::new(),
            keys: 0,
            cost: Cost::default(),
            spec: pod_spec(target),
            carriers: ServingPods::default(),
            seen: ObservedPodSet::of(Signal::from(target.resource)),
            each: 0.0,
            start: [target.start_time()],
            is_open: start == Start::Settled,
        };
        let [made, ready] = match start {
            Start::Settled => [SignedDuration::from_hours(-1); 2],
            Start::Created => [SignedDuration::ZERO, target.start_up],
        };
        new.make(target.initial(load), made, ready);
        new
    }

    /// None before the first Pod is ready.
    pub(super) fn arriving(&mut self, at: SignedDuration, load: Option<f64>) -> Option<f64> {
        self.is_open |= self.ready(at) > 0;
        load.map(|load| if self.is_open { load } else { 0.0 })
    }

    /// The tick at `at`: metrics are scraped, and the HPA, with `floor` as its `minReplicas`, makes
    /// or ends Pods. Returns the HPA's proposal; `None` without any metric.
    pub(super) fn sync(
        &mut self,
        at: SignedDuration,
        load: Option<f64>,
        floor: i32,
    ) -> Option<i32> {
        self.look(at, load);
        let floor = floor.clamp(1, self.target.bounds.max());
        self.autoscaler.set_min_replicas(floor);
        let current = self.replicas();
        let ObservedPodSet {
            facts, readings, ..
        } = &self.seen;
        let date = self.begin.saturating_add(at);
        let wanted = self.autoscaler.reconcile(date, current, facts, readings);
        self.scale_to(wanted.replicas, at);
        wanted.is_active.then_some(wanted.replicas)
    }

    /// The tick at `at`: metrics are scraped, and HPA and service see the Pods.
    pub(super) fn look(&mut self, at: SignedDuration, load: Option<f64>) {
        self.measure(at, load);
        self.see(at);
    }

    /// For an HPA with `current` replicas, since the last [`Self::look`].
    pub(super) fn observed(&self, current: i32) -> ObservedTarget<'_> {
        autoscaler::observed(current, &self.seen.facts, &self.seen.readings)
    }

    /// Updates what HPA and service see.
    fn see(&mut self, at: SignedDuration) {
        let mut measurements = std::mem::take(&mut self.seen.measured);
        measurements.clear();
        let begin = self.begin;
        // HPA and service ignore Pods without traffic.
        for cohort in self.pods.iter().filter(|cohort| !cohort.is_cutoff) {
            let life = Life {
                started: begin.saturating_add(cohort.made),
                running: begin.saturating_add(cohort.made),
                unready: begin.saturating_add(cohort.unready),
                ready: begin.saturating_add(cohort.ready),
            };
            let measured = self.scraper.sample(&cohort.key);
            let measured = measured.map(|sample| self.measurement(sample));
            for index in 0..cohort.count {
                let shown = ObservedPodState {
                    batch: cohort.batch,
                    number: cohort.first + index,
                    life,
                    is_ready: cohort.ready <= at,
                    is_deleted: cohort.end.is_some(),
                };
                let place = measurements.len();
                let date = begin.saturating_add(at);
                self.seen.show(place, shown, &self.spec, date);
                measurements.push(measured);
            }
        }
        self.seen.keep(measurements);
        let date = autoscaler::date(begin.saturating_add(at));
        self.carriers.see(&self.seen.shared, date);
    }

    /// As in the metrics API.
    fn measurement(&self, sample: ScrapedSample) -> Measurement {
        let resource = self.target.resource;
        let used = milli(resource, sample.used[resource]);
        let window = match resource {
            Resource::Memory | Resource::Disk => SignedDuration::ZERO,
            Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => sample.window,
        };
        autoscaler::measurement(self.begin.saturating_add(sample.at), window, used)
    }

    pub(super) fn starts(&self) -> &[StartTime] {
        if self.is_open { &self.start } else { &[] }
    }

    /// Pods as of the last tick, each with its newest measurement.
    pub(super) fn seen(&self) -> (&[Arc<PodFacts>], &[Option<Measurement>]) {
        (&self.seen.shared, &self.seen.measured)
    }

    /// The service's sum as of the last tick.
    pub(super) fn measured(&self) -> Option<LoadSample> {
        let signal = Signal::from(self.target.resource);
        let observation = TargetObservation {
            pods: &self.seen.shared,
            carriers: &self.carriers,
            replicas: Some(self.replicas()),
            samples: vec![(
                signal.clone(),
                SignalSamples::PerPod(self.seen.measured.clone()),
            )],
        };
        observation.load(&signal, ValueScope::Whole)
    }

    /// From the tick at `at` to the next.
    pub(super) fn pass(&mut self, at: SignedDuration, load: Option<f64>) {
        let mut passed = SignedDuration::ZERO;
        while passed < GRID {
            let now = at.saturating_add(passed);
            self.account(now, load);
            if !passed.is_zero() {
                self.measure(now, load);
            }
            passed = passed.saturating_add(STEP);
        }
    }

    pub(super) fn replicas(&self) -> i32 {
        let staying = self.pods.iter().filter(|cohort| cohort.end.is_none());
        staying.map(|cohort| cohort.count).sum()
    }

    pub(super) const fn cost(&self) -> Cost {
        self.cost
    }

    /// Resets the counters.
    pub(super) fn forget_cost(&mut self) {
        self.cost = Cost::default();
    }

    pub(super) fn ready(&self, at: SignedDuration) -> i32 {
        let serving = self.pods.iter().filter(|cohort| cohort.serves(at));
        serving.map(|cohort| cohort.count).sum()
    }

    /// As exporters see it; nothing in a gap.
    fn measure(&mut self, at: SignedDuration, load: Option<f64>) {
        let gone = |cohort: &Cohort| cohort.end.is_some_and(|end| end.gone <= at);
        self.pods.retain(|cohort| !gone(cohort));
        let ready = self.ready(at);
        if let Some(load) = load {
            self.each = load / f64::from(ready.max(1));
        }
        let (target, each) = (&self.target, self.each);
        let used = self.pods.iter().filter_map(|cohort| {
            load?;
            let used = Resources::from_fn(|of| {
                if of == target.resource {
                    cohort.used(target, each, at)
                } else {
                    0.0
                }
            });
            let phase = cohort.phase;
            Some((cohort.key, Exporter { used, phase }))
        });
        self.scraper.observe(at, used);
    }

    /// The newest Pods end first.
    pub(super) fn scale_to(&mut self, wanted: i32, at: SignedDuration) {
        let have = self.replicas();
        if wanted > have {
            let ready = at.saturating_add(self.target.start_up);
            self.make(wanted - have, at, ready);
        }
        let mut surplus = have - wanted;
        for index in (0..self.pods.len()).rev() {
            if self.pods[index].end.is_none() {
                surplus -= self.end(index, surplus, at);
            }
        }
        self.pods.retain(|cohort| cohort.count > 0);
    }

    /// Pods are scraped in turn.
    pub(super) fn make(&mut self, count: i32, at: SignedDuration, ready: SignedDuration) {
        let phases = i32::try_from(self.target.metrics.interval.as_secs() / STEP.as_secs());
        let phases = phases.unwrap_or(1).max(1);
        for turn in 0..phases {
            let share = (count + phases - 1 - turn) / phases;
            if share > 0 {
                let key = self.next_key();
                self.pods.push(Cohort {
                    key,
                    batch: key,
                    first: 0,
                    phase: STEP * turn,
                    made: at,
                    unready: at,
                    ready,
                    is_cutoff: false,
                    end: None,
                    count: share,
                });
            }
        }
    }

    /// Deletes up to `count` Pods of a cohort; returns how many.
    pub(super) fn end(&mut self, index: usize, count: i32, at: SignedDuration) -> i32 {
        let end = CohortEnd {
            gone: at.saturating_add(self.target.edges.ending),
            load: self.pods[index].used(&self.target, self.each, at),
        };
        let ended = |cohort: Cohort| Cohort {
            end: Some(end),
            ..cohort
        };
        self.part(index, count, ended)
    }

    /// Changes up to `count` Pods of a cohort, which become a cohort of their own; returns how
    /// many.
    fn part(&mut self, index: usize, count: i32, changed: impl FnOnce(Cohort) -> Cohort) -> i32 {
        let key = self.next_key();
        let cohort = &mut self.pods[index];
        let count = count.clamp(0, cohort.count);
        cohort.count -= count;
        let parted = Cohort {
            key,
            first: cohort.first + cohort.count,
            count,
            ..*cohort
        };
        if count > 0 {
            self.scraper.part(&cohort.key, key);
            self.pods.push(changed(parted));
        }
        count
    }

    const fn next_key(&mut self) -> u32 {
        self.keys += 1;
        self.keys
    }

    fn account(&mut self, at: SignedDuration, load: Option<f64>) {
        let seconds = STEP.as_secs_f64();
        self.cost.replica_hours += f64::from(self.replicas()) * seconds / 3600.0;
        let capacity = self.target.capacity;
        let ready = self.ready(at);
        let Some(load) = load else { return };
        if is_under_provisioned(load, ready, capacity) {
            self.cost.under_provisioned_seconds += seconds;
        }
        if load > f64::from(ready) * capacity.request() {
            self.cost.overloaded_seconds += seconds;
        }
    }
}
