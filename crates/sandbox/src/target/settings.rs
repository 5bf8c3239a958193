//! The settings of a run: its target; and its result: the forecasts that were made.

use jiff::SignedDuration;

use crate::autoscaler::SYNC;
use crate::scrape_timing::Timing;
use evenkeel_core::forecast::{HorizonAccuracy, Interval, ModelSet, ModelTrust, RegularSeries};
use evenkeel_core::scaling::horizon::StartTime;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::{ReplicaBounds, Risk, ScaleDown};
use evenkeel_core::units::Resource;

/// The distance of a load's values: one tick of the service and of an HPA.
pub const GRID: SignedDuration = SYNC;

/// A workload that is scaled by one resource.
#[derive(Debug, Clone, Copy)]
pub struct ReplayTarget {
    /// The resource that the load is measured in.
    pub resource: Resource,
    /// The load that one Pod is to carry.
    pub capacity: PodCapacity,
    /// The bounds of the HPA.
    pub bounds: ReplicaBounds,
    /// How long a new Pod takes until it is ready.
    pub start_up: SignedDuration,
    /// How late metrics are.
    pub metrics: Timing,
    /// The use of Pods that start or end.
    pub edges: Edges,
    /// How many Pods there are at the beginning; `None` for as many as the load asks for.
    pub initial: Option<i32>,
}

impl ReplayTarget {
    /// The start of each of its Pods.
    pub(super) const fn start_time(&self) -> StartTime {
        StartTime {
            waited: SignedDuration::ZERO,
            started: self.start_up,
        }
    }

    pub(super) fn initial(&self, load: &RegularSeries) -> i32 {
        let first = load.values().iter().copied().flatten().next();
        let asked = || first.map(|load| self.capacity.desired_for_sum(load));
        let count = self.initial.or_else(asked);
        self.bounds.clamp(count.unwrap_or(self.bounds.min())).max(1)
    }
}

/// The settings that decide floors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floors {
    pub models: ModelSet,
    pub risk: Risk,
    /// The rule for a forecast that would lower the floor before the load has fallen.
    pub scale_down: ScaleDown,
}

impl Floors {
    /// Floors by these models as a target has them that sets nothing else.
    #[must_use]
    pub fn by(models: ModelSet) -> Self {
        Self {
            models,
            risk: Risk::default(),
            scale_down: ScaleDown::default(),
        }
    }

    /// True at the risk that a target has by default.
    #[must_use]
    pub fn is_at_default_risk(&self) -> bool {
        self.risk == Risk::default()
    }
}

/// The state of a target when its load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Its Pods have long been ready.
    Settled,
    /// It is created at that moment. Requests come from when its first Pod is ready, and only what lay before is known
    /// of its load.
    Created,
}

/// The load of Pods at the edges of their lives, which is none of the target's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edges {
    /// The use of a Pod that starts, as a multiple of the load that one Pod is to carry.
    pub warm_up: f64,
    /// How long a Pod that is ready uses that beside what it serves.
    pub settling: SignedDuration,
    /// How long a Pod that is deleted goes on as before, finishing what it has.
    pub ending: SignedDuration,
}

impl Default for Edges {
    /// A service that starts as busy as it serves, and ends within the time that Kubernetes' own
    /// examples of a `preStop` hook sleep.
    fn default() -> Self {
        Self {
            warm_up: 1.0,
            settling: SignedDuration::ZERO,
            ending: SignedDuration::from_secs(10),
        }
    }
}

/// A forecast of one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalForecast {
    pub mean: f64,
    /// The interval that holds 80 % of what comes.
    pub interval80: Interval,
}

/// How good the forecasts of a run were against what was measured when they were due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecasts {
    /// The model that was listened to at the end.
    pub model: Option<&'static str>,
    /// How many were held against a measurement.
    pub scored: u32,
    /// The mean absolute error.
    pub mae: f64,
    /// That of the last value, at the same times and horizon.
    pub naive_mae: f64,
    /// The share of measurements inside the 80 % interval.
    pub coverage80: f64,
    /// The share of the ticks with a measurement at which the model was trusted.
    pub trusted_share: f64,
    /// The service's own rolling figures at the end.
    pub recent: Option<HorizonAccuracy>,
    /// The trust in the model at the end.
    pub trust: ModelTrust,
}
