//! The rules of one target, which hold until its objects change.

use evenkeel_hpa::{Behavior, Tolerances};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use jiff::SignedDuration;

use crate::load::horizon::Lead;

/// The method that predicts a target's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Nothing is predicted.
    Off,
    /// DS-HPA: each forecast stands for one horizon, and D-HPA acts while one stands or there is
    /// none (`DS-HPA`).
    #[default]
    DsHpa,
    /// The newest forecast of the model in use; nothing while it has none.
    Forecast,
}

/// The rules of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPolicy {
    /// The way in which decisions act on the target.
    pub mode: ScalingMode,
    /// The user's own bounds.
    pub bounds: ReplicaBounds,
    /// `spec.behavior` of the target's HPA; `None` where it has none.
    pub behavior: Option<Behavior>,
    /// The distances of a usage ratio from 1 that are too small to act on.
    pub tolerances: Tolerances,
    /// The right of a forecast to take replicas away.
    pub scale_down: ScaleDown,
    /// The time from a decision until the Pods that it asks for are ready.
    pub lead: Lead,
    /// The age from which a measurement no longer counts.
    pub max_age: SignedDuration,
    /// The share of time in which a floor may turn out too low.
    pub risk: Risk,
}
