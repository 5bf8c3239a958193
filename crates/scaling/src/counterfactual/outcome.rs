//! The outcome of one way of scaling.

/// The outcome of one way of scaling over the replayed time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyRunResult {
    /// The share of the time in which ready Pods carried too much.
    pub under: f64,
    /// The mean count.
    pub replicas: f64,
}
