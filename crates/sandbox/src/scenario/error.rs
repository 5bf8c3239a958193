//! Why a text is no scenario, with the place.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Not YAML, or not of this shape.
    #[error("the scenario cannot be read: {0}")]
    Malformed(String),
    #[error("{path}: {given:?} cannot be used: {why}")]
    Trace {
        /// Its place.
        path: String,
        /// Its name as given.
        given: String,
        /// The fault in it, and where.
        why: String,
    },
    /// The spec of portraits is not accepted; `why` names the field in it.
    #[error("{path}: {why}")]
    Portraits { path: String, why: String },
    #[error("{path}: {given:?} is not accepted; accepted: {accepted}")]
    Value {
        path: String,
        given: String,
        accepted: String,
    },
}
