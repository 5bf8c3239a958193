//! The change of an object's bounds and of their record.

use evenkeel_objects::annotations::BOUNDS;
use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;

use crate::targets::owner::Owner;

/// The change of the record in the annotation of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordChange {
    Stays,
    /// It has this text from then on.
    Written(String),
    Goes,
}

/// The bounds and the record that an object is to have, beside those that it has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundsUpdate {
    pub(crate) found: ObjectBounds,
    pub(crate) bounds: ObjectBounds,
    pub(crate) record: RecordChange,
    /// True where only the ends of contributions change.
    pub(crate) only_renews: bool,
}

impl BoundsUpdate {
    /// True where anything is to be written.
    pub(crate) fn changes(&self) -> bool {
        self.record != RecordChange::Stays || self.bounds != self.found
    }

    /// The change of the least replicas; without one in the object it is 1, as for Kubernetes.
    pub(crate) fn floor_change(&self) -> Option<FloorChange> {
        let least = |bounds: ObjectBounds| bounds.min.unwrap_or(1);
        let change = FloorChange {
            from: least(self.found),
            to: least(self.bounds),
        };
        (change.from != change.to).then_some(change)
    }

    /// True unless the write could wait: a record that is only renewed has minutes left.
    pub(crate) const fn is_urgent(&self) -> bool {
        !self.only_renews
    }

    /// True where the record goes from the object.
    pub(crate) fn removes_record(&self) -> bool {
        self.record == RecordChange::Goes
    }

    /// The replicas that the least is too small by.
    pub(crate) fn gap(&self) -> u32 {
        let change = self.floor_change();
        change.map_or(0, |FloorChange { from, to }| {
            u32::try_from(to.saturating_sub(from)).unwrap_or(0)
        })
    }

    /// Puts bounds and record into the `patch` of their object.
    pub(crate) fn put(&self, owner: &Owner<'_>, patch: &mut ConditionalPatch) {
        owner.expect_bounds(patch);
        let is_there = owner.metadata.annotation(BOUNDS).is_some();
        match &self.record {
            RecordChange::Stays => {}
            RecordChange::Written(text) => patch.annotate(BOUNDS, is_there, Some(text.clone())),
            RecordChange::Goes => patch.annotate(BOUNDS, is_there, None),
        }
        owner.change_bounds(patch, self.bounds);
    }
}

/// The least replicas of an object before and after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloorChange {
    pub(crate) from: i32,
    pub(crate) to: i32,
}
