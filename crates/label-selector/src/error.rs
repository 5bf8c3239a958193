//! The reasons why there is no selector, in the words of Kubernetes.

use crate::go_format;

/// A selector that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The operator of an object is none of the four.
    #[error("{} is not a valid label selector operator", go_format::quoted(.0))]
    UnknownOperator(String),
    /// A requirement has a key or values that it may not have.
    #[error("{0}")]
    Invalid(String),
    /// Another token should stand in the text.
    #[error("found '{found}'{wanted}")]
    Unexpected {
        /// The token that stands there; empty at the end of the text.
        found: String,
        /// The tokens that may stand there, with the words before them.
        wanted: &'static str,
    },
    /// One requirement of the text is at fault.
    #[error("unable to parse requirement: {0}")]
    Requirement(Box<Self>),
}
