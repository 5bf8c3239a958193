//! The Pods of one side and the HPA that scales them: Pods of one age are one cohort, since they
//! carry the same.

use jiff::SignedDuration;

use super::{GRID, Target};
use crate::load::Used;
use crate::scenario::Scale;
use crate::scrape::Scraper;
use crate::simulate::autoscaler::{Autoscaler, PodReading};
use evenkeel_core::scaling::hpa_aware::TOLERANCE;
use evenkeel_core::scaling::sum::{self, PodLoad};
use evenkeel_core::units::{Amount, Ratio, Resources};

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
    readings: Vec<(bool, i32, Option<f64>)>,
}

impl ScaledPods {
    /// `initial` Pods that are ready.
    pub(super) fn new(target: &Target, initial: i32) -> Self {
        let began = SignedDuration::ZERO;
        Self {
            target: *target,
            autoscaler: Autoscaler::new(
                scale(target, target.bounds.min()),
                Amount::from_f64(target.capacity.request()),
            ),
            scraper: Scraper::new(target.metrics),
            pods: vec![Cohort {
                made: began,
                ready: began,
                count: initial,
            }],
            cost: Cost::default(),
            readings: Vec::new(),
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
        self.autoscaler.set_scale(scale(&self.target, floor));
        let pods: Vec<PodReading> = self
            .readings
            .iter()
            .flat_map(|&(ready, count, cpu)| {
                let count = usize::try_from(count).unwrap_or(0);
                std::iter::repeat_n(PodReading { ready, cpu }, count)
            })
            .collect();
        let wanted = self
            .autoscaler
            .recommend(at, unsigned(self.replicas()), &pods);
        self.scale_to(i32::try_from(wanted.replicas).unwrap_or(i32::MAX), at);
        wanted.utilisation.map(|_| self.replicas())
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
        sum::over_pods(self.readings.iter().flat_map(|&(ready, count, measured)| {
            let count = usize::try_from(count).unwrap_or(0);
            std::iter::repeat_n(PodLoad { measured, ready }, count)
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
        let resource = self.target.resource;
        self.readings.clear();
        for cohort in &self.pods {
            let sample = self
                .scraper
                .samples()
                .find(|(made, _)| **made == cohort.made);
            let used = sample.map(|(_, sample)| sample.used[resource]);
            self.readings.push((cohort.ready <= at, cohort.count, used));
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
        if load > requested * capacity.target() * (1.0 + TOLERANCE) {
            self.cost.under_provisioned_seconds += seconds;
        }
        if load > requested {
            self.cost.overloaded_seconds += seconds;
        }
    }
}

fn scale(target: &Target, floor: i32) -> Scale {
    let max = target.bounds.max();
    Scale {
        min: unsigned(floor.clamp(1, max)),
        max: unsigned(max),
        cpu: Ratio::new(target.capacity.target()).expect("a capacity's target is finite"),
    }
}

fn unsigned(count: i32) -> u32 {
    u32::try_from(count).unwrap_or(0)
}
