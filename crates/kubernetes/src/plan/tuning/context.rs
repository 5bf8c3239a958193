//! What a Pod is followed by.

use jiff::{SignedDuration, Timestamp};

use crate::plan::resize::ResizeRules;
use crate::tuning_policy::TuningPolicy;
use evenkeel_core::tuning::TuningMode;

/// What a Pod is followed by.
#[derive(Debug, Clone, Copy)]
pub struct TuningContext<'a> {
    pub mode: TuningMode,
    pub rules: ResizeRules,
    /// The wishes of the workload's owner; `None` for a Pod whose workload is not known.
    pub policy: Option<&'a TuningPolicy>,
    /// The time after which a resize that kubelet has not done is withdrawn.
    pub withdraw_after: SignedDuration,
    /// This replica's name in Events.
    pub reporter: &'a str,
    pub now: Timestamp,
}
