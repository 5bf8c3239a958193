//! Portraits: the replicas that each provider asks for, and the count that follows from all of them.
//!
//! A [`Portrait`] is the statement of one provider: one count, windows by the calendar, or a
//! [`TimeSeries`] of precomputed counts. At any moment it has a [`ProviderOutcome`]. An expired
//! portrait has no value: an old forecast is no zero. [`merge`] chooses among all outcomes; a failed
//! provider is reported, and for a while the count is not lowered without it. If no provider has a
//! value, nothing changes.

mod merge;
mod outcome;
mod provider;
mod series;
mod target;

pub use merge::{MergedOutcomes, SelectedRecommendation, UnavailableProvider, merge};
pub use outcome::{ProviderFailure, ProviderOutcome, Value};
pub use provider::{Portrait, ProviderRecommendation, Replicas};
pub use series::{ReplicaPoint, TimeSeries, TimeSeriesError};
pub use target::BoundedReplicas;

#[cfg(test)]
mod tests;
