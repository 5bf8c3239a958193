//! Failed reads of an HPA, each with the right that is missing.

use crate::cluster::read_outcome::{ReadFailure, ReadOutcome};

/// Why an HPA cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum HpaReadError {
    #[error(
        "there is no HPA {namespace}/{name}; accepted: NAMESPACE/NAME of a \
         HorizontalPodAutoscaler, as in kubectl get hpa -n {namespace}"
    )]
    Absent { namespace: String, name: String },
    #[error("{what} cannot be read: the right to {right} is missing")]
    Forbidden { what: String, right: String },
    #[error("{what} cannot be read: {error}")]
    Failed { what: String, error: String },
}

impl HpaReadError {
    /// The right that is missing, without the object that takes it; any other error is whole.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Forbidden { right, .. } => format!("the right to {right} is missing"),
            Self::Absent { .. } | Self::Failed { .. } => self.to_string(),
        }
    }
}

/// A right as `kubectl auth can-i` takes it.
pub(super) fn right(verb: &str, resource: &str, namespace: &str) -> String {
    format!("{verb} {resource} -n {namespace}")
}

/// `None` if the API server does not know the object or its kind.
pub(super) fn required<T>(read: ReadOutcome<T>, what: &str) -> Result<Option<T>, HpaReadError> {
    let what = what.to_owned();
    match read {
        ReadOutcome::There(there) => Ok(Some(there)),
        ReadOutcome::Absent => Ok(None),
        ReadOutcome::Unseen(ReadFailure::Needs(right)) => {
            Err(HpaReadError::Forbidden { what, right })
        }
        ReadOutcome::Unseen(ReadFailure::Failed(error) | ReadFailure::Without(error)) => {
            Err(HpaReadError::Failed { what, error })
        }
    }
}
