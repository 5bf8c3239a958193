//! Random indices: the mean consistency index of matrices filled at random, by size.

use super::error::{AhpError, MAX_SIZE};

/// The table of `[AHP]` for 1 to 15 rows.
const SAATY: [f64; MAX_SIZE] = [
    0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49, 1.51, 1.48, 1.56, 1.57, 1.59,
];

/// RI of `[CLBP]` (4.17) by the number of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomIndex([f64; MAX_SIZE]);

impl RandomIndex {
    /// The table of Saaty (`[AHP]`).
    pub const fn saaty() -> Self {
        Self(SAATY)
    }

    /// The table of Saaty with the 1.11 that `[CLBP]` (4.17) takes for five rows.
    pub const fn thesis() -> Self {
        let mut table = SAATY;
        table[4] = 1.11;
        Self(table)
    }

    /// The same table with `value` for matrices of `size` rows.
    ///
    /// # Errors
    /// [`AhpError::RandomIndex`] when `value` is not finite and above 0, or `size` is not within
    /// 3..=15 (smaller matrices are always consistent).
    pub fn with(mut self, size: usize, value: f64) -> Result<Self, AhpError> {
        if (3..=MAX_SIZE).contains(&size) && value > 0.0 && value.is_finite() {
            self.0[size - 1] = value;
            Ok(self)
        } else {
            Err(AhpError::RandomIndex { size, value })
        }
    }

    /// RI for matrices of `size` rows; 0 where none is needed or known.
    pub fn get(&self, size: usize) -> f64 {
        let position = size.checked_sub(1);
        let index = position.and_then(|position| self.0.get(position));
        index.copied().unwrap_or_default()
    }

    /// CR (`[CLBP]` (4.17)) of a matrix of `size` rows, which is at most 15.
    pub(super) fn ratio(&self, size: usize, consistency_index: f64) -> f64 {
        if size <= 2 {
            0.0
        } else {
            consistency_index / self.0[size - 1]
        }
    }
}

impl Default for RandomIndex {
    /// The table of `[CLBP]`, by which the shipped weights were accepted.
    fn default() -> Self {
        Self::thesis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_replaced_only_where_it_counts() {
        let index = RandomIndex::saaty().with(5, 1.11);
        assert_eq!(index, Ok(RandomIndex::thesis()));
        for (size, value) in [
            (2, 1.0),
            (16, 1.0),
            (5, 0.0),
            (5, f64::NAN),
            (5, f64::INFINITY),
        ] {
            assert!(
                RandomIndex::saaty().with(size, value).is_err(),
                "{size} {value}"
            );
        }
    }
}
