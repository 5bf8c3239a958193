//! The place where the status of a target is written.
//!
//! It is chosen for each object that carries a target: an annotation on objects of others. The rest
//! of the program knows a status and not where it stands.

use super::owner::Owner;
use super::status::TargetStatus;
use crate::annotations::{BOUNDS, SCALING_STATUS};
use crate::meta::Meta;
use crate::plan::conditional_patch::ConditionalPatch;

/// The most bytes of a status that are read: some ten times those of the longest that is written.
const LONGEST: usize = 32 * 1024;

/// The place of a target's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusSink {
    /// An annotation of this name, since the object's own `status` is another controller's.
    Annotation(&'static str),
}

impl StatusSink {
    /// The place of the status on an object.
    pub(super) const fn of(_owner: &Owner<'_>) -> Self {
        Self::on_a_workload()
    }

    /// The place of the status on a workload.
    pub(super) const fn on_a_workload() -> Self {
        Self::Annotation(SCALING_STATUS)
    }

    /// True where the object holds anything there, readable or not.
    pub(super) fn is_used(self, metadata: &Meta) -> bool {
        let Self::Annotation(key) = self;
        metadata.annotation(key).is_some()
    }

    /// The status that the object holds, as far as it says what a status can say; `None` where it
    /// holds none that can be read. Any user may have written it.
    pub(super) fn read(self, metadata: &Meta) -> Option<TargetStatus> {
        let Self::Annotation(key) = self;
        let text = metadata.annotation(key)?;
        let status: Option<TargetStatus> = (text.len() <= LONGEST)
            .then(|| serde_json::from_str(text).ok())
            .flatten();
        status.map(TargetStatus::with_known_conditions)
    }

    /// Puts `status` into the `patch` of the object, or takes what is there away with `None`.
    pub(super) fn put(
        self,
        patch: &mut ConditionalPatch,
        metadata: &Meta,
        status: Option<&TargetStatus>,
    ) {
        let Self::Annotation(key) = self;
        let text = status
            .map(|status| serde_json::to_string(status).expect("a status has string keys only"));
        patch.annotate(key, self.is_used(metadata), text);
    }
}

/// The status that an object holds of its target; `None` where it holds none that can be read.
#[must_use]
pub fn status_of(owner: &Owner<'_>) -> Option<TargetStatus> {
    StatusSink::of(owner).read(owner.metadata)
}

/// True for an object on which bounds or status of a target have been written, which is to be taken
/// back once it is no target any more.
#[must_use]
pub fn is_marked(metadata: &Meta) -> bool {
    [BOUNDS, SCALING_STATUS]
        .into_iter()
        .any(|key| metadata.annotations.contains_key(key))
}
