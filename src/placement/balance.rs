//! Under construction.

/// How the deviations of several resources become one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalization {
    /// One normalisation of the weighted sum of variances.
    Joint,
    /// Each resource normalised by itself, as (4.10).
    PerResource,
}
