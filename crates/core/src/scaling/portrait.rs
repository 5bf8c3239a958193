//! Portraits: how many replicas a target is to have by one provider, and by all of them together.
//!
//! A [`Portrait`] is what one provider has said: one count, windows by the calendar, or a [`TimeSeries`] of
//! counts that somebody has computed before. At any moment it has an [`Outcome`], and where it has
//! expired that is all that it has: an old forecast is no zero. [`merge`] chooses among the outcomes of all
//! providers. One that failed leaves the others standing, is named, and for a while lets nothing go that
//! it may still need; where nobody has a value, nothing changes.

mod merge;
mod outcome;
mod provider;
mod series;
mod target;

pub use merge::{Asked, Merged, Unheard, merge};
pub use outcome::{Failure, Outcome, Value};
pub use provider::{Portrait, Provided, Replicas};
pub use series::{Point, SeriesError, TimeSeries};
pub use target::Target;

#[cfg(test)]
mod tests;
