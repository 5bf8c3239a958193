//! Refusals of judgements, with the row and column at fault.

/// The largest number of rows. People cannot judge more pairs consistently, and no random index is
/// published for more (`[AHP]`).
pub(super) const MAX_SIZE: usize = 15;

/// Judgements are accepted with a consistency ratio below this (`[CLBP]` (4.17)).
pub const CONSISTENCY_LIMIT: f64 = 0.1;

/// The refusal of a matrix or of a random index. Rows and columns count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AhpError {
    #[error("{rows} rows are not accepted: a matrix has 1 to {MAX_SIZE}")]
    Size { rows: usize },
    /// A row is shorter or longer than the matrix is high.
    #[error("row {row} has {columns} columns, and the matrix has {rows} rows: it must be square")]
    NotSquare {
        row: usize,
        columns: usize,
        rows: usize,
    },
    /// A judgement is zero, negative or not finite.
    #[error("row {row}, column {column}: {value} is not accepted: a judgement must be above 0")]
    NotPositive {
        row: usize,
        column: usize,
        value: f64,
    },
    /// A judgement of something against itself is not 1.
    #[error("row {row}, column {row}: {value} is not accepted: the diagonal must be 1")]
    Diagonal { row: usize, value: f64 },
    /// The two judgements of one pair are not reciprocal.
    #[error(
        "row {row}, column {column}: {value} is not accepted: it must be the reciprocal of row \
         {column}, column {row}, {}",
        1.0 / mirrored
    )]
    NotReciprocal {
        row: usize,
        column: usize,
        value: f64,
        /// The judgement of the pair the other way round.
        mirrored: f64,
    },
    /// A random index is not above 0, or given for a size that needs or has none.
    #[error(
        "random index {value} for size {size} is not accepted; accepted: above 0, for size 3 to {MAX_SIZE}"
    )]
    RandomIndex { size: usize, value: f64 },
    /// The consistency ratio reaches [`CONSISTENCY_LIMIT`].
    #[error("consistency ratio {ratio:.3} is not accepted: it must be below {CONSISTENCY_LIMIT}")]
    Inconsistent { ratio: f64 },
}
