//! Stability checks: whether a staged change may go on.
//!
//! Each check comes to a [`Verdict`]: it passes, fails, or does not know, as while a measurement is missing
//! or older than the last step. [`decide`] turns the verdicts of all into the [`Command`](super::stages::Command) for the next
//! step. A failed check pauses the change or rolls it back and holds it ([`Hold`]) until all pass and have passed for
//! the cool-down, or until somebody resumes it. A hold belongs to the direction that it was put on: a change the other
//! way is free, since it may well be the remedy, and does not end it.

mod answer;
mod bound;
mod decide;
mod error_rate;
mod hold;
mod reading;
mod ready;
mod verdict;

pub use answer::Answer;
pub use bound::{MetricBound, Operator, UnknownOperator};
pub use decide::{Checks, Decided, Happening, decide, measured_after};
pub use error_rate::ErrorRate;
pub use hold::{Action, Hold};
pub use reading::{Freshness, Reading};
pub use ready::PodsReady;
pub use verdict::{Checked, Checker, Verdict};

#[cfg(test)]
mod tests;
