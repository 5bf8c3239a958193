//! A run's target and settings, and the accuracy of its forecasts.

use evenkeel_forecast::{HorizonAccuracy, Interval, ModelSet, ModelTrust, RegularSeries};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_objects::start_time::StartTime;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_units::Resource;
use jiff::SignedDuration;

use crate::autoscaler::SYNC;
use crate::scrape_timing::Timing;

/// Step of a load: one tick of the service and of an HPA.
pub const GRID: SignedDuration = SYNC;

/// Scaled by one resource.
#[derive(Debug, Clone, Copy)]
pub struct ReplayTarget {
    /// Unit of the load.
    pub resource: Resource,
    /// Target load of one Pod.
    pub capacity: PodCapacity,
    pub bounds: ReplicaBounds,
    /// Time of a new Pod until it is ready.
    pub start_up: SignedDuration,
    pub metrics: Timing,
    /// Use of Pods that start or end.
    pub edges: Edges,
    /// Pods at the beginning; `None` for as many as the load asks for.
    pub initial: Option<i32>,
}

impl ReplayTarget {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floors {
    pub models: ModelSet,
    pub risk: Risk,
    /// For a forecast that would lower the floor before the load has fallen.
    pub scale_down: ScaleDown,
}

impl Floors {
    /// By these models, with defaults for everything else.
    #[must_use]
    pub fn by(models: ModelSet) -> Self {
        Self {
            models,
            risk: Risk::default(),
            scale_down: ScaleDown::default(),
        }
    }

    #[must_use]
    pub fn is_at_default_risk(&self) -> bool {
        self.risk == Risk::default()
    }
}

/// When its load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Its Pods have long been ready.
    Settled,
    /// Created at that moment: requests come once its first Pod is ready, and only earlier load is
    /// known.
    Created,
}

/// Load of starting and ending Pods, which is not the target's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edges {
    /// Use of a starting Pod, as a multiple of the target load of one Pod.
    pub warm_up: f64,
    /// How long a ready Pod has this use in addition.
    pub settling: SignedDuration,
    /// How long a deleted Pod goes on as before.
    pub ending: SignedDuration,
}

impl Default for Edges {
    /// A start as busy as serving, and an end within the sleep of Kubernetes' own examples of a
    /// `preStop` hook.
    fn default() -> Self {
        Self {
            warm_up: 1.0,
            settling: SignedDuration::ZERO,
            ending: SignedDuration::from_secs(10),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalForecast {
    pub mean: f64,
    /// Holds 80 % of the values that come.
    pub interval80: Interval,
}

/// Forecasts of a run against the measurements of their due times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecasts {
    /// In use at the end.
    pub model: Option<&'static str>,
    /// Number of comparisons.
    pub scored: u32,
    /// Mean absolute error.
    pub mae: f64,
    /// Error of the last value, at the same times and horizon.
    pub naive_mae: f64,
    /// Share of measurements inside the 80 % interval.
    pub coverage80: f64,
    /// Share of measured ticks with a trusted model.
    pub trusted_share: f64,
    /// The service's own rolling figures at the end.
    pub recent: Option<HorizonAccuracy>,
    /// At the end.
    pub trust: ModelTrust,
}
