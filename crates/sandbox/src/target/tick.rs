//! The input and the decision of one tick.

use jiff::Timestamp;

use evenkeel_core::forecast::{Accuracy, Step, Trust};
use evenkeel_core::scaling::horizon::Horizon;
use evenkeel_core::scaling::observation::LoadSample;

/// The load and the replicas at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickObservation {
    pub now: Timestamp,
    /// The load that has last been measured.
    pub measured: Option<LoadSample>,
    pub current: i32,
    pub ready: i32,
    pub reactive: Option<i32>,
}

/// The floor that a tick decides, and the forecast that it rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickDecision {
    pub floor: i32,
    /// The forecast for the end of the horizon, and its time.
    pub ahead: Option<(Timestamp, Step)>,
    pub horizon: Horizon,
    pub model: &'static str,
    pub trust: Trust,
    pub accuracy: Option<Accuracy>,
}
