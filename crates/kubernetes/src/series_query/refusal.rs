//! Why a question has no answer, as a `Status` of the API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::{QueryFault, RangeFault};
use crate::api_status;

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
    #[must_use]
    pub const fn code(&self) -> u16 {
        match self {
            Self::Unauthenticated(_) => 401,
            Self::Forbidden { .. } => 403,
            Self::NoSuchPath | Self::NotFound(_) => 404,
            Self::NotGot => 405,
            Self::Parameter(_) | Self::Query(_) | Self::Range(_) => 400,
            Self::TooLarge(_) => 413,
            Self::NamespaceBusy | Self::Busy => 429,
            Self::NoPast(_) => 501,
            Self::Unreviewed(_) | Self::Failed { .. } => 503,
            Self::Late => 504,
        }
    }

    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unauthenticated(_) => "Unauthorized",
            Self::Forbidden { .. } => "Forbidden",
            Self::NoSuchPath | Self::NotFound(_) => "NotFound",
            Self::NotGot => "MethodNotAllowed",
            Self::Parameter(_) | Self::Query(_) | Self::Range(_) => "BadRequest",
            Self::TooLarge(_) => "RequestEntityTooLarge",
            Self::NamespaceBusy | Self::Busy => "TooManyRequests",
            Self::NoPast(_) => "NotImplemented",
            Self::Unreviewed(_) | Self::Failed { .. } => "ServiceUnavailable",
            Self::Late => "Timeout",
        }
    }

    #[must_use]
    pub fn status(&self) -> Status {
        api_status::status(self.code(), self.reason(), self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_is_in_the_way() {
        let busy = SeriesRefusal::NamespaceBusy;
        let status = busy.status();
        assert_eq!((status.code, busy.reason()), (Some(429), "TooManyRequests"));
        let failed = SeriesRefusal::Failed {
            asked: "Prometheus",
            reason: "Connect",
        };
        assert_eq!(failed.to_string(), "Prometheus: Connect");
        let range = SeriesRefusal::from(RangeFault::Backwards).status();
        assert_eq!(range.reason.as_deref(), Some("BadRequest"));
    }
}
