//! The outcome of one provider: a value, none at present, an expired one, or a failure.

use std::borrow::Cow;

use jiff::Timestamp;

/// The outcome of one provider at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderOutcome {
    /// It asks for so many replicas.
    Value(Value),
    /// It asks for nothing at present, as outside of its windows or before its first point.
    Absent {
        /// When it will; `None` where that is not known.
        until: Option<Timestamp>,
    },
    /// Its request has expired and was not renewed.
    Expired { at: Timestamp },
    /// It could not be had.
    Failed(ProviderFailure),
}

/// A count of replicas, and how long it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    pub replicas: i32,
    /// The moment until which it is known to stand; `None` where it stands until it is changed.
    pub until: Option<Timestamp>,
}

/// The reason why a provider has nothing to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFailure {
    /// The reason, one word of a closed set.
    pub reason: &'static str,
    /// The reason in words.
    pub message: Cow<'static, str>,
    /// Since when it has failed without a break.
    pub since: Timestamp,
}

impl ProviderOutcome {
    /// The kind of outcome in one word, for status and metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Value(_) => "Value",
            Self::Absent { .. } => "Absent",
            Self::Expired { .. } => "Expired",
            Self::Failed(_) => "Failed",
        }
    }

    /// The value, where there is one.
    #[must_use]
    pub const fn value(&self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Absent { .. } | Self::Expired { .. } | Self::Failed(_) => None,
        }
    }
}
