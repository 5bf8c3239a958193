//! The memory of the two providers that know the loads, from one tick to the next.

use jiff::Timestamp;

/// The state of reaction and forecast as providers of a target's portraits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProviderState {
    /// Since when the reaction has failed.
    pub(super) reactive_fails: Option<Timestamp>,
    /// Since when the forecast has.
    pub(super) predictive_fails: Option<Timestamp>,
    /// The count that prediction last asked for.
    pub(super) predicted: Option<i32>,
}
