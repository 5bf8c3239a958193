//! One way of scaling, tick by tick: an HPA with its Pods, and the floor below it where there is one.

use jiff::{SignedDuration, Timestamp};

use super::forecasting::Forecaster;
use super::observed_replay::ObservedTick;
use super::replicas::ScaledPods;
use super::settings::{IntervalForecast, ReplayTarget, Start};
use super::tick::TickObservation;
use evenkeel_core::forecast::RegularSeries;
use evenkeel_core::scaling::pareto_frontier::Cost;
use evenkeel_core::scaling::tracker::Reaction;

/// A step of a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayTick {
    pub now: Timestamp,
    /// The same, counted from the begin of the run.
    pub at: SignedDuration,
    /// `None` in a gap.
    pub load: Option<f64>,
}

/// The replicas, floor and load at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayTickState {
    pub replicas: i32,
    /// Those of them that serve.
    pub ready: i32,
    /// The `minReplicas` of the HPA.
    pub floor: i32,
    /// The load that arrived; `None` in a gap.
    pub load: Option<f64>,
    /// The forecast that was made for the tick.
    pub forecast: Option<IntervalForecast>,
}

pub(super) struct Side {
    pods: ScaledPods,
    floor: i32,
}

impl Side {
    /// An HPA when `load` begins; its target is `share` of the request.
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

    /// The tick, and the time up to the next one; `forecaster` decides the floor that the HPA has then,
    /// and without one its `minReplicas` stays.
    pub(super) fn tick(
        &mut self,
        tick: &ReplayTick,
        forecaster: Option<&mut Forecaster>,
    ) -> ReplayTickState {
        self.observed_tick(tick, forecaster, &mut |_| ())
    }

    /// The same; `observe` is shown each decision.
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

    /// Forgets what was counted up to now.
    pub(super) fn forget_cost(&mut self) {
        self.pods.forget_cost();
    }

    pub(super) const fn cost(&self) -> Cost {
        self.pods.cost()
    }
}
