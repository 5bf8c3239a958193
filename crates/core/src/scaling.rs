//! How many replicas a target is to have: what its load will need, what the HPA's own rules allow,
//! and who may say so.
//!
//! Everything is a function of policy, state and observation, `now` among them; the same history
//! gives the same decisions to the last bit. A prediction only adds to what reacts to the load now,
//! and moves no faster than the target's scaleUp policies; data that is missing or stale moves
//! nothing.

mod bounds;
pub mod decide;
pub mod ds_hpa;
mod grounds;
pub mod horizon;
pub mod hpa;
pub mod hpa_aware;
mod limit;
mod mode;
pub mod ownership;
pub mod pod;
mod reason;
pub mod sample;
pub mod signal;
pub mod sum;
pub mod tracker;

pub use bounds::{Bounds, BoundsError};
pub use decide::{Decision, State, decide};
pub use ds_hpa::Predicted;
pub use grounds::Grounds;
pub use limit::{LimitedBy, scale_up_limit};
pub use mode::{Mode, ScaleDown, UnknownMode};

use jiff::{SignedDuration, Timestamp};

use crate::forecast::NotReady;
use crate::units::{Ratio, Resource};
use hpa::Behavior;
use hpa_aware::PodCapacity;

/// What is predicted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Nothing.
    Off,
    /// Forecasts that stand for one horizon each, and D-HPA while they do or there is none.
    #[default]
    DsHpa,
    /// The newest forecast, and nothing while there is none.
    Forecast,
}

/// What holds for a target until its objects change.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// How decisions act.
    pub mode: Mode,
    /// The user's own bounds.
    pub bounds: Bounds,
    /// `spec.behavior` of the target's HPA; `None` where it has none.
    pub behavior: Option<Behavior>,
    /// How far from its target a ratio may be without effect.
    pub tolerance: Ratio,
    /// What may take replicas away.
    pub scale_down: ScaleDown,
    /// What is predicted with.
    pub strategy: Strategy,
    /// How far ahead is predicted, and for how long a forecast stands.
    pub horizon: SignedDuration,
    /// Measurements older than this are no data.
    pub max_age: SignedDuration,
}

/// What is known of a target at one tick.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// CR: the `spec.replicas` of the target.
    pub current: i32,
    /// What the load as it is now asks for, all rules of the HPA applied; `None` where its metrics
    /// are missing.
    pub reactive: Option<i32>,
    /// The load by resource.
    pub loads: &'a [Load<'a>],
}

/// The load of a target in one resource, in the resource's base unit.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The resource.
    pub resource: Resource,
    /// What one Pod is to carry.
    pub capacity: PodCapacity,
    /// The sums over the target's Pods at the steps of the series since its last gap, oldest first.
    pub recent: &'a [f64],
    /// When the last of them was measured; `None` where nothing was.
    pub measured: Option<Timestamp>,
    /// What is forecast for it.
    pub predicted: Option<Predicted<'a>>,
    /// The model that has too little history to forecast, where none can.
    pub lacking: Option<NotReady>,
}

impl Load<'_> {
    /// The load as it is now, unless it is missing or older than `max_age`; a measurement from the
    /// future tells nothing of now either.
    fn used(&self, now: Timestamp, max_age: SignedDuration) -> Option<f64> {
        let age = now.duration_since(self.measured?);
        let fresh = age <= max_age && -age <= max_age;
        self.recent.last().copied().filter(|_| fresh)
    }
}
