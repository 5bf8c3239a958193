//! The times up to which the pasts of targets are fitted: whole hours, and each day the hour that is the target's
//! own, so that two replicas fit the same past however late each comes to it, and targets are spread over the day.
//! A fit that failed is tried again before, later and later.

use evenkeel_units::fnv::fnv1a;
use jiff::{SignedDuration, Timestamp};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// The time after which a fit that failed is tried again; it doubles with each failure.
const RETRIED: SignedDuration = SignedDuration::from_mins(15);
/// From so many failures on the time is eight hours.
const MOST_RESTS: u8 = 6;

/// The time after the last of so many failures in a row, one at least, from which on it is tried again.
pub(crate) fn rest_after(failures: u8) -> SignedDuration {
    RETRIED * (1 << failures.min(MOST_RESTS).saturating_sub(1))
}

/// The hour of the day at which the past of a workload is fitted, the same on every replica.
pub fn daily_hour(namespace: &str, kind: &str, name: &str) -> i64 {
    let text = format!("{namespace}/{kind} {name}");
    i64::try_from(fnv1a(text.as_bytes()) % 24).unwrap_or_default()
}

/// The newest moment up to `now` at which this hour of the day began; `None` before all time.
pub(crate) fn newest_daily(hour: i64, now: Timestamp) -> Option<Timestamp> {
    newest(DAY, hour * HOUR, now)
}

/// The newest moment up to `now` at which an hour began; `None` before all time.
pub(crate) fn newest_hour(now: Timestamp) -> Option<Timestamp> {
    newest(HOUR, 0, now)
}

/// The newest moment up to `now` that lies so many seconds after a multiple of `period`.
fn newest(period: i64, after: i64, now: Timestamp) -> Option<Timestamp> {
    let second = now.as_second();
    Timestamp::from_second(second - (second - after).rem_euclid(period)).ok()
}
