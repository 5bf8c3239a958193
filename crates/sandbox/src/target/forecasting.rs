//! The floor of each tick, from a forecast, and how good the forecasts turned out.
//!
//! It is the service's own memory of a target. With `auto` and `s-hpa` it has the models that
//! `predict: auto` and `predict: ds-hpa` have; any other model is for a comparison.

use std::collections::VecDeque;

use super::settings::{Expected, Forecasts, GRID, Target};
use super::tick::{TickDecision, TickObservation};
use evenkeel_core::forecast::{Distrust, ModelSet, Shared, Trust};
use evenkeel_core::scaling::hpa::Tolerances;
use evenkeel_core::scaling::signal::{Signal, ValueScope};
use evenkeel_core::scaling::tracker::{Reaction, ScaledSignal, TickInput, Tracker};
use evenkeel_core::scaling::{Mode, Policy, ScaleDown};
use evenkeel_kubernetes::plan::scaling::Settings;

pub(super) struct FloorForecaster {
    policy: Policy,
    signals: [ScaledSignal; 1],
    tracker: Tracker,
    models: ModelSet,
    shared: Shared,
    last: Option<TickDecision>,
    issued: VecDeque<Option<Issued>>,
    tally: Tally,
}

/// A forecast that is due one horizon later, with the value it was made on.
#[derive(Debug, Clone, Copy)]
struct Issued {
    expected: Expected,
    naive: f64,
}

/// Sums over a run.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    scored: u32,
    error: f64,
    naive: f64,
    inside: f64,
    measured: f64,
    trusted: f64,
}

impl FloorForecaster {
    pub(super) fn new(target: &Target, models: ModelSet) -> Self {
        // As many ticks as a horizon takes are between a forecast and its time.
        let ticks = (target.horizon().as_secs() + GRID.as_secs() - 1) / GRID.as_secs();
        Self {
            policy: policy(target),
            signals: [ScaledSignal {
                signal: Signal::from(target.resource),
                capacity: target.capacity,
                scope: ValueScope::Whole,
            }],
            tracker: Tracker::default(),
            models,
            shared: Shared::default(),
            last: None,
            issued: (0..ticks).map(|_| None).collect(),
            tally: Tally::default(),
        }
    }

    /// The forecast that was made one horizon ago for this tick; before [`Self::decide`].
    pub(super) fn expected(&self) -> Option<Expected> {
        self.issued.front()?.map(|issued| issued.expected)
    }

    /// Takes a tick's measurement and decides the floor that follows.
    pub(super) fn decide(&mut self, seen: &TickObservation) -> i32 {
        let answer = self.tick(seen);
        let due = self.issued.pop_front().flatten();
        self.tally.count(seen.measured, due, answer.trust);
        let issued = answer.ahead.zip(seen.measured).map(|(step, naive)| Issued {
            expected: Expected {
                mean: step.mean,
                interval80: step.interval80,
            },
            naive,
        });
        self.issued.push_back(issued);
        self.last = Some(answer);
        answer.floor
    }

    fn tick(&mut self, seen: &TickObservation) -> TickDecision {
        if let Some(sum) = seen.measured {
            let [ScaledSignal { signal, .. }] = &self.signals;
            // Refused is what is no load, and a load has been checked.
            let _ = self.tracker.measure(signal, seen.now, sum, seen.now);
        }
        let input = TickInput {
            now: seen.now,
            current: seen.current,
            reaction: Reaction::Autoscaler(seen.reactive),
            models: Some(self.models),
            signals: &self.signals,
            recorded: None,
            shared: &self.shared,
        };
        let report = self.tracker.tick(&self.policy, &input);
        let model = report.loads.first().and_then(|load| load.model);
        let unproven = Trust::Untrusted(Distrust::Unproven { scored: 0 });
        TickDecision {
            floor: report.decision.replicas,
            ahead: model.and_then(|model| model.at_horizon),
            model: model.map_or("none", |model| model.name),
            trust: model.map_or(unproven, |model| model.trust),
            accuracy: model.map(|model| model.accuracy),
        }
    }

    pub(super) fn forecasts(&self) -> Forecasts {
        let tally = self.tally;
        let mean = |sum: f64| sum / f64::from(tally.scored.max(1));
        let unproven = Trust::Untrusted(Distrust::Unproven { scored: 0 });
        Forecasts {
            model: self.last.map(|answer| answer.model),
            scored: tally.scored,
            mae: mean(tally.error),
            naive_mae: mean(tally.naive),
            coverage80: mean(tally.inside),
            trusted_share: tally.trusted / tally.measured.max(1.0),
            recent: self.last.and_then(|answer| answer.accuracy),
            trust: self.last.map_or(unproven, |answer| answer.trust),
        }
    }
}

impl Tally {
    /// Holds what was forecast for a tick against what was measured.
    fn count(&mut self, measured: Option<f64>, due: Option<Issued>, trust: Trust) {
        let Some(actual) = measured else { return };
        let one = |is: bool| if is { 1.0 } else { 0.0 };
        self.measured += 1.0;
        self.trusted += one(trust.is_trusted());
        if let Some(Issued { expected, naive }) = due {
            self.scored += 1;
            self.error += (actual - expected.mean).abs();
            self.naive += (actual - naive).abs();
            self.inside += one(expected.interval80.contains(actual));
        }
    }
}

fn policy(target: &Target) -> Policy {
    Policy {
        mode: Mode::Floor,
        bounds: target.bounds,
        behavior: None,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        horizon: target.horizon(),
        max_age: Settings::default().max_age,
    }
}
