//! The input and the decision of one tick.

use jiff::Timestamp;

use evenkeel_core::forecast::{ForecastStep, HorizonAccuracy, ModelTrust};
use evenkeel_core::scaling::horizon::{Horizon, StartTime};
use evenkeel_core::scaling::observation::LoadSample;
use evenkeel_core::scaling::staged_change::StagedChange;
use evenkeel_core::scaling::tracker::Reaction;
use evenkeel_core::scaling::{PortraitInput, ReplicaCounts};

/// The load and the replicas at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickObservation<'a> {
    pub now: Timestamp,
    /// The load that has last been measured.
    pub measured: Option<LoadSample>,
    pub current: i32,
    pub ready: i32,
    /// The starts of Pods that are known.
    pub starts: &'a [StartTime],
    /// The reaction to the load as it is now.
    pub reaction: Reaction<'a>,
    /// The portraits that the count follows; `None` where a floor is decided.
    pub portraits: Option<PortraitInput<'a>>,
}

/// The floor or the count that a tick decides, and the forecast that it rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickDecision {
    pub replicas: i32,
    /// The step towards a count by portraits.
    pub step: Option<PortraitStep>,
    /// The forecast for the end of the horizon, and its time.
    pub ahead: Option<(Timestamp, ForecastStep)>,
    pub horizon: Horizon,
    pub model: &'static str,
    pub trust: ModelTrust,
    pub accuracy: Option<HorizonAccuracy>,
}

/// The counts that a step comes to, and the change that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortraitStep {
    pub counts: ReplicaCounts,
    pub change: Option<StagedChange>,
}
