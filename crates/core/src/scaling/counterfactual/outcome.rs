//! What comes of a way of scaling.

/// What a way of scaling came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyRunResult {
    /// The share of the time in which ready Pods carried too much.
    pub under: f64,
    /// The mean count.
    pub replicas: f64,
}
