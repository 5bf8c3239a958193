//! The inputs of the plan for a Pod's resize.

use evenkeel_objects::tuning_mode::TuningMode;
use jiff::{SignedDuration, Timestamp};

use crate::resize::ResizeRules;
use crate::tuning_policy::TuningPolicy;

#[derive(Debug, Clone, Copy)]
pub struct TuningContext<'a> {
    pub mode: TuningMode,
    pub rules: ResizeRules,
    /// The policy of the workload's owner; `None` for a Pod of an unknown workload.
    pub policy: Option<&'a TuningPolicy>,
    pub withdraw_after: SignedDuration,
    /// This replica's name in Events.
    pub reporter: &'a str,
    pub now: Timestamp,
}
