//! The write of a portrait's status.

use evenkeel_api::horizontal_portrait::status::{HorizontalPortraitStatus, PORTRAIT_GENERATED};
use evenkeel_objects::condition::{Condition, settle};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::Write;
use evenkeel_objects::plan::status_writer::StatusSubject;
use jiff::Timestamp;

use crate::specs::horizontal_portrait::HorizontalPortrait;

/// The write of a status with this condition in place of the one of its type; the conditions of others stay.
pub(super) fn write_status(
    object: &HorizontalPortrait,
    mut after: HorizontalPortraitStatus,
    condition: Condition,
    now: Timestamp,
) -> Option<Write> {
    let metadata = &object.metadata;
    let before = std::mem::take(&mut after.conditions);
    let mut conditions = vec![condition];
    settle(&mut conditions, &before, metadata.generation, now);
    let others = before
        .into_iter()
        .filter(|one| one.kind != PORTRAIT_GENERATED);
    after.conditions = conditions.into_iter().chain(others).collect();
    after.observed_generation = metadata.generation;
    let default = HorizontalPortraitStatus::default();
    let on = StatusSubject {
        kind: Kind::HorizontalPortrait,
        metadata,
        held: Some(object.status.as_ref().unwrap_or(&default)),
    };
    on.write(&after)
}
