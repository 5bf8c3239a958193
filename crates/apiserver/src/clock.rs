//! The one place where this crate reads the machine's clocks.
//!
//! What objects are stamped with comes from [`Settings::clock`](crate::Settings); certificates and
//! deadlines go by the machine's own time.

use std::time::Instant;

use jiff::Timestamp;

/// The wall clock.
#[allow(clippy::disallowed_methods)] // this is the named place
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The monotonic clock.
#[allow(clippy::disallowed_methods)] // this is the named place
pub(crate) fn instant() -> Instant {
    Instant::now()
}
