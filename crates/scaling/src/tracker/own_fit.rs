//! When a load's own trees, or the models that it is to be forecast by, are to be fitted anew.
//!
//! A fit is on the past up to a whole hour: the newest one at the hour of the day that is the target's, so
//! that two replicas fit the same trees however late each comes to it, and targets are spread over
//! the day. A load that is too young for that has its first trees as soon as half a day is known. Models go on from
//! the minutes since, of which three hours are remembered, so theirs is always the newest hour. Between, another
//! window asks for a fit, and Pods that carry another amount or come later or sooner, since what was tried
//! with other ones says nothing of these.

use evenkeel_forecast::{LoadRingBuffer, ModelSet, NotReady, OwnPeaks, Resolution};
use evenkeel_metrics::signal::Signal;
use jiff::{SignedDuration, Timestamp};

use super::fit_times::{newest_daily, newest_hour, rest_after};
use super::load_model::LoadModel;
use super::load_past_fit::LoadPastFit;
use crate::counterfactual::{PodsKind, TrialPods};

/// The 5-minute steps that have to be known: half a day.
const LEAST: usize = 144;
/// The time after a fit from which on a window that has become another one is worth another: a first
/// start of Pods tells more than was known before. It doubles with each, so that a window that goes to
/// and fro costs a few fits a day.
const SETTLED: SignedDuration = SignedDuration::from_mins(5);
/// From so many changes on the time is that of a day and more.
const MOST_CHANGES: u8 = 9;

/// A load that needs trees or models of its own to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFit<'a> {
    pub signal: &'a Signal,
    /// The minutes of the window that they are to answer for.
    pub window: usize,
    pub lesson: FitTask,
    /// The end of the past that they are to be fitted on.
    pub end: Timestamp,
    /// True where none have been fitted before.
    pub is_first: bool,
}

/// The fit to make on a load's past.
#[derive(Debug, Clone, PartialEq)]
pub enum FitTask {
    /// Trees of its own, and what floors by them would have been worth with these Pods.
    Trees(TrialPods),
    /// The parameters of these models.
    Model(ModelSet),
}

/// How a fit ended.
#[derive(Debug)]
pub enum FitEnd {
    Learnt(Box<LoadPastFit>),
    Model(Box<LoadModel>),
    /// The past is too short to learn from.
    TooShort,
    /// The past could not be had, or could not be worked on: it is to be tried again.
    Failed,
}

/// The kind of a fit, to compare it with another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LessonKind {
    Trees(PodsKind),
    Model(ModelSet),
}

impl FitTask {
    fn kind(&self) -> LessonKind {
        match self {
            Self::Trees(pods) => LessonKind::Trees(pods.kind()),
            Self::Model(models) => LessonKind::Model(*models),
        }
    }
}

impl LessonKind {
    /// True where what was learnt of the one serves for the other.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Trees(pods), Self::Trees(before)) => pods.is_like(before),
            (Self::Model(models), Self::Model(before)) => models == before,
            (Self::Trees(_), Self::Model(_)) | (Self::Model(_), Self::Trees(_)) => false,
        }
    }
}

/// The last fit of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LastFit {
    pub(super) end: Timestamp,
    pub(super) window: usize,
    of: LessonKind,
    /// When it was asked for.
    pub(super) asked: Timestamp,
    /// The fits since that of the day that changes of the window asked for.
    changes: u8,
    /// The fits of late that nothing came of.
    failures: u8,
    /// True where the past up to its end was too short, so that only a longer one is worth another.
    was_short: bool,
}

impl LastFit {
    /// Takes note that nothing came of it, so that it is tried again.
    pub(super) const fn failed(&mut self, now: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        self.asked = now;
    }

    /// Takes note that the past was too short for it, so that it is tried again when more of it is known.
    pub(super) const fn too_short(&mut self, now: Timestamp) {
        self.failed(now);
        self.was_short = true;
    }

    /// Takes note that it was made, so that it is not tried again before the next is due.
    pub(super) const fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// The fit that is due; `hour` is that of the target's day.
pub(super) fn due(
    history: &LoadRingBuffer,
    last: Option<&LastFit>,
    (window, lesson): (usize, &FitTask),
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
        let is_other = !OwnPeaks::is_for(last.window, window) || !lesson.kind().is_like(last.of);
        is_other && now.duration_since(last.asked) >= settled
    });
    // The count of all known values is faster.
    if !(of_day || has_changed) || history.known(Resolution::FiveMinutes) < LEAST {
        return None;
    }
    let short = last.filter(|last| last.was_short);
    let by_day = matches!(lesson, FitTask::Trees(_)) && short.is_none();
    let daily = Some(daily).filter(|_| by_day);
    let mut ends = [daily, newest_hour(now)].into_iter().flatten();
    let end = ends.find(|end| known_before(history, *end) >= LEAST)?;
    if short.is_some_and(|short| end <= short.end) {
        return None;
    }
    Some(LastFit {
        end,
        window,
        of: lesson.kind(),
        asked: now,
        changes: last
            .filter(|_| !of_day)
            .map_or(0, |last| last.changes.saturating_add(1)),
        failures: last.map_or(0, |last| last.failures),
        was_short: false,
    })
}

/// When enough will be known to fit these models, if no measurement is missing until then.
pub(super) fn not_ready(models: ModelSet, history: &LoadRingBuffer) -> NotReady {
    let missing = LEAST.saturating_sub(history.known(Resolution::FiveMinutes));
    let steps = i32::try_from(missing).unwrap_or(i32::MAX);
    NotReady {
        model: models.as_str(),
        ready_in: Resolution::FiveMinutes.step() * steps,
    }
}

/// The 5-minute steps before `end` that are known.
fn known_before(history: &LoadRingBuffer, end: Timestamp) -> usize {
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
    use evenkeel_objects::bounds::ReplicaBounds;
    use evenkeel_units::Ratio;

    use super::*;
    use crate::load::horizon::Horizon;
    use crate::load::hpa_aware::PodCapacity;

    const DAY: i64 = 24 * 3600;
    const START: i64 = 1_800_000_000 - 1_800_000_000 % DAY;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(START + minute * 60).unwrap()
    }

    /// Pods that carry so much each.
    fn pods(each: f64) -> FitTask {
        let capacity = PodCapacity::new(each, Ratio::new(1.0).unwrap()).unwrap();
        let bounds = ReplicaBounds::new(1, 20).unwrap();
        FitTask::Trees(TrialPods::new(capacity, bounds, &Horizon::default()))
    }

    /// A history that is known from one minute of the day to another.
    fn known(from: i64, to: i64) -> LoadRingBuffer {
        let mut history = LoadRingBuffer::default();
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
            of: pods(50.0).kind(),
            asked: at(asked),
            changes: 0,
            failures: 0,
            was_short: false,
        };
        for (fit, window, each, now, expected) in [
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 6 * 60 - 1, None),
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 6 * 60, Some(6 * 60)),
            (last((6 - 24) * 60, 4, -800), 4, 50.0, 22 * 60, Some(6 * 60)),
            (last(6 * 60, 4, 6 * 60 + 1), 4, 50.0, 22 * 60, None),
            // Young then, and fitted at an hour that was not its own.
            (last(5 * 60, 4, 5 * 60), 4, 50.0, 7 * 60, Some(6 * 60)),
            // A fit for a longer window covers this one.
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

    /// The harm: a load of which half a day was just known had no trees until the target's hour of the next day.
    #[test]
    fn a_past_that_was_too_short_is_looked_at_again_when_an_hour_more_is_known() {
        let history = known(-24 * 60, 23 * 60);
        let of = (4, &pods(50.0));
        let mut last = due(&history, None, of, 6, at(7 * 60)).unwrap();
        assert_eq!(last.end, at(6 * 60));
        last.too_short(at(7 * 60));
        let mut tried = Vec::new();
        for minute in 7 * 60..22 * 60 {
            if let Some(next) = due(&history, Some(&last), of, 6, at(minute)) {
                tried.push((minute - 7 * 60, next.end));
                last = next;
                last.too_short(at(minute));
            }
        }
        let expected = [(15, 7), (60, 8), (120, 9), (240, 11), (480, 15)];
        assert_eq!(
            tried,
            expected.map(|(minute, hour)| (minute, at(hour * 60)))
        );
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
