//! Warnings to users about invalid or excessive annotations. The Event's name is a digest of object
//! and text, so one value gives one Event, whatever the number of replicas.

use evenkeel_objects::annotations::InvalidAnnotation;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};
use evenkeel_objects::plan::write::{Purpose, Write};
use jiff::Timestamp;

use crate::demand::ExcessiveClaim;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnnotationWarning {
    pub regarding: RegardingObject,
    /// The annotation, its value and what is accepted or possible, in words.
    pub note: String,
}

impl AnnotationWarning {
    pub fn new(kind: Kind, metadata: &Meta, invalid: &InvalidAnnotation) -> Self {
        Self {
            regarding: RegardingObject::of(kind, metadata),
            note: invalid.to_string(),
        }
    }

    pub fn of_claim(metadata: &Meta, claim: &ExcessiveClaim) -> Self {
        Self {
            regarding: RegardingObject::of(Kind::Pod, metadata),
            note: claim.to_string(),
        }
    }

    /// The Warning Event with reason `InvalidAnnotation`; `reporter` is the name of this replica.
    pub fn write(&self, reporter: &str, now: Timestamp) -> Write {
        let Self { regarding, note } = self;
        let event = EventContent {
            purpose: Purpose::AnnotationWarning,
            severity: EventSeverity::Warning,
            reason: "InvalidAnnotation",
            action: "Ignore",
            note: note.as_str().into(),
        };
        let seed = format!("{} {} {note}", regarding.kind.as_str(), regarding.uid);
        event.once(regarding, &seed, reporter, now)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::object_ref::ObjectRef;

    use super::*;

    #[test]
    fn the_same_warning_is_the_same_event_and_another_is_another() {
        let written = |uid: &str, note: &str, reporter: &str| -> ObjectRef {
            let regarding = RegardingObject {
                kind: Kind::Namespace,
                namespace: None,
                name: "shop".to_owned(),
                uid: uid.to_owned(),
            };
            let note = note.to_owned();
            let warning = AnnotationWarning { regarding, note };
            warning.write(reporter, Timestamp::UNIX_EPOCH).target
        };
        assert_eq!(written("1", "x", "pod-a"), written("1", "x", "pod-b"));
        assert_ne!(written("1", "x", "pod-a"), written("1", "y", "pod-a"));
        assert_ne!(written("1", "x", "pod-a"), written("2", "x", "pod-a"));
    }
}
