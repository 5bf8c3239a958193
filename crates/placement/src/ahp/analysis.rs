//! Weights and consistency of judgements.

use super::error::{AhpError, CONSISTENCY_LIMIT};

/// The result of a judgement matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The weight of each row; they sum to 1.
    pub weights: Vec<f64>,
    /// λmax, the largest eigenvalue, as the mean of `(A w)_i / w_i` (`[CLBP]` 4.4); the number of
    /// rows when the judgements agree.
    pub lambda_max: f64,
    /// CI (`[CLBP]` (4.16), `[AHP]`): `(λmax - n) / (n - 1)` for n rows.
    pub consistency_index: f64,
    /// CR (`[CLBP]` (4.17), `[AHP]`): CI over the random index; 0 for up to two rows, which cannot
    /// contradict each other.
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
