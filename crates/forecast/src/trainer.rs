//! The interface to fit the parts of models that need a library. The service needs no such library,
//! so this crate has none: the caller passes a trainer in [`ModelAssets`](super::ModelAssets). The
//! same rows give the same trees and networks, for any number of threads.

use std::fmt;

use super::network::{GruNetwork, WindowRows};
use super::trees::{TreeInput, Trees};

#[derive(Debug, Clone, PartialEq)]
pub struct TreeRow {
    pub inputs: Box<[TreeInput]>,
    /// The answer to learn.
    pub label: f32,
}

/// In the words of the library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrainingError(pub String);

pub trait Trainer: fmt::Debug + Send + Sync {
    /// Minimises the absolute error: medians of the labels. All rows have the same number of
    /// inputs.
    ///
    /// # Errors
    /// [`TrainingError`], for example without rows.
    fn medians(&self, rows: &[TreeRow]) -> Result<Trees, TrainingError>;

    /// Minimises the absolute error of averaged answers, starting from `before` if it is not empty.
    /// The newest rows decide how far the networks are used.
    ///
    /// # Errors
    /// [`TrainingError`], for example with too few rows.
    fn networks(
        &self,
        rows: &WindowRows,
        before: &[GruNetwork],
    ) -> Result<Vec<GruNetwork>, TrainingError>;
}
