//! What a Pod is followed by.

use jiff::{SignedDuration, Timestamp};

use crate::plan::resize::Rules;
use evenkeel_core::tuning::Mode;

/// What a Pod is followed by.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub mode: Mode,
    pub rules: Rules,
    /// The time after which a resize that kubelet has not done is withdrawn.
    pub withdraw_after: SignedDuration,
    /// This replica's name in Events.
    pub reporter: &'a str,
    pub now: Timestamp,
}
