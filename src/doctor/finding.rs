//! What a check found, in words for people and with a name for programs.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Info,
    /// Evenkeel helps less than it could, or something could not be looked at.
    Warning,
    /// Something does not work.
    Error,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check, from a closed set.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is so.
    pub what: String,
    /// What it was seen by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What mends it: a command, or the field to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    /// All is well.
    pub(super) fn ok(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Ok, what, None)
    }

    /// Something to know, and what to do if it is not wanted.
    pub(super) fn info(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Severity::Info, what, Some(fix.into()))
    }

    /// Something that should be better.
    pub(super) fn warning(
        id: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self::new(id, Severity::Warning, what, Some(fix.into()))
    }

    /// Something that does not work.
    pub(super) fn error(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, what, Some(fix.into()))
    }

    /// The same with what it was seen by.
    #[must_use]
    pub(super) fn seen_by(self, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into()).filter(|detail| !detail.is_empty());
        Self { detail, ..self }
    }

    fn new(
        id: &'static str,
        severity: Severity,
        what: impl Into<String>,
        fix: Option<String>,
    ) -> Self {
        Self {
            id,
            severity,
            what: what.into(),
            detail: None,
            fix,
        }
    }
}
