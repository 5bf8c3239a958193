//! The age from which a measurement no longer counts, wherever nothing else is configured.

use jiff::SignedDuration;

/// A rate window of two minutes, and a scrape and a round that fail.
pub const DEFAULT: SignedDuration = SignedDuration::from_mins(3);
