//! The input and the decision of one tick.

use jiff::Timestamp;

use evenkeel_core::forecast::{Accuracy, Step, Trust};

/// The load and the replicas at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickObservation {
    pub now: Timestamp,
    pub measured: Option<f64>,
    pub current: i32,
    pub reactive: Option<i32>,
}

/// The floor that a tick decides, and the forecast that it rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickDecision {
    pub floor: i32,
    /// The forecast for one horizon from now.
    pub ahead: Option<Step>,
    pub model: &'static str,
    pub trust: Trust,
    pub accuracy: Option<Accuracy>,
}
