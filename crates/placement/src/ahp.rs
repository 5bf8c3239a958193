//! The analytic hierarchy process: a matrix of pairwise judgements becomes weights, with a check
//! that the judgements agree with each other.
//!
//! Weights are the normalised geometric means of the rows (`[CLBP]` (4.14) and (4.15),
//! `[Crawford]`); CI and CR are (4.16) and (4.17). A matrix with a CR of 0.1 or more is refused.

mod analysis;
mod error;
mod matrix;
mod random_index;

pub use analysis::Analysis;
pub use error::{AhpError, CONSISTENCY_LIMIT};
pub use matrix::JudgementMatrix;
pub use random_index::RandomIndex;
