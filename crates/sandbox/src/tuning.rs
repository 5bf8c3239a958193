//! Compares ways of tuning the limits of one container, in virtual time. The container gets the
//! smaller of the given demand and its limit, and the tuner only sees the use. Missing processor
//! time is lost. A container that wants more memory than its limit is killed, and the tuner gets
//! the kill without a measurement. Pods are Guaranteed: the request equals the limit, so that one
//! number compares all ways.

mod clbp_rule;
mod container;
mod histogram;
mod policies;
mod scenario;
mod vpa;

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::{Amount, count_as_f64};
use jiff::Timestamp;
use serde::Serialize;

pub use container::{ContainerDemand, Rhythm, Tuner};
pub use policies::PolicyName;
pub use scenario::wanted as wanted_by;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerTuningResult {
    /// Unused part of the limit, as a share of the use.
    pub slack: f64,
    /// Share of time in which it wanted more cpu than it got.
    pub throttled_share: f64,
    /// Share of its demand that it did not get.
    pub unserved_share: f64,
    /// Steps with more wanted memory than allowed; a restarted container is killed again.
    pub oom_kills: usize,
    pub resizes: usize,
    #[serde(skip)]
    pub limits: Vec<f64>,
}

/// Limits are multiplied by `margin`.
pub fn run(
    wanted: &ContainerDemand,
    policy: PolicyName,
    rhythm: Rhythm,
    margin: f64,
) -> ContainerTuningResult {
    let mut tuner = policy.tuner(wanted, rhythm, margin);
    let mut limit = wanted.limit;
    let mut at = wanted.start;
    let mut figures = Figures::default();
    let mut limits = Vec::with_capacity(wanted.values.len());
    for (number, &value) in wanted.values.iter().enumerate() {
        let is_short = value > limit.as_f64();
        let used = value.min(limit.as_f64());
        let killed = is_short && wanted.resource == TunedResource::Memory;
        limits.push(limit.as_f64());
        if number >= wanted.skipped {
            figures.take(value, used, limit.as_f64());
            figures.oom_kills += usize::from(killed);
        }
        at = at.checked_add(wanted.step).unwrap_or(Timestamp::MAX);
        tuner.see(at, Amount::from_f64(used), killed);
        let next = tuner.limit(at, limit).max(Amount::new(1));
        figures.resizes += usize::from(next != limit && number >= wanted.skipped);
        limit = next;
    }
    figures.outcome(limits)
}

/// The margin at which a policy leaves about the given slack.
pub fn margin_for(wanted: &ContainerDemand, policy: PolicyName, rhythm: Rhythm, slack: f64) -> f64 {
    let (mut low, mut high) = (0.05_f64, 20.0_f64);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if run(wanted, policy, rhythm, middle).slack < slack {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// Halvings of the range of margins: a ten-thousandth of it is left.
const HALVINGS: usize = 16;

#[derive(Debug, Default)]
struct Figures {
    steps: usize,
    short: usize,
    wanted: f64,
    used: f64,
    allowed: f64,
    oom_kills: usize,
    resizes: usize,
}

impl Figures {
    fn take(&mut self, wanted: f64, used: f64, limit: f64) {
        self.steps += 1;
        self.short += usize::from(wanted > limit);
        self.wanted += wanted;
        self.used += used;
        self.allowed += limit;
    }

    fn outcome(self, limits: Vec<f64>) -> ContainerTuningResult {
        let Self {
            steps,
            short,
            wanted,
            used,
            allowed,
            oom_kills,
            resizes,
        } = self;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        ContainerTuningResult {
            slack: share(allowed - used, used),
            throttled_share: share(count_as_f64(short), count_as_f64(steps)),
            unserved_share: share(wanted - used, wanted),
            oom_kills,
            resizes,
            limits,
        }
    }
}

#[cfg(test)]
mod tests;
