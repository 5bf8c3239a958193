//! The times up to which the pasts of targets are fitted: whole hours, and each day the hour that is the target's
//! own, so that two replicas fit the same past however late each comes to it, and targets are spread over the day.

use jiff::Timestamp;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The newest moment up to `now` at which this hour of the day began; `None` before all time.
#[must_use]
pub fn newest_daily(hour: i64, now: Timestamp) -> Option<Timestamp> {
    newest(DAY, hour * HOUR, now)
}

/// The newest moment up to `now` at which an hour began; `None` before all time.
#[must_use]
pub fn newest_hour(now: Timestamp) -> Option<Timestamp> {
    newest(HOUR, 0, now)
}

/// The newest moment up to `now` that lies so many seconds after a multiple of `period`.
fn newest(period: i64, after: i64, now: Timestamp) -> Option<Timestamp> {
    let second = now.as_second();
    Timestamp::from_second(second - (second - after).rem_euclid(period)).ok()
}
