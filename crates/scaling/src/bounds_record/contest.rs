//! A contest about a count, the replicas of a target or the floor under them: another writer reverts what was written
//! here again and again.
//!
//! One revert is no contest: a user scales by hand, and the decisions go on from there. A change of a count that was
//! not written here reverts nothing.
//! Two within 5 minutes are a contest, and the field is left to the other writer for 10 minutes. Where
//! he goes on after that, each further rest is twice as long, up to 4 hours. Where he does not, the
//! contest has ended by itself.

use jiff::{SignedDuration, Timestamp};

/// Two changes by another writer within this time are a contest.
const WITHIN: SignedDuration = SignedDuration::from_mins(5);
/// The first rest, and the longest.
const FIRST: SignedDuration = SignedDuration::from_mins(10);
const LONGEST: SignedDuration = SignedDuration::from_hours(4);

/// The contests about one target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contest {
    /// When another writer last set another count.
    pub undone: Option<Timestamp>,
    /// The last rest, which may be over.
    pub rest: Option<ContestPause>,
}

/// A time for which the field is left to the other writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContestPause {
    pub length: SignedDuration,
    pub until: Timestamp,
}

impl ContestPause {
    /// The first rest of a contest that begins at `now`.
    pub fn first(now: Timestamp) -> Self {
        Self::of(FIRST, now)
    }

    fn of(length: SignedDuration, now: Timestamp) -> Self {
        let until = now.checked_add(length).unwrap_or(Timestamp::MAX);
        Self { length, until }
    }

    /// A rest of some seconds, as it was written; none is longer than the longest.
    pub fn written(seconds: i64, until: Timestamp) -> Option<Self> {
        let length = SignedDuration::from_secs(seconds);
        let sane = SignedDuration::ZERO < length && length <= LONGEST;
        sane.then_some(Self { length, until })
    }
}

impl Contest {
    /// Takes note that another writer set another count at `now`. While the field is left to him that
    /// is his right.
    pub fn undo(&mut self, now: Timestamp) {
        if self.until(now).is_some() {
            return;
        }
        let goes_on = self
            .rest
            .filter(|rest| now.duration_since(rest.until) <= rest.length);
        let before = self.undone.replace(now);
        let again = before.is_some_and(|before| now.duration_since(before) <= WITHIN);
        let length = match goes_on {
            Some(rest) => (rest.length * 2).min(LONGEST),
            None if again => FIRST,
            None => return,
        };
        self.rest = Some(ContestPause::of(length, now));
    }

    /// Until when the field is left to the other writer; `None` where it is not.
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let rest = self.rest.as_ref()?;
        // A clock that was set back may not make a rest longer than it is.
        let begun = rest.until.checked_sub(rest.length).ok()?;
        (begun <= now && now < rest.until).then_some(rest.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn two_changes_within_five_minutes_are_a_contest_and_one_is_none() {
        let mut contest = Contest::default();
        contest.undo(at(0));
        assert_eq!(contest.until(at(0)), None);
        contest.undo(at(301));
        assert_eq!(contest.until(at(301)), None);
        contest.undo(at(601));
        assert_eq!(contest.until(at(601)), Some(at(1201)));
        contest.undo(at(700));
        assert_eq!(contest.until(at(1200)), Some(at(1201)), "it is his field");
        assert_eq!(contest.until(at(1201)), None, "it ends by itself");
    }

    #[test]
    fn each_rest_is_twice_the_one_before_until_he_stops() {
        let mut contest = Contest::default();
        contest.undo(at(0));
        contest.undo(at(15));
        let mut begun = at(15);
        for minutes in [10, 20, 40, 80, 160, 240, 240] {
            let until = contest.until(begun).unwrap();
            assert_eq!(
                until.duration_since(begun),
                SignedDuration::from_mins(minutes)
            );
            begun = until + SignedDuration::from_secs(30);
            contest.undo(begun);
        }
        let later = contest.until(begun).unwrap() + SignedDuration::from_hours(5);
        contest.undo(later);
        assert_eq!(contest.until(later), None, "a change by hand, long after");
    }

    #[test]
    fn a_clock_that_is_set_back_ends_a_rest() {
        let mut contest = Contest::default();
        contest.undo(at(100_000));
        contest.undo(at(100_010));
        assert_eq!(contest.until(at(50)), None);
    }
}
