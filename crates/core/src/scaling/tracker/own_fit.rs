//! When a load's own trees are to be fitted anew.
//!
//! A fit is on the past up to a whole hour: the newest one at the hour of the day that is the target's, so
//! that two replicas fit the same trees however late each comes to it, and targets are spread over
//! the day. A load that is too young for that has its first trees as soon as half a day is known.

use jiff::{SignedDuration, Timestamp};

use crate::forecast::{History, OwnPeaks, Resolution};
use crate::scaling::signal::Signal;

/// The 5-minute steps that have to be known: half a day.
const LEAST: usize = 144;
/// The time after which a window that has become another one is worth another fit.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// A load whose own trees are to be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFit<'a> {
    pub signal: &'a Signal,
    /// The minutes of the window that they are to answer for.
    pub window: usize,
    /// The end of the past that they are to be fitted on.
    pub end: Timestamp,
    /// True where none have been fitted before.
    pub is_first: bool,
}

/// The last fit of a load's own trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastFit {
    pub(super) end: Timestamp,
    pub(super) window: usize,
    /// When it was asked for.
    pub(super) asked: Timestamp,
}

/// The fit that is due; `hour` is that of the target's day.
pub(super) fn due(
    history: &History,
    last: Option<&LastFit>,
    window: usize,
    hour: i64,
    now: Timestamp,
) -> Option<LastFit> {
    let daily = newest(DAY, hour * HOUR, now)?;
    let is_due = last.is_none_or(|last| {
        let is_settled = now.duration_since(last.asked) >= SETTLED;
        last.end < daily || is_settled && !OwnPeaks::is_for(last.window, window)
    });
    // What is known in all is counted faster.
    if !is_due || history.known(Resolution::FiveMinutes) < LEAST {
        return None;
    }
    let ends = [Some(daily), newest(HOUR, 0, now)];
    let mut ends = ends.into_iter().flatten();
    let end = ends.find(|end| known_before(history, *end) >= LEAST)?;
    Some(LastFit {
        end,
        window,
        asked: now,
    })
}

/// The newest moment up to `now` that lies so many seconds after a multiple of `period`.
fn newest(period: i64, after: i64, now: Timestamp) -> Option<Timestamp> {
    let second = now.as_second();
    Timestamp::from_second(second - (second - after).rem_euclid(period)).ok()
}

/// The 5-minute steps before `end` that are known.
fn known_before(history: &History, end: Timestamp) -> usize {
    const RING: Resolution = Resolution::FiveMinutes;
    let times = std::iter::successors(end.checked_sub(RING.step()).ok(), |time| {
        time.checked_sub(RING.step()).ok()
    });
    let steps = times.take(RING.length());
    steps
        .filter(|time| history.step(RING, *time).is_some())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_800_000_000 - 1_800_000_000 % DAY;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(START + minute * 60).unwrap()
    }

    /// What is known from one minute of the day to another.
    fn known(from: i64, to: i64) -> History {
        let mut history = History::default();
        for minute in (from..to).step_by(5) {
            let filled = history.refill(Resolution::FiveMinutes, at(minute), 1.0, at(to));
            assert_eq!(filled, Ok(true));
        }
        history
    }

    fn ended(fit: Option<LastFit>) -> Option<Timestamp> {
        fit.map(|fit| fit.end)
    }

    #[test]
    fn the_first_fit_waits_for_half_a_day_and_is_on_the_past_up_to_an_hour() {
        for (from, now, expected) in [
            (0_i64, 11 * 60 + 59_i64, None),
            (0, 12 * 60 + 4, Some(12 * 60)),
            // Half a day is known, but not up to a whole hour.
            (30, 12 * 60 + 35, None),
            (30, 13 * 60 + 1, Some(13 * 60)),
            // It is known up to the target's own hour.
            (-24 * 60, 12 * 60 + 4, Some(6 * 60)),
            (-36 * 60, 5 * 60 + 59, Some((6 - 24) * 60)),
        ] {
            let history = known(from, now - now.rem_euclid(5));
            let found = ended(due(&history, None, 4, 6, at(now)));
            assert_eq!(found, expected.map(at), "{from} {now}");
        }
    }

    #[test]
    fn a_fit_is_due_again_at_the_targets_hour_and_once_a_change_of_the_window_has_stood() {
        let history = known(-24 * 60, 23 * 60);
        let last = |end: i64, window, asked: i64| LastFit {
            end: at(end),
            window,
            asked: at(asked),
        };
        for (fit, window, now, expected) in [
            (last((6 - 24) * 60, 4, -800), 4, 6 * 60 - 1, None),
            (last((6 - 24) * 60, 4, -800), 4, 6 * 60, Some(6 * 60)),
            (last((6 - 24) * 60, 4, -800), 4, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60 + 1), 4, 22 * 60, None),
            // Young then, and fitted at an hour that was not its own.
            (last(5 * 60, 4, 5 * 60), 4, 7 * 60, Some(6 * 60)),
            // What covers a longer window covers this one.
            (last(6 * 60, 4, 6 * 60), 3, 22 * 60, None),
            (last(6 * 60, 4, 6 * 60), 2, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60), 5, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60), 5, 6 * 60 + 59, None),
        ] {
            let found = due(&history, Some(&fit), window, 6, at(now));
            assert_eq!(ended(found), expected.map(at), "{fit:?} {window} {now}");
            assert!(found.is_none_or(|found| found.window == window));
        }
    }
}
