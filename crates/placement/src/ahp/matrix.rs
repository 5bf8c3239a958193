//! Judgement matrices: checked once, then analysed without a way to fail.

use super::analysis::Analysis;
use super::error::{AhpError, MAX_SIZE};
use super::random_index::RandomIndex;

/// The largest accepted distance of `a_ij * a_ji` from 1: judgements such as 1/3 are written with few digits.
const RECIPROCAL_TOLERANCE: f64 = 0.01;

/// A square matrix of judgements: row i says how many times as important as column j it is.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgementMatrix {
    rows: Vec<Vec<f64>>,
}

impl JudgementMatrix {
    /// The matrix with these rows.
    ///
    /// # Errors
    /// An [`AhpError`] naming row and column where the matrix is not square, not positive, not
    /// reciprocal to within 1 %, or has another diagonal than 1.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, AhpError> {
        let size = rows.len();
        if size == 0 || size > MAX_SIZE {
            return Err(AhpError::Size { rows: size });
        }
        for (row, judgements) in rows.iter().enumerate() {
            if judgements.len() != size {
                return Err(AhpError::NotSquare {
                    row: row + 1,
                    columns: judgements.len(),
                    rows: size,
                });
            }
        }
        for row in 0..size {
            for column in 0..size {
                check_judgement(&rows, row, column)?;
            }
        }
        Ok(Self { rows })
    }

    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// Weights and consistency (`[CLBP]` (4.14) to (4.17)).
    pub fn analyse(&self, random_index: &RandomIndex) -> Analysis {
        let size = self.size();
        let means = self.rows.iter().map(|row| {
            let logarithms: f64 = row.iter().map(|judgement| judgement.ln()).sum();
            (logarithms / size).exp()
        });
        let means: Vec<f64> = means.collect();
        let total: f64 = means.iter().sum();
        let weights: Vec<f64> = means.iter().map(|mean| mean / total).collect();
        let ratios = self.rows.iter().zip(&weights).map(|(row, weight)| {
            let products = row.iter().zip(&weights).map(|(a, w)| a * w);
            products.sum::<f64>() / weight
        });
        let lambda_max = ratios.sum::<f64>() / size;
        let consistency_index = if self.rows.len() == 1 {
            0.0
        } else {
            (lambda_max - size) / (size - 1.0)
        };
        Analysis {
            consistency_ratio: random_index.ratio(self.rows.len(), consistency_index),
            weights,
            lambda_max,
            consistency_index,
        }
    }

    fn size(&self) -> f64 {
        self.rows.iter().map(|_| 1.0).sum()
    }
}

fn check_judgement(rows: &[Vec<f64>], row: usize, column: usize) -> Result<(), AhpError> {
    let value = rows[row][column];
    let mirrored = rows[column][row];
    let (at_row, at_column) = (row + 1, column + 1);
    if !(value > 0.0 && value.is_finite()) {
        return Err(AhpError::NotPositive {
            row: at_row,
            column: at_column,
            value,
        });
    }
    if row == column && (value - 1.0).abs() > f64::EPSILON {
        return Err(AhpError::Diagonal { row: at_row, value });
    }
    // The mirrored one may itself be refused as not positive, once its turn comes.
    if row > column && (value * mirrored - 1.0).abs() > RECIPROCAL_TOLERANCE {
        return Err(AhpError::NotReciprocal {
            row: at_row,
            column: at_column,
            value,
            mirrored,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(rows: &[&[f64]]) -> String {
        let rows = rows.iter().map(|row| row.to_vec()).collect();
        JudgementMatrix::new(rows)
            .expect_err("the matrix is wrong")
            .to_string()
    }

    #[test]
    fn refusals_name_row_and_column() {
        for (rows, message) in [
            (&[][..], "0 rows"),
            (&[&[1.0, 2.0][..]][..], "row 1 has 2 columns"),
            (&[&[1.0, 2.0], &[0.5]], "row 2 has 1 columns"),
            (&[&[1.0, 0.0], &[0.5, 1.0]], "row 1, column 2: 0"),
            (&[&[1.0, 2.0], &[f64::NAN, 1.0]], "row 2, column 1: NaN"),
            (&[&[1.0, 2.0], &[0.5, 2.0]], "row 2, column 2: 2"),
            (&[&[1.0, 2.0], &[0.4, 1.0]], "row 2, column 1: 0.4"),
        ] {
            let refused = refusal(rows);
            assert!(refused.contains(message), "{refused} / {message}");
        }
        assert!(JudgementMatrix::new(vec![vec![1.0; 16]; 16]).is_err());
    }

    #[test]
    fn judgements_written_with_few_digits_are_reciprocal() {
        let rows = vec![
            vec![1.0, 3.0, 7.0],
            vec![0.333, 1.0, 2.0],
            vec![0.143, 0.5, 1.0],
        ];
        assert!(JudgementMatrix::new(rows).is_ok());
    }

    #[test]
    fn contradictions_are_refused_from_three_rows_on() {
        let circle = vec![
            vec![1.0, 9.0, 1.0 / 9.0],
            vec![1.0 / 9.0, 1.0, 9.0],
            vec![9.0, 1.0 / 9.0, 1.0],
        ];
        let circle = JudgementMatrix::new(circle).unwrap();
        let refused = circle.analyse(&RandomIndex::saaty());
        assert!(matches!(
            refused.accept(),
            Err(AhpError::Inconsistent { ratio }) if ratio > 1.0
        ));
        let pair = JudgementMatrix::new(vec![vec![1.0, 9.0], vec![1.0 / 9.0, 1.0]]).unwrap();
        assert_eq!(
            pair.analyse(&RandomIndex::saaty()).accept().unwrap().len(),
            2
        );
        let one = JudgementMatrix::new(vec![vec![1.0]]).unwrap();
        assert_eq!(one.analyse(&RandomIndex::saaty()).accept(), Ok(&[1.0][..]));
    }

    proptest! {
        #[test]
        fn consistent_judgements_give_back_their_weights(
            weights in prop::collection::vec(0.01_f64..1.0, 1..=MAX_SIZE)
        ) {
            let total: f64 = weights.iter().sum();
            let rows = weights.iter().map(|a| weights.iter().map(|b| a / b).collect());
            let matrix = JudgementMatrix::new(rows.collect()).unwrap();
            let analysis = matrix.analyse(&RandomIndex::thesis());
            for (found, weight) in analysis.accept().unwrap().iter().zip(&weights) {
                prop_assert!((found - weight / total).abs() < 1e-12);
            }
        }
    }
}
