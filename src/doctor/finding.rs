//! Findings of the checks, in words for people and with a name for programs.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    Ok,
    /// Something worth knowing.
    Info,
    /// Evenkeel helps less than it could, or something could not be looked at.
    Warning,
    /// Something does not work.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    /// The check, from a closed set.
    pub id: &'static str,
    pub severity: FindingSeverity,
    /// The fact that was found.
    pub what: String,
    /// Evidence for the fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The command that mends it, or the field to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The page about this check, of a finding that is not [`FindingSeverity::Ok`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The page about findings, with an anchor for each check.
const PAGE: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/troubleshooting.md"
);

/// The place about a check on the page about findings.
pub fn link(id: &str) -> String {
    format!("{PAGE}#{id}")
}

impl DoctorFinding {
    /// A check without fault.
    pub(super) fn ok(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, FindingSeverity::Ok, what, None)
    }

    /// A fact to know, and the change for users that do not want it.
    pub(super) fn info(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, FindingSeverity::Info, what, Some(fix.into()))
    }

    /// Something that should be better.
    pub(super) fn warning(
        id: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self::new(id, FindingSeverity::Warning, what, Some(fix.into()))
    }

    pub(super) fn error(id: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(id, FindingSeverity::Error, what, Some(fix.into()))
    }

    /// Adds the evidence.
    pub(super) fn seen_by(self, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into()).filter(|detail| !detail.is_empty());
        Self { detail, ..self }
    }

    fn new(
        id: &'static str,
        severity: FindingSeverity,
        what: impl Into<String>,
        fix: Option<String>,
    ) -> Self {
        Self {
            id,
            severity,
            what: what.into(),
            detail: None,
            fix,
            link: (severity != FindingSeverity::Ok).then(|| link(id)),
        }
    }
}
