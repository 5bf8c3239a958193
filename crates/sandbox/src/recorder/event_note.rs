//! An Event before it is written: object, reason, text and severity.

use evenkeel_units::words;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

words! {
    pub enum NoteSeverity {
        Normal = "Normal",
        /// An operator may want to look at it.
        Warning = "Warning",
    }
}

#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) about: ObjectReference,
    pub(super) severity: NoteSeverity,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) at: Timestamp,
}
