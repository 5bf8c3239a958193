//! Stability checks: whether a staged change may go on.
//!
//! Each check comes to a [`CheckVerdict`]: it passes, fails, or does not know, as while a measurement is missing
//! or older than the last step. [`decide`] turns the verdicts of all into the [`Command`](super::stages::Command) for the next
//! step. A failed check pauses the change or rolls it back and holds it ([`PausedChange`]) until all pass and have passed for
//! the cool-down, or until somebody resumes it. A hold belongs to the direction that it was put on: a change the other
//! way is free, since it may well be the remedy, and does not end it.

mod answer;
mod bound;
mod decide;
mod error_rate;
mod hold;
mod pods_ready;
mod reading;
mod verdict;

pub use answer::ExternalCheckAnswer;
pub use bound::{ComparisonOperator, MetricBound, UnknownOperator};
pub use decide::{CheckDecision, CheckTransition, Checks, decide, measured_after};
pub use error_rate::ErrorRate;
pub use hold::{Action, PausedChange};
pub use pods_ready::PodsReady;
pub use reading::{CheckReading, Freshness};
pub use verdict::{CheckResult, CheckVerdict, Checker};

#[cfg(test)]
mod tests;
