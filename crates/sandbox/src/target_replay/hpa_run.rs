//! One way of scaling, tick by tick: an HPA with its Pods, and a floor if there is one.

use evenkeel_forecast::RegularSeries;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_scaling::tracker::Reaction;
use jiff::{SignedDuration, Timestamp};

use super::forecasting::Forecaster;
use super::observed_replay::ObservedTick;
use super::replicas::ScaledPods;
use super::settings::{IntervalForecast, ReplayTarget, Start};
use super::tick::TickObservation;

/// A step of a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayTick {
    pub now: Timestamp,
    /// Since the begin of the run.
    pub at: SignedDuration,
    /// `None` in a gap.
    pub load: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayTickState {
    pub replicas: i32,
    /// Serving replicas.
    pub ready: i32,
    /// `minReplicas` of the HPA.
    pub floor: i32,
    /// Arrived load; `None` in a gap.
    pub load: Option<f64>,
    /// Made earlier for this tick.
    pub forecast: Option<IntervalForecast>,
}

pub(super) struct Side {
    pods: ScaledPods,
    floor: i32,
}

impl Side {
    /// When `load` begins; the target is `share` of the request.
    pub(super) fn new(
        target: &ReplayTarget,
        load: &RegularSeries,
        share: f64,
        start: Start,
    ) -> Self {
        Self {
            pods: ScaledPods::new(target, load, share, start),
            floor: target.bounds.min(),
        }
    }

    /// Its HPA has a second metric for the load that a rule expects.
    pub(super) fn follow_rule(&mut self) {
        self.pods.follow_rule();
    }

    /// The value of the second metric at a tick, in the unit of the load.
    pub(super) fn take_rule(&mut self, tick: &ReplayTick, load: f64) {
        self.pods.take_rule(tick.at, load);
    }

    /// The tick, and the time up to the next one; `forecaster` decides the next floor, and without
    /// it `minReplicas` stays.
    pub(super) fn tick(
        &mut self,
        tick: &ReplayTick,
        forecaster: Option<&mut Forecaster>,
    ) -> ReplayTickState {
        self.observed_tick(tick, forecaster, &mut |_| ())
    }

    /// Shows `observe` each decision.
    pub(super) fn observed_tick(
        &mut self,
        tick: &ReplayTick,
        forecaster: Option<&mut Forecaster>,
        observe: &mut dyn FnMut(ObservedTick<'_>),
    ) -> ReplayTickState {
        let ReplayTick { now, at, load } = *tick;
        let load = self.pods.arriving(at, load);
        let reactive = self.pods.sync(at, load, self.floor);
        let expected = forecaster
            .as_ref()
            .map(|forecaster| forecaster.expected(now));
        let passed = ReplayTickState {
            replicas: self.pods.replicas(),
            ready: self.pods.ready(at),
            floor: self.floor,
            load,
            forecast: expected.flatten(),
        };
        if let Some(forecaster) = forecaster {
            let decided = forecaster.decide(&TickObservation {
                now,
                measured: self.pods.measured(),
                current: passed.replicas,
                ready: passed.ready,
                starts: self.pods.starts(),
                reaction: Reaction::Autoscaler(reactive),
                portraits: None,
            });
            let (pods, measured) = self.pods.seen();
            observe(ObservedTick {
                now,
                pods,
                measured,
                starts: self.pods.starts(),
                replicas: passed.replicas,
                reactive,
                floor: self.floor,
                decided: decided.replicas,
            });
            self.floor = decided.replicas;
        }
        self.pods.pass(at, load);
        passed
    }

    /// Resets the counters.
    pub(super) fn forget_cost(&mut self) {
        self.pods.forget_cost();
    }

    pub(super) const fn cost(&self) -> Cost {
        self.pods.cost()
    }
}
