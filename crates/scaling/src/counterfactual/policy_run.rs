//! One way of scaling a target, minute by minute.

use super::hpa_rate_limits::BLOCKS;
use super::outcome::PolicyRunResult;
use super::pods::{RING, TrialPods};
use super::time_of_day::TimeOfDay;

/// One way of scaling.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyRun {
    /// The counts that were asked for, by minute.
    asked: [u16; RING],
    /// The largest counts that load and floor called for, by block of minutes, for which an HPA looks back
    /// before it takes Pods away.
    called: [u16; BLOCKS],
    all: DecayingMeans,
    by_quarter: [DecayingMeans; TimeOfDay::COUNT],
}

/// The means over minutes that fade.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DecayingMeans {
    /// The share of the time in which ready Pods carried too much.
    under: f32,
    replicas: f32,
}

/// The input of one minute to a [`PolicyRun`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Minute<'a> {
    pub(super) pods: &'a TrialPods,
    pub(super) run: usize,
    pub(super) load: f64,
    /// The share of the target that its HPA has.
    pub(super) share: f64,
    /// The load that its floor covers.
    pub(super) floor: f64,
    /// The weights of the minute in the share of time and in the mean count.
    pub(super) weights: [f64; 2],
    pub(super) quarter: TimeOfDay,
    /// Its weight in the means of its quarter of the day.
    pub(super) weight_in_quarter: f64,
}

impl PolicyRun {
    /// One of which it is assumed in which share of the time its Pods carry too much.
    pub(super) fn new(under: f64) -> Self {
        let none = DecayingMeans {
            under: 0.0,
            replicas: 0.0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "a share")]
        let under = under as f32;
        Self {
            asked: [0; RING],
            called: [0; BLOCKS],
            all: DecayingMeans { under, ..none },
            by_quarter: [none; TimeOfDay::COUNT],
        }
    }

    pub(super) fn pass(&mut self, minute: &Minute<'_>) {
        let pods = minute.pods;
        let place = minute.run % RING;
        let last = self.asked[(place + RING - 1) % RING];
        if minute.run > 1 {
            self.judge(minute, last);
        }
        let each = pods.per_pod() * minute.share;
        let used = minute.load / (f64::from(last) * each);
        let reactive = if pods.tolerances.contain(used) {
            last
        } else {
            pods.count(minute.load, each)
        };
        let called = reactive.max(pods.count(minute.floor, pods.per_pod()));
        let wanted = called.max(self.stable(minute, called).min(last));
        self.asked[place] = match &pods.limits {
            Some(limits) if minute.run > 1 => {
                let longest = (RING - 1).min(minute.run - 1);
                let before = |ago: usize| self.asked[(place + RING - ago.min(longest)) % RING];
                limits.limit(last, wanted, before)
            }
            _ => wanted,
        };
    }

    /// The largest count that was called for within the window of scaling in.
    fn stable(&mut self, minute: &Minute<'_>, called: u16) -> u16 {
        let pods = minute.pods;
        let Some(block) = pods.block(minute.run) else {
            return called;
        };
        let held = &mut self.called[block % BLOCKS];
        let continues = minute.run > 1 && pods.block(minute.run - 1) == Some(block);
        *held = if continues { called.max(*held) } else { called };
        self.called.into_iter().fold(called, u16::max)
    }

    /// Judges the Pods that are ready in a minute: the fewest that were asked for within the lead.
    fn judge(&mut self, minute: &Minute<'_>, last: u16) {
        let pods = minute.pods;
        let before = (1..=pods.lead.min(minute.run - 1))
            .map(|ago| self.asked[(minute.run + RING - ago) % RING]);
        let ready = before.fold(last, u16::min);
        let too_much = pods.carry_too_much(minute.load, ready);
        self.all.pass(too_much, last, minute.weights);
        let of_quarter = &mut self.by_quarter[minute.quarter.place()];
        of_quarter.pass(too_much, last, [minute.weight_in_quarter; 2]);
    }

    pub(super) fn outcome(&self) -> PolicyRunResult {
        self.all.outcome()
    }

    pub(super) fn outcome_in(&self, quarter: TimeOfDay) -> PolicyRunResult {
        self.by_quarter[quarter.place()].outcome()
    }
}

impl DecayingMeans {
    fn pass(&mut self, too_much: bool, count: u16, [time, replicas]: [f64; 2]) {
        moved(&mut self.under, if too_much { 1.0 } else { 0.0 }, time);
        moved(&mut self.replicas, f64::from(count), replicas);
    }

    fn outcome(self) -> PolicyRunResult {
        PolicyRunResult {
            under: f64::from(self.under),
            replicas: f64::from(self.replicas),
        }
    }
}

/// Moves a mean towards a value.
fn moved(mean: &mut f32, value: f64, weight: f64) {
    let next = f64::from(*mean) + (value - f64::from(*mean)) * weight;
    #[expect(clippy::cast_possible_truncation, reason = "a mean of many")]
    {
        *mean = next as f32;
    }
}
