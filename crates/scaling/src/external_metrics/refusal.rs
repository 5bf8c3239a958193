//! Refusals as a Kubernetes `Status`: what is wrong, where, and what is accepted.

use evenkeel_objects::api_status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::EXPECTED_LOAD;

/// Why there is no answer with values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalMetricsRefusal {
    /// The caller is not known.
    #[error("{0}")]
    Unauthenticated(String),
    /// The caller lacks the right.
    #[error(
        "{user:?} may not list {metric}.external.metrics.k8s.io in the namespace {namespace:?}"
    )]
    Forbidden {
        user: String,
        metric: String,
        namespace: String,
    },
    /// The right of the caller could not be checked.
    #[error("{0}")]
    Unreviewed(String),
    #[error("there is no metric {0:?}; accepted: {EXPECTED_LOAD}")]
    NoSuchMetric(String),
    #[error("there is nothing at this path; accepted: {EXPECTED_LOAD} of a namespace")]
    NoSuchPath,
    #[error("values can only be listed, not watched or changed")]
    NotListed,
    #[error("labelSelector: {0}")]
    Selector(String),
    /// The first tick of the scaling loop is not over.
    #[error("this replica has just started and has no load yet")]
    Starting,
    /// The load of a target that is asked for is not known.
    #[error(
        "the load {signal} of {kind} {name} is not known now: it has no measurement, or its Pods \
         are changing"
    )]
    LoadUnknown {
        kind: String,
        name: String,
        signal: String,
    },
}

impl ExternalMetricsRefusal {
    /// The code of the answer, and the reason as Kubernetes names it.
    const fn answer(&self) -> (u16, &'static str) {
        match self {
            Self::Unauthenticated(_) => (401, "Unauthorized"),
            Self::Forbidden { .. } => (403, "Forbidden"),
            Self::NoSuchMetric(_) | Self::NoSuchPath => (404, "NotFound"),
            Self::NotListed => (405, "MethodNotAllowed"),
            Self::Selector(_) => (400, "BadRequest"),
            Self::Unreviewed(_) | Self::Starting | Self::LoadUnknown { .. } => {
                (503, "ServiceUnavailable")
            }
        }
    }

    /// The code of the answer.
    pub const fn code(&self) -> u16 {
        self.answer().0
    }

    pub fn status(&self) -> Status {
        let (code, reason) = self.answer();
        api_status::status(code, reason, self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_a_status() {
        let status = ExternalMetricsRefusal::NoSuchMetric("queue".to_owned()).status();
        assert_eq!(
            serde_json::to_value(status).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
                "code": 404, "reason": "NotFound",
                "message": "there is no metric \"queue\"; accepted: evenkeel-expected-load",
            })
        );
    }
}
