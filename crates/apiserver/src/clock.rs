//! The one place where this crate reads the machine's clocks. Objects have the time of
//! [`Settings::clock`](crate::Settings); certificates and deadlines use the machine's.

use std::time::Instant;

use jiff::Timestamp;

#[allow(clippy::disallowed_methods)] // this is the named place
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

#[allow(clippy::disallowed_methods)] // this is the named place
pub(crate) fn instant() -> Instant {
    Instant::now()
}
