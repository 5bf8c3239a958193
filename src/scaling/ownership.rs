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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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

/// What the bounds of a target are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
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

    /// Sets what `by` asks for, or takes it back with `None`.
    pub fn contribute(&mut self, by: Contributor, contribution: Option<Contribution>) {
        match contribution {
            Some(contribution) => {
                self.contributions.insert(by, contribution);
            }
            None => {
                self.contributions.remove(&by);
            }
        }
    }

    /// Takes everything back, as when scaling is switched off or uninstalled.
    pub fn restore(&mut self) -> ObjectBounds {
        self.contributions.clear();
        (self.undone, self.contested) = (None, false);
        self.written = self.user;
        self.user
    }

    /// Drops what has expired and says what the object is to have; to be told by
    /// [`Self::observe`] what it does have.
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
