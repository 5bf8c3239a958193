//! The bounds of one target's object, the record of whose they are, and the write that follows.
//!
//! The record lives in the cluster, so that whoever leads reads the same. It is written together
//! with the bounds or not at all. A record that cannot be read says nothing of the user's values:
//! the bounds as they are count as the user's from then on.
//!
//! A record that is gone although it was there a moment ago was removed by somebody who replaces the
//! whole object, or by a user who wants to be rid of what it holds. Nobody can tell the two apart, so
//! both get what they may expect: the user's bounds in it still count, and so does prediction, which
//! asks anew at every tick anyway; whatever else it held is forgotten, and whoever still wants that
//! contributes anew. To end prediction as well takes the word for it, `off` or opting out: after that
//! nothing is remembered.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::owner::Owner;
use crate::bounds_annotation::BoundsAnnotation;
use crate::kinds::BoundsFields;
use evenkeel_core::scaling::contribution::{Contribution, Contributor};
use evenkeel_core::scaling::{Floor, ObjectBounds};

/// The longest pause between two plans over which the memory of the former counts, such as that of a
/// record that has gone from its object since.
pub(super) const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The number of characters of a parse error that are shown: it quotes the record, which anybody
/// may have written, and stands in an annotation.
const QUOTED: usize = 300;

/// The bounds of an object as they were found, with the record of whose they are.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedBounds {
    found: ObjectBounds,
    /// The record as the annotation has it.
    written: Option<BoundsAnnotation>,
    /// The record with the edits since it was written.
    annotation: BoundsAnnotation,
    damaged: Option<String>,
}

impl ObservedBounds {
    /// Reads the bounds of `owner`; `None` where it has none. `remembered` is the record that it had
    /// a moment ago.
    #[must_use]
    pub fn read(
        owner: &Owner<'_>,
        remembered: Option<&BoundsAnnotation>,
        now: Timestamp,
    ) -> Option<Self> {
        let found = owner.bounds?;
        let (written, damaged) = match owner.record().map(BoundsAnnotation::parse) {
            None => (None, None),
            Some(Ok(written)) => (Some(written), None),
            Some(Err(error)) => (None, Some(error.to_string().chars().take(QUOTED).collect())),
        };
        let mut annotation = match (&written, remembered.filter(|_| damaged.is_none())) {
            (Some(written), _) => written.clone(),
            (None, Some(remembered)) => {
                let mut annotation = remembered.clone();
                annotation.forget_others();
                annotation
            }
            (None, None) => BoundsAnnotation::of_user(found),
        };
        annotation.record.observe(found, now);
        Some(Self {
            found,
            written,
            annotation,
            damaged,
        })
    }

    /// The user's own bounds.
    #[must_use]
    pub const fn user(&self) -> ObjectBounds {
        self.annotation.record.user
    }

    /// The record as the annotation has it.
    pub(super) const fn written(&self) -> Option<&BoundsAnnotation> {
        self.written.as_ref()
    }

    /// True where the field is left to another writer.
    #[must_use]
    pub const fn is_contested(&self) -> bool {
        self.annotation.record.contested
    }

    /// Why the record could not be read; `None` where it could, or there is none.
    #[must_use]
    pub fn damaged(&self) -> Option<&str> {
        self.damaged.as_deref()
    }

    /// The floor that prediction holds at `now`.
    #[must_use]
    pub fn floor(&self, now: Timestamp) -> Option<Floor> {
        let contributions = &self.annotation.record.contributions;
        let contribution = contributions.of(&Contributor::Prediction)?;
        let counts = now < contribution.until && !self.is_contested();
        Some(Floor {
            replicas: contribution.min.filter(|_| counts)?,
            until: contribution.until,
        })
    }

    /// The bounds with the contribution of prediction, or without any at present.
    #[must_use]
    pub(super) fn contribute(&self, by: Option<&Contribution>, now: Timestamp) -> BoundsUpdate {
        if self.damaged.is_some() {
            return self.withdraw(now);
        }
        let with = by.filter(|_| !self.is_contested()).and_then(|by| {
            let mut annotation = self.annotation.clone();
            annotation.record.contribute(by.clone(), now);
            // The others may have left no room for it.
            Settled::new(annotation, now)
        });
        let settled = with.or_else(|| {
            let mut annotation = self.annotation.clone();
            // Prediction still takes part: a contest goes on.
            let contributions = &mut annotation.record.contributions;
            contributions.withdraw(&Contributor::Prediction);
            Settled::new(annotation, now)
        });
        self.update(settled)
    }

    /// The bounds once prediction no longer takes part: the user's own, and the contributions of all
    /// others.
    #[must_use]
    pub(super) fn withdraw(&self, now: Timestamp) -> BoundsUpdate {
        let mut annotation = self.annotation.clone();
        annotation.record.withdraw(&Contributor::Prediction);
        self.update(Settled::new(annotation, now))
    }

    /// The bounds with every contribution up to its own end, that of prediction too.
    #[must_use]
    pub(super) fn keep(&self, now: Timestamp) -> BoundsUpdate {
        self.update(Settled::new(self.annotation.clone(), now))
    }

    /// The user's own bounds and no record, whoever contributes.
    #[must_use]
    pub(super) fn restore(&self) -> BoundsUpdate {
        self.update(None)
    }

    /// The change to what is settled; without that, to the user's own bounds and no record.
    fn update(&self, settled: Option<Settled>) -> BoundsUpdate {
        let Settled {
            annotation,
            bounds,
            text,
        } = settled.unwrap_or_else(|| Settled::of_user(self.user()));
        let same_but_for_time = |written: &BoundsAnnotation| {
            text.is_some() && bounds == self.found && written.differs_in_time_only(&annotation)
        };
        let only_renews = self.written.as_ref().is_some_and(same_but_for_time);
        let unchanged = match &self.written {
            Some(written) => text.is_some() && *written == annotation,
            None => text.is_none(),
        };
        BoundsUpdate {
            found: self.found,
            bounds,
            annotation: (!unchanged || self.damaged.is_some()).then(|| Value::from(text)),
            only_renews,
        }
    }
}

/// A record with the bounds that follow from it.
struct Settled {
    annotation: BoundsAnnotation,
    bounds: ObjectBounds,
    /// The text of the annotation; `None` where it goes.
    text: Option<String>,
}

impl Settled {
    /// The bounds of a record at `now`; `None` where the record would not be read again.
    fn new(mut annotation: BoundsAnnotation, now: Timestamp) -> Option<Self> {
        let bounds = annotation.settle(now);
        let text = annotation.to_text().ok()?;
        Some(Self {
            annotation,
            bounds,
            text,
        })
    }

    fn of_user(user: ObjectBounds) -> Self {
        Self {
            annotation: BoundsAnnotation::of_user(user),
            bounds: user,
            text: None,
        }
    }
}

/// The bounds and the record that an object is to have, beside those that it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BoundsUpdate {
    found: ObjectBounds,
    bounds: ObjectBounds,
    /// The new text of the annotation, where it changes; null where it goes.
    annotation: Option<Value>,
    /// True where only the ends of contributions change.
    only_renews: bool,
}

impl BoundsUpdate {
    /// True where anything is to be written.
    pub(super) fn changes(&self) -> bool {
        self.annotation.is_some() || self.bounds != self.found
    }

    /// The change of the least replicas; without one in the object it is 1, as for Kubernetes.
    pub(super) fn floor_change(&self) -> Option<FloorChange> {
        let least = |bounds: ObjectBounds| bounds.min.unwrap_or(1);
        let change = FloorChange {
            from: least(self.found),
            to: least(self.bounds),
        };
        (change.from != change.to).then_some(change)
    }

    /// True unless the write could wait: a record that is only renewed has minutes left.
    pub(super) const fn is_urgent(&self) -> bool {
        !self.only_renews
    }

    /// True where the record goes from the object.
    pub(super) fn removes_record(&self) -> bool {
        self.annotation == Some(Value::Null)
    }

    /// The annotation as it is to be; `None` where it stays.
    pub(super) fn annotation(&self) -> Option<Value> {
        self.annotation.clone()
    }

    /// The fields of the spec that change, by the names that they have in this kind of object.
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

/// The least replicas of an object before and after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloorChange {
    pub(super) from: i32,
    pub(super) to: i32,
}
