//! The age from which a measurement no longer counts, wherever nothing else is configured.

use jiff::SignedDuration;

/// A rate window of two minutes, and a scrape and a round that fail.
pub const DEFAULT: SignedDuration = SignedDuration::from_mins(3);

/// The time for which a load may stand once it was taken. Half of the age that a measurement may
/// have is left to it for being scraped and asked for.
#[must_use]
pub fn standing(max_age: SignedDuration) -> SignedDuration {
    max_age / 2
}
