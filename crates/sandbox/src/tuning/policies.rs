//! The compared ways of tuning, by name.

use evenkeel_tuning::decision::{
    Elasticity, MinuteSamples, SampleWindow, TuningBounds, TuningInput, decide,
};
use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, words};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::clbp_rule::Thesis;
use super::container::{ContainerDemand, Rhythm, Tuner, scaled};
use super::vpa::Vpa;

words! {
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PolicyName {
        /// The initial limit.
        Fixed = "fixed",
        /// `[CLBP] (4.18)` and `(4.19)` without any bound.
        Thesis = "thesis",
        /// The recommender of the Vertical Pod Autoscaler, applied in place.
        Vpa = "vpa",
        Evenkeel = "evenkeel",
    }
    accepted: "fixed, thesis, vpa or evenkeel"
}

impl PolicyName {
    pub(super) fn tuner(
        self,
        wanted: &ContainerDemand,
        rhythm: Rhythm,
        margin: f64,
    ) -> Box<dyn Tuner> {
        match self {
            Self::Fixed => Box::new(FixedLimitTuner(scaled(wanted.limit, margin))),
            Self::Thesis => Box::new(Thesis::new(rhythm, margin)),
            Self::Vpa => Box::new(Vpa::new(wanted, margin)),
            Self::Evenkeel => Box::new(Evenkeel {
                resource: wanted.resource,
                window: SampleWindow::default(),
                step: wanted.step,
                turn: rhythm.turn,
                seen: 0,
                original: wanted.limit,
                was_killed: false,
                margin,
            }),
        }
    }
}

struct FixedLimitTuner(Amount);

impl Tuner for FixedLimitTuner {
    fn see(&mut self, _: Timestamp, _: Amount, _: bool) {}

    fn limit(&mut self, _: Timestamp, _: Amount) -> Amount {
        self.0
    }
}

/// The service's own decision, with the bounds of a single container on an idle node.
struct Evenkeel {
    resource: TunedResource,
    window: SampleWindow<Amount>,
    step: SignedDuration,
    turn: usize,
    seen: usize,
    original: Amount,
    was_killed: bool,
    /// Decisions use limits without it; another margin makes a more or less generous way of tuning.
    margin: f64,
}

impl Tuner for Evenkeel {
    fn see(&mut self, at: Timestamp, used: Amount, killed: bool) {
        self.seen += 1;
        if killed {
            self.was_killed = true;
        } else {
            self.window.push(at, used, self.step);
        }
    }

    fn limit(&mut self, at: Timestamp, current: Amount) -> Amount {
        let original = scaled(self.original, self.margin);
        if self.was_killed && current < original {
            // As in the service's loop, the limit is restored without waiting for a turn.
            return original;
        }
        if !self.seen.is_multiple_of(self.turn) {
            return current;
        }
        let Some(samples) = self.window.samples(at, self.step) else {
            return current;
        };
        let samples = MinuteSamples(samples);
        let held = samples.newest();
        // With a margin of one this equals the loop, to the bit.
        let has = scaled(current, 1.0 / self.margin);
        let container = TuningInput {
            resource: self.resource,
            current: RequestAndLimit {
                request: Some(has),
                limit: Some(has),
            },
            original: Some(self.original),
            was_killed: self.was_killed,
            guaranteed: true,
            scaled_by: false,
            working_set: (self.resource == TunedResource::Memory).then_some(held),
            bounds: TuningBounds::default(),
        };
        let decided = decide(&container, Some(&samples), Elasticity::default());
        let limit = decided.ok().and_then(|decision| decision.values.limit);
        limit.map_or(current, |limit| scaled(limit, self.margin))
    }
}
