//! The Pods of one side and the HPA that scales them: Pods of one age are one cohort, since they
//! carry the same.

use jiff::SignedDuration;

use super::settings::{GRID, Target};
use crate::autoscaler::{self, Autoscaler, Life};
use crate::load::Used;
use crate::scrape::{Sample, Scraper};
use evenkeel_core::scaling::hpa::{MetricSpec, Tolerances};
use evenkeel_core::scaling::pod::{PodFacts, Requests};
use evenkeel_core::scaling::sample::PodMetrics;
use evenkeel_core::scaling::signal::{ResourceName, Signal, Target as Wanted};
use evenkeel_core::scaling::sum::{self, PodLoad};
use evenkeel_core::units::{Resource, Resources, i64_ceil};

/// One step: shorter than a tick, so that Pods become ready between ticks.
const STEP: SignedDuration = SignedDuration::from_secs(5);

/// The costs of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Seconds in which the ready Pods carried more than the HPA's target and tolerance allow.
    pub under_provisioned_seconds: f64,
    /// Seconds in which they carried more than they request.
    pub overloaded_seconds: f64,
    /// Replicas added over time, those that start included.
    pub replica_hours: f64,
}

/// Pods that were made at the same time.
#[derive(Debug, Clone, Copy)]
struct Cohort {
    made: SignedDuration,
    ready: SignedDuration,
    count: i32,
}

pub(super) struct ScaledPods {
    target: Target,
    autoscaler: Autoscaler,
    scraper: Scraper<SignedDuration>,
    pods: Vec<Cohort>,
    cost: Cost,
    /// The newest usage of a Pod of each cohort, in the order of `pods`.
    readings: Vec<Reading>,
    requests: Requests,
}

/// The facts about the Pods of a cohort at a tick.
#[derive(Debug, Clone, Copy)]
struct Reading {
    is_ready: bool,
    count: i32,
    sample: Option<Sample>,
}

impl ScaledPods {
    /// `initial` Pods that are ready.
    pub(super) fn new(target: &Target, initial: i32) -> Self {
        let began = SignedDuration::ZERO;
        Self {
            target: *target,
            autoscaler: Autoscaler::new(target.bounds.min(), target.bounds.max(), metric(target)),
            scraper: Scraper::new(target.metrics),
            pods: vec![Cohort {
                made: began,
                ready: began,
                count: initial,
            }],
            cost: Cost::default(),
            readings: Vec::new(),
            requests: requests(target),
        }
    }

    /// The tick at `at`: metrics are scraped, and the HPA, with `floor` as its `minReplicas`, makes
    /// or ends Pods. Returns what it asks for; `None` without any metric.
    pub(super) fn sync(
        &mut self,
        at: SignedDuration,
        load: Option<f64>,
        floor: i32,
    ) -> Option<i32> {
        self.measure(at, load);
        self.read(at);
        let floor = floor.clamp(1, self.target.bounds.max());
        self.autoscaler.set_min_replicas(floor);
        let (pods, metrics) = self.seen(at);
        let current = self.replicas();
        let wanted = self
            .autoscaler
            .reconcile(at, current, &pods, &autoscaler::resource(metrics));
        self.scale_to(wanted.replicas, at);
        wanted.is_active.then_some(wanted.replicas)
    }

    /// The Pods and their measurements, as the HPA sees them.
    fn seen(&self, at: SignedDuration) -> (Vec<PodFacts>, Vec<PodMetrics>) {
        let (mut pods, mut metrics) = (Vec::new(), Vec::new());
        for (cohort, reading) in self.pods.iter().zip(&self.readings) {
            let life = Life {
                started: cohort.made,
                running: cohort.made,
                ready: cohort.ready,
            };
            for index in 0..cohort.count {
                let name = format!("{}-{index}", cohort.made.as_secs());
                metrics.extend(reading.sample.map(|sample| self.usage(&name, sample)));
                pods.push(autoscaler::pod(name, Some(life), &self.requests, at));
            }
        }
        (pods, metrics)
    }

    /// The usage of a Pod as the metrics API shows it.
    fn usage(&self, pod: &str, sample: Sample) -> PodMetrics {
        let resource = self.target.resource;
        let used = milli(resource, sample.used[resource]);
        let measured = autoscaler::measurement(sample.at, self.target.metrics.window, used);
        autoscaler::metrics(pod.to_owned(), name(resource), measured)
    }

    /// The time from the tick at `at` to the next.
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
        self.pods.iter().map(|cohort| cohort.count).sum()
    }

    pub(super) const fn cost(&self) -> Cost {
        self.cost
    }

    /// The sum over the Pods as of the last tick.
    pub(super) fn measured(&self) -> Option<f64> {
        let resource = self.target.resource;
        sum::over_pods(self.readings.iter().flat_map(|reading| {
            let load = PodLoad {
                measured: reading.sample.map(|sample| sample.used[resource]),
                ready: reading.is_ready,
            };
            let count = usize::try_from(reading.count).unwrap_or(0);
            std::iter::repeat_n(load, count)
        }))
    }

    fn ready(&self, at: SignedDuration) -> i32 {
        let ready = self.pods.iter().filter(|cohort| cohort.ready <= at);
        ready.map(|cohort| cohort.count).sum()
    }

    /// Takes the usage as exporters see it; in a gap they see nothing.
    fn measure(&mut self, at: SignedDuration, load: Option<f64>) {
        let (resource, ready) = (self.target.resource, self.ready(at));
        let each = load.map(|load| {
            if ready > 0 {
                load / f64::from(ready)
            } else {
                0.0
            }
        });
        let used = self.pods.iter().filter_map(|cohort| {
            let share = if cohort.ready <= at {
                each?
            } else {
                each? * 0.0
            };
            let used: Used = Resources::from_fn(|of| if of == resource { share } else { 0.0 });
            Some((cohort.made, used))
        });
        self.scraper.observe(at, used);
    }

    fn read(&mut self, at: SignedDuration) {
        self.readings.clear();
        for cohort in &self.pods {
            let sample = self
                .scraper
                .samples()
                .find(|(made, _)| **made == cohort.made);
            self.readings.push(Reading {
                is_ready: cohort.ready <= at,
                count: cohort.count,
                sample: sample.map(|(_, sample)| sample),
            });
        }
    }

    /// The newest Pods end first.
    pub(super) fn scale_to(&mut self, wanted: i32, at: SignedDuration) {
        let have = self.replicas();
        if wanted > have {
            self.pods.push(Cohort {
                made: at,
                ready: at.saturating_add(self.target.start_up),
                count: wanted - have,
            });
        }
        let mut surplus = have - wanted;
        for cohort in self.pods.iter_mut().rev() {
            let ended = surplus.clamp(0, cohort.count);
            cohort.count -= ended;
            surplus -= ended;
        }
        self.pods.retain(|cohort| cohort.count > 0);
    }

    fn account(&mut self, at: SignedDuration, load: Option<f64>) {
        let seconds = STEP.as_secs_f64();
        self.cost.replica_hours += f64::from(self.replicas()) * seconds / 3600.0;
        let capacity = self.target.capacity;
        let requested = f64::from(self.ready(at)) * capacity.request();
        let Some(load) = load else { return };
        if load > requested * capacity.target() * (1.0 + Tolerances::default().up) {
            self.cost.under_provisioned_seconds += seconds;
        }
        if load > requested {
            self.cost.overloaded_seconds += seconds;
        }
    }
}

/// The metric of the HPA. A target that is no whole percentage, which an HPA cannot have, is an
/// amount per Pod.
fn metric(target: &Target) -> MetricSpec {
    let (request, share) = (target.capacity.request(), target.capacity.target());
    let percent = i64_ceil((share * 100.0).round());
    let is_whole = (share * 100.0 - (share * 100.0).round()).abs() < 1e-9;
    let wanted = match i32::try_from(percent) {
        Ok(percent) if is_whole => Wanted::Utilization(percent),
        _ => Wanted::AverageValue(milli(target.resource, request * share)),
    };
    MetricSpec::new(Signal::Resource(name(target.resource)), wanted)
}

fn requests(target: &Target) -> Requests {
    let request = milli(target.resource, target.capacity.request());
    [(name(target.resource), request)].into_iter().collect()
}

fn name(resource: Resource) -> ResourceName {
    resource.as_str().into()
}

/// An amount in the base unit of its resource in thousandths of the unit that Kubernetes counts it
/// in: cores, bytes, bytes per second.
fn milli(resource: Resource, amount: f64) -> i64 {
    match resource {
        Resource::Cpu => i64_ceil(amount),
        _ => i64_ceil(amount * 1000.0),
    }
}
