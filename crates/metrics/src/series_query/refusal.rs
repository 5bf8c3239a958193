//! Why a question has no answer, as a `Status` of the API.

use evenkeel_objects::api_status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::{QueryFault, RangeFault};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesRefusal {
    /// The caller is not known.
    #[error("{0}")]
    Unauthenticated(String),
    #[error("{user:?} may not {right}")]
    Forbidden { user: String, right: String },
    /// The right of the caller could not be checked.
    #[error("{0}")]
    Unreviewed(String),
    #[error(
        "there is nothing at this path; accepted: namespaces/NAMESPACE/series/KIND, with one of \
         pod-resource, container-resource, workload-resource, workload-container-resource, object, \
         external and workload-external for KIND"
    )]
    NoSuchPath,
    #[error("series support get only: no list, watch or change")]
    NotGot,
    #[error("{0}")]
    Parameter(String),
    #[error("{0}")]
    Query(#[from] QueryFault),
    #[error("{0}")]
    Range(#[from] RangeFault),
    /// Nothing keeps the past of what is asked for.
    #[error("{0}")]
    NoPast(String),
    /// There is no such thing, or nothing that answers for it.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    TooLarge(String),
    /// Too many questions about this namespace wait at a time.
    #[error("too many queries of this namespace are waiting: try again later")]
    NamespaceBusy,
    /// Too many questions of all callers wait at a time.
    #[error("too many queries are waiting: try again later")]
    Busy,
    #[error("there was no answer in time")]
    Late,
    /// The source that Evenkeel asked did not answer, or its answer cannot be used.
    #[error("{asked}: {reason}")]
    Failed {
        asked: &'static str,
        reason: &'static str,
    },
}

impl SeriesRefusal {
    /// The code of the answer, and the reason as Kubernetes names it.
    pub const fn answer(&self) -> (u16, &'static str) {
        match self {
            Self::Unauthenticated(_) => (401, "Unauthorized"),
            Self::Forbidden { .. } => (403, "Forbidden"),
            Self::NoSuchPath | Self::NotFound(_) => (404, "NotFound"),
            Self::NotGot => (405, "MethodNotAllowed"),
            Self::Parameter(_) | Self::Query(_) | Self::Range(_) => (400, "BadRequest"),
            Self::TooLarge(_) => (413, "RequestEntityTooLarge"),
            Self::NamespaceBusy | Self::Busy => (429, "TooManyRequests"),
            Self::NoPast(_) => (501, "NotImplemented"),
            Self::Unreviewed(_) | Self::Failed { .. } => (503, "ServiceUnavailable"),
            Self::Late => (504, "Timeout"),
        }
    }

    pub fn status(&self) -> Status {
        let (code, reason) = self.answer();
        api_status::status(code, reason, self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_is_in_the_way() {
        let busy = SeriesRefusal::NamespaceBusy;
        let status = busy.status();
        assert_eq!(
            (status.code, busy.answer().1),
            (Some(429), "TooManyRequests")
        );
        let failed = SeriesRefusal::Failed {
            asked: "Prometheus",
            reason: "Connect",
        };
        assert_eq!(failed.to_string(), "Prometheus: Connect");
        let range = SeriesRefusal::from(RangeFault::Backwards).status();
        assert_eq!(range.reason.as_deref(), Some("BadRequest"));
    }
}
