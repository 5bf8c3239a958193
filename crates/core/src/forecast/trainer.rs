//! What fits the parts of models that take a library to fit.
//!
//! What serves needs no such library, so none is here: who estimates parameters hands a trainer over, in
//! [`Shared`](super::Shared). The same rows give the same trees
//! and networks, whatever the number of threads.

use std::fmt;

use super::network::{GruNetwork, WindowRows};
use super::trees::{TreeInput, Trees};

/// A row that trees learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeRow {
    pub inputs: Box<[TreeInput]>,
    /// What the trees are to answer.
    pub label: f32,
}

/// Why nothing was fitted, in the words of the library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrainingError(pub String);

/// A trainer of parts of models.
pub trait Trainer: fmt::Debug + Send + Sync {
    /// Trees whose answers have the least absolute error: medians of the labels. All rows have as many inputs.
    ///
    /// # Errors
    /// [`TrainingError`], as without rows.
    fn medians(&self, rows: &[TreeRow]) -> Result<Trees, TrainingError>;

    /// Networks whose answers, averaged, have the least absolute error. They go on from `before`, where there are
    /// any, and the newest rows decide how far they are of use.
    ///
    /// # Errors
    /// [`TrainingError`], as of too few rows.
    fn networks(
        &self,
        rows: &WindowRows,
        before: &[GruNetwork],
    ) -> Result<Vec<GruNetwork>, TrainingError>;
}
