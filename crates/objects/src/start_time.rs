//! How long the start of a Pod took.

use jiff::SignedDuration;

/// The start of one Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    /// From its creation until a node had it.
    pub waited: SignedDuration,
    /// From then until it was ready for the first time.
    pub started: SignedDuration,
}
