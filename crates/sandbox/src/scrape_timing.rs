//! How often a metrics backend reads counters.

use jiff::SignedDuration;

/// The interval of readings and the span of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub interval: SignedDuration,
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
