//! The treatment of a Pod for which no node has headroom.

use std::fmt;
use std::str::FromStr;

/// The treatment of a Pod for which no node has headroom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHeadroom {
    /// It waits until a node has headroom.
    Reject,
    /// The least loaded nodes take it.
    Relax,
}

impl NoHeadroom {
    /// The name in annotations and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Relax => "relax",
        }
    }
}

impl fmt::Display for NoHeadroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is neither `reject` nor `relax`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not accepted; accepted: reject or relax")]
pub struct UnknownNoHeadroom(pub String);

impl FromStr for NoHeadroom {
    type Err = UnknownNoHeadroom;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "reject" => Ok(Self::Reject),
            "relax" => Ok(Self::Relax),
            other => Err(UnknownNoHeadroom(other.to_owned())),
        }
    }
}
