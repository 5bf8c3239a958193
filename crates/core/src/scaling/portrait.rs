//! Portraits: how many replicas a target is to have by one provider, and by all of them together.
//!
//! A [`Portrait`] is what one provider has said: one count, windows by the calendar, or a [`TimeSeries`] of
//! counts that somebody has computed before. At any moment it has an [`ProviderOutcome`], and where it has
//! expired that is all that it has: an old forecast is no zero. [`merge`] chooses among the outcomes of all
//! providers. One that failed leaves the others standing, is named, and for a while lets nothing go that
//! it may still need; where nobody has a value, nothing changes.

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
