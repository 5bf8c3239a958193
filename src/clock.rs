//! The one place where the clocks are read.
//!
//! Decisions take the time as an argument; the edge of the process (a request, a tick) reads it
//! here once and passes it on.

use std::time::Instant;

use jiff::Timestamp;

/// The wall clock.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The monotonic clock, for latencies and deadlines of the process itself.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn instant() -> Instant {
    Instant::now()
}
