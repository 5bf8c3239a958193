//! Why a text is no scenario, with the place of what is not accepted.

/// Why a text is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Not YAML, or not of this shape.
    #[error("the scenario cannot be read: {0}")]
    Malformed(String),
    /// A trace that cannot be used.
    #[error("{path}: {given:?} cannot be used: {why}")]
    Trace {
        /// Where it is named.
        path: String,
        /// Its name as given.
        given: String,
        /// The fault in it, and where.
        why: String,
    },
    /// The spec of portraits is not accepted; `why` names the field in it.
    #[error("{path}: {why}")]
    Portraits { path: String, why: String },
    /// A value that is not accepted.
    #[error("{path}: {given:?} is not accepted; accepted: {accepted}")]
    Value {
        path: String,
        /// The value as given.
        given: String,
        /// The values that are accepted.
        accepted: String,
    },
}
