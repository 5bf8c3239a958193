//! Why a selector is invalid, in the words of Kubernetes.

use crate::go_format;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("{} is not a valid label selector operator", go_format::quoted(.0))]
    UnknownOperator(String),
    /// A requirement has an invalid key or value.
    #[error("{0}")]
    Invalid(String),
    #[error("found '{found}'{wanted}")]
    Unexpected {
        /// Empty at the end of the text.
        found: String,
        /// The allowed tokens, with the words before them.
        wanted: &'static str,
    },
    #[error("unable to parse requirement: {0}")]
    Requirement(Box<Self>),
}
