//! An Event before it is written: object, reason, text and severity.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteSeverity {
    Normal,
    /// An operator may want to look at it.
    Warning,
}

impl NoteSeverity {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
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
