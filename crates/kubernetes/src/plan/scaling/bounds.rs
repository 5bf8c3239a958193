//! The bounds of one target: what the record in the annotation and the object say, and the write
//! that follows.
//!
//! The record lives in the cluster, so that whoever leads reads the same. It is written together
//! with the bounds or not at all. One that cannot be read says nothing of what the user had: the
//! bounds as they are count as the user's from then on. One that is gone although it was there a
//! moment ago was taken away by somebody who replaces the whole object; what it said still holds.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use evenkeel_core::scaling::decide::Floor;
use evenkeel_core::scaling::ownership::{Contribution, Contributor, ObjectBounds, Ownership, Seen};

use super::owner::Owner;
use crate::kinds::BoundsFields;

/// For how long a record that has gone from its object still counts.
pub(super) const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// How many characters are told of what is wrong with a record.
const TOLD: usize = 300;

/// The bounds of an object, with whose they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    found: ObjectBounds,
    /// As the annotation has it.
    record: Option<Ownership>,
    ownership: Ownership,
    seen: Seen,
    damaged: Option<String>,
}

impl Ledger {
    /// What `owner` says of its bounds; `None` where it has none. `remembered` is its record of a
    /// moment ago.
    #[must_use]
    pub fn read(owner: &Owner<'_>, remembered: Option<&Ownership>, now: Timestamp) -> Option<Self> {
        let found = owner.bounds?;
        let (record, damaged) = match owner.record().map(Ownership::from_annotation) {
            None => (None, None),
            Some(Ok(record)) => (Some(record), None),
            // It quotes the record, which anybody may have written, and is told in an annotation.
            Some(Err(error)) => (None, Some(error.to_string().chars().take(TOLD).collect())),
        };
        let known = match (&record, remembered) {
            (Some(record), _) => Some(record),
            (None, remembered) => remembered.filter(|_| damaged.is_none()),
        };
        let mut ownership = known.map_or_else(|| Ownership::of_user(found), Clone::clone);
        let seen = ownership.observe(found, now);
        Some(Self {
            found,
            record,
            ownership,
            seen,
            damaged,
        })
    }

    /// The user's own bounds.
    #[must_use]
    pub const fn user(&self) -> ObjectBounds {
        self.ownership.user()
    }

    /// The bounds that the object has.
    #[must_use]
    pub const fn found(&self) -> ObjectBounds {
        self.found
    }

    /// What became of the bounds since they were written.
    #[must_use]
    pub const fn seen(&self) -> Seen {
        self.seen
    }

    /// The record as the annotation has it.
    pub(super) const fn record(&self) -> Option<&Ownership> {
        self.record.as_ref()
    }

    /// Whether another writer has been left the field.
    #[must_use]
    pub const fn is_contested(&self) -> bool {
        self.ownership.is_contested()
    }

    /// Why the record could not be read.
    #[must_use]
    pub fn damaged(&self) -> Option<&str> {
        self.damaged.as_deref()
    }

    /// The floor that prediction holds at present.
    #[must_use]
    pub fn floor(&self, now: Timestamp) -> Option<Floor> {
        let contribution = self.ownership.contribution(&Contributor::Prediction)?;
        let counts = now < contribution.until && !self.is_contested();
        Some(Floor {
            replicas: contribution.min.filter(|_| counts)?,
            until: contribution.until,
        })
    }

    /// The bounds with what prediction contributes now.
    #[must_use]
    pub(super) fn contribute(&self, by: Option<Contribution>, now: Timestamp) -> Settled {
        if self.damaged.is_some() {
            return self.restore();
        }
        let mut ownership = self.ownership.clone();
        let by = by.filter(|_| !ownership.is_contested());
        ownership.contribute(Contributor::Prediction, by, now);
        let bounds = ownership.settle(now);
        self.settled(bounds, ownership)
    }

    /// The user's own bounds again.
    #[must_use]
    pub(super) fn restore(&self) -> Settled {
        let mut ownership = self.ownership.clone();
        let bounds = ownership.restore();
        self.settled(bounds, ownership)
    }

    fn settled(&self, bounds: ObjectBounds, ownership: Ownership) -> Settled {
        let annotation = ownership.to_annotation();
        let renews = annotation.is_some()
            && bounds == self.found
            && self
                .record
                .as_ref()
                .is_some_and(|record| record.differs_in_time_only(&ownership));
        let same = self.record == annotation.is_some().then_some(ownership);
        Settled {
            found: self.found,
            bounds,
            annotation: (!same || self.damaged.is_some()).then(|| Value::from(annotation)),
            renews,
        }
    }
}

/// What an object is to have, beside what it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settled {
    found: ObjectBounds,
    bounds: ObjectBounds,
    /// The new record, where it changes; null where it goes.
    annotation: Option<Value>,
    /// Whether nothing changes but how long the record counts.
    renews: bool,
}

impl Settled {
    /// Whether anything is to be written.
    pub(super) fn changes(&self) -> bool {
        self.annotation.is_some() || self.bounds != self.found
    }

    /// The least as it is and as it is to be, where it changes; 1 where there is none, as
    /// Kubernetes takes it.
    pub(super) fn floor_change(&self) -> Option<(i32, i32)> {
        let least = |bounds: ObjectBounds| bounds.min.unwrap_or(1);
        let (from, to) = (least(self.found), least(self.bounds));
        (from != to).then_some((from, to))
    }

    /// Whether what is written changes what holds, or is needed to put it back; a record that is
    /// only renewed has minutes left.
    pub(super) const fn is_urgent(&self) -> bool {
        !self.renews
    }

    /// Whether the record goes from the object.
    pub(super) fn forgets(&self) -> bool {
        self.annotation == Some(Value::Null)
    }

    /// The record as the annotation is to have it; `None` where it stays.
    pub(super) fn annotation(&self) -> Option<Value> {
        self.annotation.clone()
    }

    /// The fields of the spec that change, by the names that they have in this object.
    pub(super) fn spec(&self, fields: BoundsFields) -> Map<String, Value> {
        let Self { found, bounds, .. } = self;
        let mut spec = Map::new();
        if bounds.min != found.min {
            spec.insert(fields.min.to_owned(), Value::from(bounds.min));
        }
        if bounds.max != found.max {
            spec.insert(fields.max.to_owned(), Value::from(bounds.max));
        }
        spec
    }
}
