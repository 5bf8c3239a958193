//! Portraits: the replicas that a provider asks for over time.
//!
//! A [`Portrait`] is the statement of one provider: one count, windows by the calendar, or a
//! [`TimeSeries`] of precomputed counts. An expired portrait has no value: an old forecast is no zero.

pub mod check;
mod provider;
mod series;

pub use provider::{Portrait, Replicas};
pub use series::{ReplicaPoint, TimeSeries, TimeSeriesError};

#[cfg(test)]
mod tests;
