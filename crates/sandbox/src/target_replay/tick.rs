//! The input and the decision of one tick.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_forecast::{ForecastStep, HorizonAccuracy, ModelTrust};
use evenkeel_objects::start_time::StartTime;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_scaling::load::observation::LoadSample;
use evenkeel_scaling::recommend::merged_portraits::PortraitInput;
use evenkeel_scaling::staged_change::StagedChange;
use evenkeel_scaling::tracker::Reaction;
use jiff::Timestamp;

#[derive(Debug, Clone, Copy)]
pub(super) struct TickObservation<'a> {
    pub now: Timestamp,
    pub measured: Option<LoadSample>,
    pub current: i32,
    pub ready: i32,
    /// Known starts of Pods.
    pub starts: &'a [StartTime],
    /// To the present load.
    pub reaction: Reaction<'a>,
    /// `None` if a floor is decided.
    pub portraits: Option<PortraitInput<'a>>,
}

/// With the forecast behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickDecision {
    pub replicas: i32,
    pub step: Option<PortraitStep>,
    /// For the end of the horizon, with its time.
    pub ahead: Option<(Timestamp, ForecastStep)>,
    pub horizon: Horizon,
    pub model: &'static str,
    pub trust: ModelTrust,
    pub accuracy: Option<HorizonAccuracy>,
}

/// Counts, and the change under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortraitStep {
    pub counts: ReplicaCounts,
    pub change: Option<StagedChange>,
}
