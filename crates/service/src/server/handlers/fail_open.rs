//! Logs that requests are answered without a decision, once a minute for each path and cause. Each
//! such answer is also counted by its outcome. Pods let through on purpose, such as those of other
//! namespaces or with score terms, are no failure and not logged.

use evenkeel_placement::admission::AdmissionOutcome;
use evenkeel_placement::extender::placement_rules::Exemption;
use tracing::warn;

use crate::server::{ApiError, BufferedRequest};
use crate::telemetry::RateLimited;

/// Paths and causes that were logged lately.
#[derive(Debug, Default)]
pub(super) struct FailOpen(RateLimited<(&'static str, &'static str)>);

impl FailOpen {
    /// Logs that a call to `path` changes nothing.
    pub(super) fn warn(&self, path: &'static str, cause: &'static str, call: &BufferedRequest) {
        if let Some(suppressed) = self.0.permit((path, cause), call.started) {
            warn!(path, cause, suppressed, "answered without a decision");
        }
    }

    /// Logs that the body of a call to `path` is refused, as the caller is told.
    pub(super) fn unreadable(&self, path: &'static str, error: &ApiError, call: &BufferedRequest) {
        let cause = error.reason();
        if let Some(suppressed) = self.0.permit((path, cause), call.started) {
            warn!(path, cause, %error, suppressed, "a body could not be read");
        }
    }
}

/// Cause of a review that changed nothing because it failed.
pub(super) const fn failed_review(outcome: AdmissionOutcome) -> Option<&'static str> {
    match outcome {
        AdmissionOutcome::NotSynced
        | AdmissionOutcome::NamespaceUnknown
        | AdmissionOutcome::Unreadable
        | AdmissionOutcome::PatchFailed => Some(outcome.as_str()),
        AdmissionOutcome::Patched
        | AdmissionOutcome::Unchanged
        | AdmissionOutcome::NotAPod
        | AdmissionOutcome::NotOptedIn
        | AdmissionOutcome::Skipped => None,
    }
}

/// Cause of a placement that should have been judged and was not.
pub(super) const fn failed_judgement(why: Exemption) -> Option<&'static str> {
    match why {
        Exemption::NamespaceUnknown | Exemption::NotSynced | Exemption::NoMetrics => {
            Some(why.as_str())
        }
        Exemption::NotOptedIn
        | Exemption::ScoreTerms
        | Exemption::Skipped
        | Exemption::DaemonSet
        | Exemption::Mirror
        | Exemption::Critical => None,
    }
}
