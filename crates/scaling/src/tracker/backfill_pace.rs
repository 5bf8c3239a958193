//! The pace at which the past of loads is asked for: newest first, in parts that the database can
//! answer, and less and less often while it does not.

use std::time::Duration;

use evenkeel_forecast::Resolution;
use jiff::{SignedDuration, Timestamp};

/// The most values of one answer: some 8 MB of JSON.
const VALUES: usize = 250_000;

/// The points of the first question, while the number of series is not known.
const FIRST_POINTS: u32 = 20;

/// The most points of one question, whatever the number of series.
const MOST_POINTS: u32 = 600;

/// The pause after the first failure, doubled with each further one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The longest rest between two questions that were answered.
const LONGEST_REST: Duration = Duration::from_secs(5);

/// The number of refusals after which a question is given up.
const REFUSALS: u32 = 5;

/// The outcome of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillOutcome {
    /// The answer held this many series, and took so long.
    Answered {
        /// The number of series.
        series: usize,
        /// The time from question to answer.
        took: Duration,
    },
    /// The answer took too long; a smaller question may be answered, or the same one later.
    TooSlow,
    /// The answer was too large; a smaller question may be answered.
    TooMuch,
    /// The server cannot be reached; it may answer later.
    Down,
    /// The server refuses the question.
    Refused,
}

/// The step that follows on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillStep {
    /// Take the answer, and rest for so long.
    Take(Duration),
    /// Ask for fewer points, see [`BackfillPace::points`].
    AskForLess,
    /// Ask the same again after so long.
    AskAgain(Duration),
    /// Leave this part of the past.
    GiveUp,
}

/// The size of questions and the pauses between them.
#[derive(Debug, Clone, Copy)]
pub struct BackfillPace {
    points: u32,
    /// The most points that the server has lately been able to answer.
    most: u32,
    pause: Duration,
    refusals: u32,
}

impl Default for BackfillPace {
    fn default() -> Self {
        Self {
            points: FIRST_POINTS,
            most: u32::MAX,
            pause: FIRST_PAUSE,
            refusals: 0,
        }
    }
}

impl BackfillPace {
    /// Begins another refill: what was too much before may be answered by now.
    pub const fn begin(&mut self) {
        self.most = u32::MAX;
    }

    /// The points of the next question.
    pub const fn points(&self) -> u32 {
        self.points
    }

    /// The step that follows on a question for so many `points`.
    pub fn after(&mut self, points: u32, outcome: BackfillOutcome) -> BackfillStep {
        match outcome {
            BackfillOutcome::Answered { series, took } => {
                self.points = affordable(series).min(self.most);
                self.forget_failures();
                BackfillStep::Take(took.min(LONGEST_REST))
            }
            BackfillOutcome::TooSlow | BackfillOutcome::TooMuch if points > 1 => {
                self.most = (points / 2).max(1);
                self.points = self.most;
                self.forget_failures();
                BackfillStep::AskForLess
            }
            BackfillOutcome::TooSlow
            | BackfillOutcome::TooMuch
            | BackfillOutcome::Down
            | BackfillOutcome::Refused => {
                let later = matches!(outcome, BackfillOutcome::TooSlow | BackfillOutcome::Down);
                self.refusals += u32::from(!later);
                if self.refusals >= REFUSALS {
                    self.forget_failures();
                    return BackfillStep::GiveUp;
                }
                let pause = self.pause;
                self.pause = (pause * 2).min(LONGEST_PAUSE);
                BackfillStep::AskAgain(pause)
            }
        }
    }

    const fn forget_failures(&mut self) {
        (self.pause, self.refusals) = (FIRST_PAUSE, 0);
    }
}

/// The points at which an answer of so many series is not too large.
fn affordable(series: usize) -> u32 {
    u32::try_from(VALUES / series.max(1)).map_or(u32::MAX, |points| points.clamp(1, MOST_POINTS))
}

/// Neighbouring slots of one resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// The begin of the first slot.
    pub start: Timestamp,
    /// The length of each slot.
    pub step: SignedDuration,
    /// The number of slots.
    pub points: u32,
}

impl Slots {
    /// The middle of the first slot: a rate there speaks of the whole slot best.
    pub fn first_middle(&self) -> Timestamp {
        let first = self.start.checked_add(self.step / 2);
        first.unwrap_or(Timestamp::MAX)
    }
}

/// The part of a past, such as that of a history's ring, that has not been asked for yet.
#[derive(Debug, Clone, Copy)]
pub struct BackfillRemainder {
    end: Timestamp,
    step: SignedDuration,
    left: u32,
}

impl BackfillRemainder {
    /// All slots that are over at `now`.
    pub fn before(now: Timestamp, resolution: Resolution) -> Self {
        let step = resolution.step();
        let end = now.as_second() - now.as_second().rem_euclid(step.as_secs());
        let end = Timestamp::from_second(end).unwrap_or(now);
        let slots = u32::try_from(resolution.length()).unwrap_or(u32::MAX);
        Self::of(end, step, slots)
    }

    /// So many `slots` of `step` that end at `end`.
    pub const fn of(end: Timestamp, step: SignedDuration, slots: u32) -> Self {
        Self {
            end,
            step,
            left: slots,
        }
    }

    /// At most so many of the newest slots; `None` where nothing is left.
    pub fn newest(&self, most: u32) -> Option<Slots> {
        let points = most.min(self.left);
        let length = self.step.saturating_mul(i32::try_from(points).ok()?);
        (points > 0).then_some(Slots {
            start: self.end.checked_sub(length).ok()?,
            step: self.step,
            points,
        })
    }

    /// The slots that are left.
    pub const fn left(&self) -> u32 {
        self.left
    }

    /// Takes the newest slots off.
    pub fn took(&mut self, points: u32) {
        if let Some(slots) = self.newest(points) {
            (self.end, self.left) = (slots.start, self.left - slots.points);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(20);

    fn answered(series: usize) -> BackfillOutcome {
        BackfillOutcome::Answered {
            series,
            took: QUICK,
        }
    }

    #[test]
    fn a_question_is_as_large_as_answers_allow() {
        let mut pace = BackfillPace::default();
        assert_eq!(pace.points(), 20);
        for (series, points) in [(12_500, 20), (0, 600), (1, 600), (1_000_000, 1)] {
            assert_eq!(pace.after(20, answered(series)), BackfillStep::Take(QUICK));
            assert_eq!(pace.points(), points, "{series}");
        }
        let slow = BackfillOutcome::Answered {
            series: 1,
            took: Duration::from_mins(1),
        };
        assert_eq!(pace.after(20, slow), BackfillStep::Take(LONGEST_REST));
    }

    #[test]
    fn what_was_too_much_is_not_asked_again() {
        let mut pace = BackfillPace::default();
        for (points, less) in [(20, 10), (10, 5), (5, 2), (2, 1)] {
            assert_eq!(
                pace.after(points, BackfillOutcome::TooMuch),
                BackfillStep::AskForLess
            );
            assert_eq!(pace.points(), less);
        }
        pace.after(1, answered(1));
        assert_eq!(pace.points(), 1, "however few series there are");
        pace.begin();
        pace.after(1, answered(1));
        assert_eq!(pace.points(), 600, "until another refill begins");
    }

    #[test]
    fn a_server_that_is_down_is_asked_less_often_and_one_that_refuses_is_left() {
        let mut pace = BackfillPace::default();
        let mut pauses = (0..12).map(|_| pace.after(20, BackfillOutcome::Down));
        let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300];
        for seconds in expected {
            let pause = Duration::from_secs(seconds);
            assert_eq!(pauses.next(), Some(BackfillStep::AskAgain(pause)));
        }
        let mut pace = BackfillPace::default();
        let refused: Vec<_> = (0..5)
            .map(|_| pace.after(20, BackfillOutcome::Refused))
            .collect();
        assert_eq!(refused.last(), Some(&BackfillStep::GiveUp));
        assert!(
            refused[..4]
                .iter()
                .all(|next| *next != BackfillStep::GiveUp)
        );
        let again = pace.after(20, BackfillOutcome::Refused);
        assert_eq!(
            again,
            BackfillStep::AskAgain(FIRST_PAUSE),
            "the next part is asked for"
        );
    }

    #[test]
    fn the_newest_slots_are_asked_for_first_and_all_of_them_once() {
        for resolution in Resolution::ALL {
            let now = Timestamp::from_second(1_800_000_123).unwrap();
            let mut rest = BackfillRemainder::before(now, resolution);
            let mut before: Option<Slots> = None;
            let mut points = 0;
            while let Some(slots) = rest.newest(50) {
                let end = slots.start + slots.step * i32::try_from(slots.points).unwrap();
                match before {
                    Some(before) => assert_eq!(end, before.start),
                    None => assert!(end <= now && now.duration_since(end) < slots.step),
                }
                points += slots.points;
                rest.took(slots.points);
                before = Some(slots);
            }
            assert_eq!(usize::try_from(points).unwrap(), resolution.length());
        }
    }
}
