//! Stability checks: whether a staged change may go on.
//!
//! Each check has a [`CheckVerdict`]: it passes, fails, or does not know, for example while a measurement is missing or
//! older than the last step. [`decide`] turns all verdicts into the [`StepCommand`](super::staged_change::StepCommand)
//! for the next step. A failed check pauses the change or rolls it back, and holds it ([`PausedChange`]). The hold
//! lasts until all checks have passed for the cool-down, or a user resumes the change. A change in the other direction
//! may be the remedy, so it is free, and does not end the hold.

mod answer;
mod bound;
mod decide;
mod error_rate;
mod hold;
mod pods_ready;
mod reading;
mod verdict;

pub(crate) use answer::ExternalCheckAnswer;
pub(crate) use bound::{ComparisonOperator, MetricBound};
pub(crate) use decide::{CheckDecision, CheckTransition, Checks, decide, measured_after};
pub(crate) use error_rate::ErrorRate;
pub(crate) use hold::{Action, PausedChange};
pub(crate) use pods_ready::PodsReady;
pub(crate) use reading::{CheckReading, Freshness};
pub(crate) use verdict::{CheckResult, CheckVerdict, Checker};

#[cfg(test)]
mod tests;
