//! When a load's own trees are to be fitted anew.
//!
//! A fit is on the past up to a whole hour: the newest one at the hour of the day that is the target's, so
//! that two replicas fit the same trees however late each comes to it, and targets are spread over
//! the day. A load that is too young for that has its first trees as soon as half a day is known. Between, another
//! window asks for a fit, and Pods that carry another amount or come later or sooner, since what was tried
//! with other ones says nothing of these.

use jiff::{SignedDuration, Timestamp};

use crate::forecast::{History, OwnPeaks, Resolution};
use crate::scaling::fit_times::{newest_daily, newest_hour, rest_after};
use crate::scaling::signal::Signal;
use crate::scaling::trial::{PodsKind, TrialPods};

/// The 5-minute steps that have to be known: half a day.
const LEAST: usize = 144;
/// The time after a fit from which on a window that has become another one is worth another: a first
/// start of Pods tells more than was known before. It doubles with each, so that a window that goes to
/// and fro costs a few fits a day.
const SETTLED: SignedDuration = SignedDuration::from_mins(5);
/// From so many changes on the time is that of a day and more.
const MOST_CHANGES: u8 = 9;

/// A load whose own trees are to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFit<'a> {
    pub signal: &'a Signal,
    /// The minutes of the window that they are to answer for.
    pub window: usize,
    /// The Pods that the past is tried with.
    pub pods: TrialPods,
    /// The end of the past that they are to be fitted on.
    pub end: Timestamp,
    /// True where none have been fitted before.
    pub is_first: bool,
}

/// The last fit of a load's own trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LastFit {
    pub(super) end: Timestamp,
    pub(super) window: usize,
    /// What the past was tried with.
    tried_with: PodsKind,
    /// When it was asked for.
    pub(super) asked: Timestamp,
    /// The fits since that of the day that changes of the window asked for.
    changes: u8,
    /// The fits of late that nothing came of.
    failures: u8,
}

impl LastFit {
    /// Takes note that nothing came of it, so that it is tried again.
    pub(super) const fn failed(&mut self, now: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        self.asked = now;
    }

    /// Takes note that it was made, so that it is not tried again before the next is due.
    pub(super) const fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// The fit that is due; `hour` is that of the target's day.
pub(super) fn due(
    history: &History,
    last: Option<&LastFit>,
    (window, pods): (usize, &TrialPods),
    hour: i64,
    now: Timestamp,
) -> Option<LastFit> {
    let daily = newest_daily(hour, now)?;
    let failed = last.filter(|last| last.failures > 0);
    if failed.is_some_and(|last| now.duration_since(last.asked) < rest_after(last.failures)) {
        return None;
    }
    let of_day = failed.is_some() || last.is_none_or(|last| last.end < daily);
    let has_changed = last.is_some_and(|last| {
        let settled = SETTLED * (1 << last.changes.min(MOST_CHANGES));
        let is_other =
            !OwnPeaks::is_for(last.window, window) || !pods.kind().is_like(last.tried_with);
        is_other && now.duration_since(last.asked) >= settled
    });
    // What is known in all is counted faster.
    if !(of_day || has_changed) || history.known(Resolution::FiveMinutes) < LEAST {
        return None;
    }
    let ends = [Some(daily), newest_hour(now)];
    let mut ends = ends.into_iter().flatten();
    let end = ends.find(|end| known_before(history, *end) >= LEAST)?;
    Some(LastFit {
        end,
        window,
        tried_with: pods.kind(),
        asked: now,
        changes: last
            .filter(|_| !of_day)
            .map_or(0, |last| last.changes.saturating_add(1)),
        failures: last.map_or(0, |last| last.failures),
    })
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
    use crate::scaling::bounds::Bounds;
    use crate::scaling::horizon::Horizon;
    use crate::scaling::hpa_aware::PodCapacity;
    use crate::units::Ratio;

    const DAY: i64 = 24 * 3600;
    const START: i64 = 1_800_000_000 - 1_800_000_000 % DAY;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(START + minute * 60).unwrap()
    }

    /// Pods that carry so much each.
    fn pods(each: f64) -> TrialPods {
        let capacity = PodCapacity::new(each, Ratio::new(1.0).unwrap()).unwrap();
        TrialPods::new(capacity, Bounds::new(1, 20).unwrap(), &Horizon::default())
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
            let found = ended(due(&history, None, (4, &pods(50.0)), 6, at(now)));
            assert_eq!(found, expected.map(at), "{from} {now}");
        }
    }

    #[test]
    fn a_fit_is_due_again_at_the_targets_hour_and_once_a_change_of_the_window_has_stood() {
        let history = known(-24 * 60, 23 * 60);
        let last = |end: i64, window, asked: i64| LastFit {
            end: at(end),
            window,
            tried_with: pods(50.0).kind(),
            asked: at(asked),
            changes: 0,
            failures: 0,
        };
        for (fit, window, each, now, expected) in [
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 6 * 60 - 1, None),
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 6 * 60, Some(6 * 60)),
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60 + 1), 4, 50.0, 22 * 60, None),
            // Young then, and fitted at an hour that was not its own.
            (last(5 * 60, 4, 5 * 60), 4, 50.0, 7 * 60, Some(6 * 60)),
            // What covers a longer window covers this one.
            (last(6 * 60, 4, 6 * 60), 3, 50.0, 22 * 60, None),
            (last(6 * 60, 4, 6 * 60), 2, 50.0, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60), 5, 50.0, 22 * 60, Some(6 * 60)),
            // Pods that carry about as much, and that carry more.
            (last(6 * 60, 4, 6 * 60), 4, 54.0, 22 * 60, None),
            (last(6 * 60, 4, 6 * 60), 4, 60.0, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60), 5, 50.0, 6 * 60 + 4, None),
            (last(6 * 60, 4, 6 * 60), 5, 50.0, 6 * 60 + 5, Some(6 * 60)),
        ] {
            let found = due(&history, Some(&fit), (window, &pods(each)), 6, at(now));
            assert_eq!(ended(found), expected.map(at), "{fit:?} {window} {now}");
            assert!(found.is_none_or(|found| found.window == window));
        }
    }

    /// The harm: a Prometheus that was away for some minutes left a load without trees and trial for a day.
    #[test]
    fn a_fit_that_failed_is_tried_again_later_and_later() {
        let history = known(-24 * 60, 23 * 60);
        let of = (4, &pods(50.0));
        let mut last = due(&history, None, of, 6, at(7 * 60)).unwrap();
        assert_eq!(due(&history, Some(&last), of, 6, at(22 * 60)), None);
        let mut tried = Vec::new();
        last.failed(at(7 * 60));
        for minute in 7 * 60..22 * 60 {
            if let Some(next) = due(&history, Some(&last), of, 6, at(minute)) {
                tried.push(minute - 7 * 60);
                last = next;
                last.failed(at(minute));
            }
        }
        assert_eq!(tried, [15, 45, 105, 225, 465]);
        last.succeeded();
        assert_eq!(due(&history, Some(&last), of, 6, at(22 * 60)), None);
    }

    #[test]
    fn a_window_that_goes_to_and_fro_costs_a_few_fits_a_day() {
        let history = known(-24 * 60, 23 * 60);
        let mut last = due(&history, None, (4, &pods(50.0)), 6, at(6 * 60));
        let mut fits = Vec::new();
        for minute in 6 * 60..23 * 60 {
            let window = if minute % 20 < 10 { 4 } else { 7 };
            if let Some(fit) = due(
                &history,
                last.as_ref(),
                (window, &pods(50.0)),
                6,
                at(minute),
            ) {
                fits.push(minute - 6 * 60);
                last = Some(fit);
            }
        }
        assert_eq!(fits.first(), Some(&10));
        assert!((4..=8).contains(&fits.len()), "{fits:?}");
    }
}
