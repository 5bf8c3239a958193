//! Whose bounds a target has: the user's own values, and what contributes to them until when.
//!
//! One record for each target, kept in one annotation, says what the user had, what was written and
//! who contributes. Bounds that differ from what was written are somebody's edit: they become the
//! user's values, so that the user's edits win and everything can be put back. An edit that only
//! undoes what was written is another writer's; twice within 5 minutes and the field is left to it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Two undone writes within this time are a contest.
const CONTEST: SignedDuration = SignedDuration::from_mins(5);

/// `minReplicas` and `maxReplicas` as an object has them; the least may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectBounds {
    /// `minReplicas`, where it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<i32>,
    /// `maxReplicas`.
    pub max: i32,
}

/// Who changes bounds beside the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contributor {
    /// A CronHPA, by its name: its least stands in for the user's.
    Cron(String),
    /// The prediction, which only raises.
    Prediction,
}

/// What one contributor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The least; `None` leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<i32>,
    /// The most, which only raises; `None` leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i32>,
    /// From when on it no longer counts.
    pub until: Timestamp,
}

/// What the bounds of a target are made of. Fields that a later version may add are passed over, so
/// that going back to this one loses nobody's bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ownership {
    user: ObjectBounds,
    written: ObjectBounds,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    contributions: BTreeMap<Contributor, Contribution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone: Option<Timestamp>,
    #[serde(default)]
    contested: bool,
}

/// An annotation that does not say what bounds are made of.
#[derive(Debug, thiserror::Error)]
#[error("the record of the bounds does not parse: {0}")]
pub struct OwnershipError(#[from] serde_json::Error);

impl OwnershipError {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "OwnershipRecord"
    }
}

/// What became of the bounds since they were last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// They are as they were written.
    AsWritten,
    /// They have new values, which are the user's now.
    Edited,
    /// They are the user's old values again.
    Undone,
    /// They were undone twice: the contest is given up.
    Contested,
}

impl Ownership {
    /// The record of a target that only its user has written so far.
    #[must_use]
    pub const fn of_user(user: ObjectBounds) -> Self {
        Self {
            user,
            written: user,
            contributions: BTreeMap::new(),
            undone: None,
            contested: false,
        }
    }

    /// The record in an annotation.
    ///
    /// # Errors
    /// Text that is no such record.
    pub fn from_annotation(text: &str) -> Result<Self, OwnershipError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The record as it is kept in an annotation; `None` where there is nothing to put back, and
    /// the annotation goes.
    ///
    /// # Panics
    /// Never: the record has nothing that JSON cannot hold.
    #[must_use]
    pub fn to_annotation(&self) -> Option<String> {
        let needed = self.written != self.user || !self.contributions.is_empty() || self.contested;
        let text = || serde_json::to_string(self).expect("the record has string keys only");
        needed.then(text)
    }

    /// The user's values: what is put back.
    pub const fn user(&self) -> ObjectBounds {
        self.user
    }

    /// Whether another writer has been left the field.
    pub const fn is_contested(&self) -> bool {
        self.contested
    }

    /// What one contributor asks for at present, expired or not.
    #[must_use]
    pub fn contribution(&self, by: &Contributor) -> Option<&Contribution> {
        self.contributions.get(by)
    }

    /// Whether it says the same as `other` but for how long contributions count.
    #[must_use]
    pub fn differs_in_time_only(&self, other: &Self) -> bool {
        let untimed = |record: &Self| {
            let mut record = record.clone();
            for contribution in record.contributions.values_mut() {
                contribution.until = Timestamp::UNIX_EPOCH;
            }
            record
        };
        untimed(self) == untimed(other)
    }

    /// Takes note of the bounds that the object has.
    pub fn observe(&mut self, found: ObjectBounds, now: Timestamp) -> Seen {
        if found == self.written {
            return Seen::AsWritten;
        }
        let undone = found == self.user;
        let ObjectBounds { min, max } = found;
        if min != self.written.min {
            self.user.min = min;
        }
        if max != self.written.max {
            self.user.max = max;
        }
        self.written = found;
        if !undone {
            (self.undone, self.contested) = (None, false);
            return Seen::Edited;
        }
        let before = self.undone.replace(now);
        if before.is_some_and(|before| now.duration_since(before) <= CONTEST) {
            self.contested = true;
            return Seen::Contested;
        }
        Seen::Undone
    }

    /// Sets what `by` asks for, or takes it back with `None`. The same again only moves the expiry
    /// once half of the time to the new one is gone, so that standing by it is not a write a tick.
    pub fn contribute(
        &mut self,
        by: Contributor,
        contribution: Option<Contribution>,
        now: Timestamp,
    ) {
        let Some(new) = contribution else {
            self.contributions.remove(&by);
            return;
        };
        let held = self.contributions.get(&by).is_some_and(|old| {
            let left = old.until.duration_since(now);
            (old.min, old.max) == (new.min, new.max) && left > new.until.duration_since(now) / 2
        });
        if !held {
            self.contributions.insert(by, new);
        }
    }

    /// Takes everything back, as when scaling is switched off or uninstalled.
    pub fn restore(&mut self) -> ObjectBounds {
        self.contributions.clear();
        (self.undone, self.contested) = (None, false);
        self.written = self.user;
        self.user
    }

    /// Drops what has expired and says what the object is to have. The record goes into the same
    /// write as the bounds; where that fails, this one is worth nothing and the old one stands.
    pub fn settle(&mut self, now: Timestamp) -> ObjectBounds {
        self.contributions
            .retain(|_, contribution| now < contribution.until);
        self.written = self.effective(now);
        self.written
    }

    /// The bounds that follow: a cron's least stands in for the user's (of several the highest) and
    /// its most raises the user's; prediction raises the least, up to the most.
    #[must_use]
    pub fn effective(&self, now: Timestamp) -> ObjectBounds {
        let counts = |contribution: &&Contribution| now < contribution.until && !self.contested;
        let crons = || {
            let all = self.contributions.iter();
            let crons = all.filter(|(by, _)| matches!(by, Contributor::Cron(_)));
            crons.map(|(_, contribution)| contribution).filter(counts)
        };
        let max = crons()
            .filter_map(|cron| cron.max)
            .fold(self.user.max, i32::max);
        let cron = crons().filter_map(|cron| cron.min).max();
        let predicted = self
            .contributions
            .get(&Contributor::Prediction)
            .filter(counts);
        let floor = predicted.and_then(|prediction| prediction.min);
        let min = match (cron.or(self.user.min), floor) {
            (Some(min), Some(floor)) => Some(min.max(floor.min(max))),
            (None, Some(floor)) => Some(floor.min(max)),
            (min, None) => min,
        };
        ObjectBounds { min, max }
    }
}

impl fmt::Display for Contributor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron(name) => write!(f, "cron/{name}"),
            Self::Prediction => f.write_str("prediction"),
        }
    }
}

impl Serialize for Contributor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Contributor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix("cron/") {
            Some(name) => Ok(Self::Cron(name.to_owned())),
            None if text == "prediction" => Ok(Self::Prediction),
            None => Err(serde::de::Error::custom(format_args!(
                "unknown contributor {text:?}: accepted are prediction and cron/NAME"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const fn bounds(min: i32, max: i32) -> ObjectBounds {
        ObjectBounds {
            min: Some(min),
            max,
        }
    }

    fn until(second: i64, min: Option<i32>, max: Option<i32>) -> Contribution {
        let until = at(second);
        Contribution { min, max, until }
    }

    fn floored(user: ObjectBounds, floor: i32) -> Ownership {
        let mut record = Ownership::of_user(user);
        record.contribute(
            Contributor::Prediction,
            Some(until(600, Some(floor), None)),
            at(0),
        );
        record.settle(at(0));
        record
    }

    #[test]
    fn contributions_count_until_they_expire() {
        let cron = |name: &str| Contributor::Cron(name.to_owned());
        let mut record = Ownership::of_user(bounds(5, 10));
        record.contribute(cron("night"), Some(until(100, Some(4), None)), at(0));
        record.contribute(cron("day"), Some(until(50, Some(11), Some(11))), at(0));
        record.contribute(
            Contributor::Prediction,
            Some(until(200, Some(40), None)),
            at(0),
        );
        for (second, min, max) in [(0, 11, 11), (50, 10, 10), (100, 10, 10), (200, 5, 10)] {
            assert_eq!(record.effective(at(second)), bounds(min, max), "{second}");
        }
        record.contribute(Contributor::Prediction, None, at(0));
        assert_eq!(record.effective(at(60)), bounds(4, 10));
        assert_eq!(record.settle(at(300)), bounds(5, 10));
        assert_eq!(record.to_annotation(), None);
    }

    #[test]
    fn standing_by_a_contribution_is_seldom_a_change() {
        let mut record = floored(bounds(2, 10), 6);
        for (second, min, kept_until) in
            [(100, 6, 600), (299, 6, 600), (310, 6, 910), (320, 7, 920)]
        {
            let again = until(second + 600, Some(min), None);
            record.contribute(Contributor::Prediction, Some(again), at(second));
            let held = record.contribution(&Contributor::Prediction).unwrap();
            assert_eq!(
                (held.min, held.until),
                (Some(min), at(kept_until)),
                "{second}"
            );
        }
    }

    #[test]
    fn a_least_that_was_absent_is_absent_again() {
        let user = ObjectBounds { min: None, max: 10 };
        let mut record = floored(user, 3);
        assert_eq!(record.effective(at(0)), bounds(3, 10));
        assert_eq!(record.restore(), user);
        assert_eq!(record.to_annotation(), None);
    }

    #[test]
    fn the_record_is_what_it_was_written_as() {
        let mut record = floored(bounds(2, 10), 6);
        record.contribute(
            Contributor::Cron("a/b".to_owned()),
            Some(until(9, None, Some(12))),
            at(0),
        );
        let text = record.to_annotation().unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10},"contributions":{"#,
                r#""cron/a/b":{"max":12,"until":"1970-01-01T00:00:09Z"},"#,
                r#""prediction":{"min":6,"until":"1970-01-01T00:10:00Z"}},"contested":false}"#
            )
        );
        assert_eq!(Ownership::from_annotation(&text).unwrap(), record);
        let later = text.replacen('{', r#"{"version":2,"#, 1);
        assert_eq!(Ownership::from_annotation(&later).unwrap(), record);
        for refused in ["", "{}", &text.replace("prediction", "someone")] {
            let error = Ownership::from_annotation(refused).unwrap_err();
            assert_eq!(error.reason(), "OwnershipRecord", "{refused}");
        }
    }

    #[test]
    fn an_edit_is_the_users_and_wins_over_what_was_there_before() {
        for (found, user, effective) in [
            (bounds(3, 10), bounds(3, 10), bounds(6, 10)),
            (bounds(8, 10), bounds(8, 10), bounds(8, 10)),
            (bounds(6, 5), bounds(2, 5), bounds(5, 5)),
        ] {
            let mut record = floored(bounds(2, 10), 6);
            assert_eq!(record.observe(found, at(10)), Seen::Edited);
            assert_eq!(record.user(), user);
            assert_eq!(record.settle(at(10)), effective);
            assert_eq!(record.observe(effective, at(20)), Seen::AsWritten);
            assert_eq!(record.restore(), user);
        }
    }

    #[test]
    fn a_writer_who_undoes_twice_is_left_the_field_until_the_user_edits() {
        let user = bounds(2, 10);
        let mut record = floored(user, 6);
        assert_eq!(record.observe(user, at(10)), Seen::Undone);
        assert_eq!(record.settle(at(10)), bounds(6, 10));
        assert_eq!(
            record.observe(user, at(311)),
            Seen::Undone,
            "5 minutes are over"
        );
        assert_eq!(record.settle(at(311)), bounds(6, 10));
        assert_eq!(record.observe(user, at(400)), Seen::Contested);
        assert_eq!(record.settle(at(400)), user);
        assert!(record.is_contested() && record.to_annotation().is_some());
        assert_eq!(record.observe(bounds(3, 10), at(410)), Seen::Edited);
        assert!(!record.is_contested());
        assert_eq!(record.settle(at(410)), bounds(6, 10));
    }
}
