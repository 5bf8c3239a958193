//! The record of an object's bounds: the user's own values, the values written last, and each
//! contribution.
//!
//! The record is stored on the object, so the next writer knows which values to restore. Bounds
//! that differ from the last write are an edit and become the user's values: the user's edits win.
//! An edit that only undoes the last write comes from another controller. If that happens twice
//! within 5 minutes, the field is left to that controller for a while (a [`Contest`]).

pub mod annotation;
pub(crate) mod contest;
pub mod contest_inquiry;
pub(crate) mod contributions;

use evenkeel_objects::bounds::{BoundsError, ObjectBounds, ReplicaBounds};
use jiff::Timestamp;

use self::contest::{Contest, ContestPause};
use self::contributions::Contributions;
use super::merge::merge;
use crate::merge::recommendation::{Provider, Recommendation};

/// The record of one object's bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundsRecord {
    /// The user's own values, which are put back in the end.
    pub user: ObjectBounds,
    /// The values that were written last.
    pub written: ObjectBounds,
    /// The contributions to the bounds.
    pub contributions: Contributions,
    /// The contests about what was written.
    pub contest: Contest,
    /// True while the field is left to another writer; contributions then have no effect.
    pub contested: bool,
}

/// The difference between the bounds that an object has and those that were written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundsChange {
    /// The bounds are as they were written.
    None,
    /// The bounds have new values, which are the user's now.
    Edited,
    /// The bounds have the user's former values again.
    Undone,
    /// The bounds were undone twice: the field is left to the other writer.
    Contested,
}

impl BoundsRecord {
    /// The record of an object that only its user has written so far.
    pub fn of_user(user: ObjectBounds) -> Self {
        Self {
            user,
            written: user,
            contributions: Contributions::default(),
            contest: Contest::default(),
            contested: false,
        }
    }

    /// Holds the record to what bounds can be.
    ///
    /// # Errors
    /// The bounds of the user's or of the last write that no object can have.
    pub fn check(&self) -> Result<(), BoundsError> {
        for ObjectBounds { min, max } in [self.user, self.written] {
            ReplicaBounds::new(min.unwrap_or(0), max)?;
        }
        Ok(())
    }

    /// The end of the last contribution, after which the bounds are free again; `None` if there is
    /// no contribution.
    pub fn held_until(&self) -> Option<Timestamp> {
        self.contributions.iter().map(Recommendation::end).max()
    }

    /// True while the record has to be kept: values are to be restored, a contribution stands, or
    /// the field is left to another writer.
    pub fn is_needed(&self) -> bool {
        self.written != self.user || !self.contributions.is_empty() || self.contested
    }

    /// True where both records say the same and differ at most in the ends of their contributions.
    pub(crate) fn differs_in_time_only(&self, other: &Self) -> bool {
        let Self {
            user,
            written,
            contributions,
            contest,
            contested,
        } = self;
        (user, written, contest, contested)
            == (
                &other.user,
                &other.written,
                &other.contest,
                &other.contested,
            )
            && contributions.ask_as(&other.contributions)
    }

    /// Takes note of the bounds that the object has at `now`.
    pub fn observe(&mut self, found: ObjectBounds, now: Timestamp) -> BoundsChange {
        let (undone, is_ours) = (found == self.user, self.written != self.user);
        let before = std::mem::replace(&mut self.written, found);
        self.take_edits(before);
        if found == before {
            // A record of a version that knew no end begins its rest now.
            let rest = &mut self.contest.rest;
            *rest = rest.or(self.contested.then(|| ContestPause::first(now)));
            self.contested &= self.contest.until(now).is_some();
            return BoundsChange::None;
        }
        // A user's change of their own count undoes nothing. The contest goes on as it was.
        if found.is_count() && !is_ours {
            self.contested &= self.contest.until(now).is_some();
            return if self.contested {
                BoundsChange::Contested
            } else {
                BoundsChange::Edited
            };
        }
        // Edited bounds are a frame within which all contribute. A writer that replaces a count that
        // was written here wants another one, and may be a scaler that sets it again and again.
        if !undone && !found.is_count() {
            self.end_contest();
            return BoundsChange::Edited;
        }
        self.contest.undo(now);
        self.contested = self.contest.until(now).is_some();
        match (self.contested, undone) {
            (true, _) => BoundsChange::Contested,
            (false, true) => BoundsChange::Undone,
            (false, false) => BoundsChange::Edited,
        }
    }

    /// Takes a contribution, see [`Contributions::contribute`].
    pub fn contribute(&mut self, contribution: Recommendation, now: Timestamp) {
        self.contributions.contribute(contribution, now);
    }

    /// Removes the contribution of one provider and leaves those of all others. A contest ends
    /// with the last contribution: then there is nothing to contest.
    pub fn withdraw(&mut self, who: &Provider) {
        self.contributions.withdraw(who);
        if self.contributions.is_empty() {
            self.end_contest();
        }
    }

    /// Removes everything, as when the program is uninstalled, and returns the user's bounds.
    pub fn restore(&mut self) -> ObjectBounds {
        self.contributions = Contributions::default();
        self.end_contest();
        self.written = self.user;
        self.user
    }

    /// Removes the contributions that have ended and returns the bounds that the object is to have
    /// at `now`. The record goes into the same write as the bounds; where that fails, this record is
    /// worth nothing and the former one stands.
    pub fn settle(&mut self, now: Timestamp) -> ObjectBounds {
        self.contributions.expire(now);
        self.written = self.effective(now);
        self.written
    }

    /// The bounds that follow from the user's values and the contributions at `now`.
    pub fn effective(&self, now: Timestamp) -> ObjectBounds {
        let counting = self.contributions.iter().filter(|_| !self.contested);
        merge(self.user, counting, now).bounds
    }

    /// The bounds that follow from the user's values at `now` and from what stands in for them, without
    /// what only raises them.
    pub(crate) fn beneath_floors(&self, now: Timestamp) -> ObjectBounds {
        let replacing = self.contributions.iter().filter(|one| one.replaces());
        merge(self.user, replacing.filter(|_| !self.contested), now).bounds
    }

    /// Takes the fields that differ from those written `before` as the user's. An edit of one field
    /// was made beside the other as it was written, not as the user once had it: where the two do
    /// not fit, the one that was edited is the user's last word.
    fn take_edits(&mut self, before: ObjectBounds) {
        let ObjectBounds { min, max } = self.written;
        if max != before.max {
            self.user.max = max;
        }
        if min != before.min {
            self.user.min = min;
            if let Some(min) = min.filter(|&min| min <= max) {
                self.user.max = self.user.max.max(min);
            }
        }
        if self.user != self.written {
            self.user = self.user.with_min_within_max();
        }
    }

    fn end_contest(&mut self) {
        (self.contest, self.contested) = (Contest::default(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::recommendation::Ask;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const fn bounds(min: i32, max: i32) -> ObjectBounds {
        ObjectBounds {
            min: Some(min),
            max,
        }
    }

    fn floored(user: ObjectBounds, floor: i32) -> BoundsRecord {
        let mut record = BoundsRecord::of_user(user);
        record.contribute(Recommendation::of_prediction(floor, at(600)), at(0));
        record.settle(at(0));
        record
    }

    fn cron(name: &str, min: i32, max: Option<i32>, second: i64) -> Recommendation {
        Recommendation {
            by: Provider::Cron(name.to_owned()),
            priority: 1,
            ask: Ask::AtLeast {
                min: Some(min),
                max,
            },
            ..Recommendation::of_prediction(min, at(second))
        }
    }

    #[test]
    fn contributions_count_until_they_end() {
        let mut record = BoundsRecord::of_user(bounds(5, 10));
        record.contribute(cron("night", 4, None, 100), at(0));
        record.contribute(cron("day", 11, Some(11), 50), at(0));
        record.contribute(Recommendation::of_prediction(40, at(200)), at(0));
        for (second, min, max) in [(0, 11, 11), (50, 10, 10), (100, 10, 10), (200, 5, 10)] {
            assert_eq!(record.effective(at(second)), bounds(min, max), "{second}");
        }
        record.withdraw(&Provider::Prediction);
        assert_eq!(record.effective(at(60)), bounds(4, 10));
        assert_eq!(record.settle(at(300)), bounds(5, 10));
        assert!(!record.is_needed());
    }

    #[test]
    fn a_least_that_was_absent_is_absent_again() {
        let user = ObjectBounds { min: None, max: 10 };
        let mut record = floored(user, 3);
        assert_eq!(record.effective(at(0)), bounds(3, 10));
        assert_eq!(record.restore(), user);
        assert!(!record.is_needed());
    }

    #[test]
    fn one_who_withdraws_takes_nothing_from_the_others() {
        let mut record = floored(bounds(2, 10), 6);
        record.contribute(cron("day", 4, None, 600), at(0));
        let before = record.clone();
        record.withdraw(&Provider::from("x"));
        assert_eq!(record, before);
        record.withdraw(&Provider::Prediction);
        assert_eq!(record.settle(at(1)), bounds(4, 10));
        record.withdraw(&Provider::Cron("day".to_owned()));
        assert_eq!(record.settle(at(1)), bounds(2, 10));
        assert!(!record.is_needed());
    }

    #[test]
    fn an_edit_is_the_users_and_wins_over_what_was_there_before() {
        for (found, user, effective) in [
            (bounds(3, 10), bounds(3, 10), bounds(6, 10)),
            (bounds(8, 10), bounds(8, 10), bounds(8, 10)),
            (bounds(6, 5), bounds(2, 5), bounds(5, 5)),
        ] {
            let mut record = floored(bounds(2, 10), 6);
            assert_eq!(record.observe(found, at(10)), BoundsChange::Edited);
            assert_eq!(record.user, user);
            assert_eq!(record.settle(at(10)), effective);
            assert_eq!(record.observe(effective, at(20)), BoundsChange::None);
            assert_eq!(record.restore(), user);
        }
    }

    #[test]
    fn a_writer_who_undoes_twice_is_left_the_field_for_a_while_or_until_the_user_edits() {
        let user = bounds(2, 10);
        let mut record = floored(user, 6);
        assert_eq!(record.observe(user, at(10)), BoundsChange::Undone);
        assert_eq!(record.settle(at(10)), bounds(6, 10));
        assert_eq!(
            record.observe(user, at(311)),
            BoundsChange::Undone,
            "5 minutes are over"
        );
        assert_eq!(record.settle(at(311)), bounds(6, 10));
        assert_eq!(record.observe(user, at(400)), BoundsChange::Contested);
        assert_eq!(record.settle(at(400)), user);
        assert!(record.contested && record.is_needed());
        let mut left = record.clone();
        assert_eq!(left.observe(user, at(999)), BoundsChange::None);
        assert_eq!(left.settle(at(999)), user);
        assert_eq!(left.observe(user, at(1000)), BoundsChange::None);
        left.contribute(Recommendation::of_prediction(6, at(2000)), at(1000));
        assert_eq!(left.settle(at(1000)), bounds(6, 10), "it ends by itself");
        assert_eq!(left.observe(user, at(1030)), BoundsChange::Contested);
        assert_eq!(
            left.contest.until(at(1030)),
            Some(at(1030 + 1200)),
            "he goes on, and is left it for twice as long"
        );
        assert_eq!(record.observe(bounds(3, 10), at(410)), BoundsChange::Edited);
        assert!(!record.contested);
        assert_eq!(record.settle(at(410)), bounds(6, 10));
    }

    #[test]
    fn another_count_is_the_users_and_setting_it_again_a_contest() {
        let count = ObjectBounds::of_count;
        let mut record = BoundsRecord::of_user(count(3));
        record.contribute(cron("sale", 6, None, 6000), at(0));
        assert_eq!(record.settle(at(0)), count(6));
        assert_eq!(record.observe(count(10), at(15)), BoundsChange::Edited);
        assert_eq!(record.user, count(10));
        assert_eq!(record.settle(at(15)), count(6), "one is nothing");
        assert_eq!(record.observe(count(9), at(30)), BoundsChange::Contested);
        assert_eq!(record.settle(at(30)), count(9), "the field is his");
        assert_eq!(record.observe(count(12), at(45)), BoundsChange::Contested);
        assert_eq!(record.settle(at(45)), count(12));
        assert_eq!(record.observe(count(12), at(630)), BoundsChange::None);
        assert_eq!(record.settle(at(630)), count(6), "it ends by itself");
        record.withdraw(&Provider::Cron("sale".to_owned()));
        assert_eq!(record.settle(at(645)), count(12));
        assert!(!record.is_needed());
    }

    /// The harm: a user with two manual changes of the count was taken for a writer that reverts.
    #[test]
    fn a_count_that_was_not_written_here_can_be_changed_as_often_as_the_user_likes() {
        let count = ObjectBounds::of_count;
        let mut record = BoundsRecord::of_user(count(6));
        record.contribute(cron("sale", 6, None, 6000), at(0));
        assert_eq!(record.settle(at(0)), count(6), "nothing is to be written");
        for (second, found) in (5..).step_by(5).zip([5, 0, 1, 7, 6]) {
            assert_eq!(
                record.observe(count(found), at(second)),
                BoundsChange::Edited
            );
            assert_eq!((record.contested, record.user), (false, count(found)));
        }
    }

    #[test]
    fn an_edit_that_only_meets_what_was_written_leaves_the_user_bounds_in_order() {
        let night = |max| {
            let mut record = BoundsRecord::of_user(bounds(8, 10));
            record.contribute(cron("night", 4, max, 600), at(0));
            record.settle(at(0));
            record
        };
        for (max, found, user) in [
            (None, bounds(4, 5), bounds(5, 5)),
            (Some(12), bounds(11, 12), bounds(11, 11)),
            (Some(12), bounds(7, 7), bounds(7, 7)),
        ] {
            let mut record = night(max);
            assert_eq!(record.observe(found, at(10)), BoundsChange::Edited);
            assert_eq!(record.user, user, "{found:?}");
            assert_eq!(record.restore(), user);
        }
        let mut record = night(None);
        record.user = bounds(8, 5); // as an earlier version wrote it
        record.observe(record.written, at(10));
        assert_eq!(record.restore(), bounds(5, 5));
        let odd = bounds(8, 5);
        let mut record = BoundsRecord::of_user(odd);
        record.observe(odd, at(10));
        assert_eq!(record.settle(at(10)), odd, "it is the user's own");
    }

    #[test]
    fn records_that_differ_in_time_only_ask_for_the_same() {
        let record = floored(bounds(2, 10), 6);
        let mut later = record.clone();
        later.contribute(Recommendation::of_prediction(6, at(9000)), at(500));
        assert!(later != record && later.differs_in_time_only(&record));
        let other = floored(bounds(2, 10), 7);
        assert!(!other.differs_in_time_only(&record));
    }
}
