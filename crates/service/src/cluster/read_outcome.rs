//! The outcome of reading an object of the cluster.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadOutcome<T> {
    There(T),
    /// The API server says that there is no such object, or that it does not know the kind.
    Absent,
    Unseen(ReadFailure),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadFailure {
    /// The user lacks a right, given as `kubectl auth can-i` takes it.
    Needs(String),
    Failed(String),
    /// The thing to read from is missing itself.
    Without(String),
}

impl<T> ReadOutcome<T> {
    /// The value, where it was read and is there.
    pub const fn there(&self) -> Option<&T> {
        match self {
            Self::There(there) => Some(there),
            Self::Absent | Self::Unseen(_) => None,
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ReadOutcome<U> {
        match self {
            Self::There(there) => ReadOutcome::There(change(there)),
            Self::Absent => ReadOutcome::Absent,
            Self::Unseen(unseen) => ReadOutcome::Unseen(unseen),
        }
    }

    /// Result of a call that needs `right`, as `kubectl auth can-i` takes it.
    pub fn of(called: kube::Result<T>, right: impl FnOnce() -> String) -> Self {
        match called {
            Ok(there) => Self::There(there),
            Err(kube::Error::Api(status)) if status.code == 404 => Self::Absent,
            Err(kube::Error::Api(status)) if [401, 403].contains(&status.code) => {
                Self::Unseen(ReadFailure::Needs(right()))
            }
            Err(kube::Error::Api(status)) => Self::Unseen(ReadFailure::Failed(status.message)),
            Err(error) => Self::Unseen(ReadFailure::Failed(error.to_string())),
        }
    }
}
