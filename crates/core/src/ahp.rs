//! The analytic hierarchy process: a matrix of pairwise judgements becomes weights, and a check of
//! whether the judgements agree with each other.
//!
//! Weights are the normalised geometric means of the rows (thesis 4.12 to 4.14); λmax, CI and CR
//! are (4.15), (4.16) and (4.17). A matrix whose CR reaches 0.1 contradicts itself and is refused.

mod matrix;
mod random_index;

pub use matrix::JudgementMatrix;
pub use random_index::RandomIndex;

/// Largest number of things that one matrix compares; nobody judges more pairs consistently, and
/// no random index is published beyond it.
pub const MAX_SIZE: usize = 15;

/// A consistency ratio from here on means that the judgements contradict each other.
pub const CONSISTENCY_LIMIT: f64 = 0.1;

/// Why a matrix or a random index is refused. Rows and columns count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AhpError {
    /// The number of rows is not accepted.
    #[error("{rows} rows are not accepted: a matrix has 1 to {MAX_SIZE}")]
    Size {
        /// How many rows the matrix has.
        rows: usize,
    },
    /// A row is shorter or longer than the matrix is high.
    #[error("row {row} has {columns} columns, and the matrix {rows} rows: it must be square")]
    NotSquare {
        /// The row.
        row: usize,
        /// Its length.
        columns: usize,
        /// How many rows the matrix has.
        rows: usize,
    },
    /// A judgement is zero, negative or not finite.
    #[error("row {row}, column {column}: {value} is not accepted: a judgement is above 0")]
    NotPositive {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The judgement.
        value: f64,
    },
    /// Something is not as important as itself.
    #[error("row {row}, column {row}: {value} is not accepted: the diagonal is 1")]
    Diagonal {
        /// The row and column.
        row: usize,
        /// The judgement.
        value: f64,
    },
    /// Two judgements of one pair contradict each other.
    #[error(
        "row {row}, column {column}: {value} is not accepted: it is the reciprocal of row {column}, column {row}, {}",
        1.0 / mirrored
    )]
    NotReciprocal {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The judgement.
        value: f64,
        /// The judgement in the mirrored place.
        mirrored: f64,
    },
    /// A random index cannot be used.
    #[error(
        "random index {value} for size {size} is not accepted: above 0, for size 3 to {MAX_SIZE}"
    )]
    RandomIndex {
        /// The size of matrix it was given for.
        size: usize,
        /// The index.
        value: f64,
    },
    /// The judgements contradict each other.
    #[error("consistency ratio {ratio:.3} is not accepted: it must be below {CONSISTENCY_LIMIT}")]
    Inconsistent {
        /// The consistency ratio.
        ratio: f64,
    },
}

impl AhpError {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Size { .. } => "Size",
            Self::NotSquare { .. } => "NotSquare",
            Self::NotPositive { .. } => "NotPositive",
            Self::Diagonal { .. } => "Diagonal",
            Self::NotReciprocal { .. } => "NotReciprocal",
            Self::RandomIndex { .. } => "RandomIndex",
            Self::Inconsistent { .. } => "Inconsistent",
        }
    }
}

/// What follows from a judgement matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The weight of each row; they sum to 1.
    pub weights: Vec<f64>,
    /// λmax (4.15): the mean of `(A w)_i / w_i`; equal to the size when the judgements agree.
    pub lambda_max: f64,
    /// CI (4.16): `(λmax - n) / (n - 1)`.
    pub consistency_index: f64,
    /// CR (4.17): CI over the random index; 0 for up to two rows, which cannot contradict.
    pub consistency_ratio: f64,
}

impl Analysis {
    /// The weights, if the judgements agree well enough.
    ///
    /// # Errors
    /// [`AhpError::Inconsistent`] when CR >= 0.1.
    pub fn accept(&self) -> Result<&[f64], AhpError> {
        if self.consistency_ratio < CONSISTENCY_LIMIT {
            Ok(&self.weights)
        } else {
            Err(AhpError::Inconsistent {
                ratio: self.consistency_ratio,
            })
        }
    }
}
