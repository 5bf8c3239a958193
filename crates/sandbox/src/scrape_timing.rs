//! How often a metrics backend looks.

use jiff::SignedDuration;

/// When counters are read, and over which span rates are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub interval: SignedDuration,
    /// The span of a rate.
    pub window: SignedDuration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            interval: SignedDuration::from_secs(15),
            window: SignedDuration::from_secs(60),
        }
    }
}
