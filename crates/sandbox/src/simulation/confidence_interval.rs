//! The mean over the runs of several seeds, with its confidence interval.

use evenkeel_units::count_as_f64;
use serde::Serialize;

/// With half of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeanEstimate {
    pub mean: f64,
    /// By Student's distribution; `None` for a single value.
    pub margin95: Option<f64>,
}

/// Student's t for 95 % on both sides, by degrees of freedom from 1.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// Normal distribution, and the first term by which Student's is wider.
const NORMAL: f64 = 1.960;
const WIDER: f64 = 2.372;

impl MeanEstimate {
    /// Mean of independent values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = count_as_f64(values.len());
        let mean = values.iter().sum::<f64>() / count;
        let freedom = values.len().checked_sub(1)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let margin = |freedom: usize| {
            let error = (squares / count_as_f64(freedom) / count).sqrt();
            student(freedom) * error
        };
        Some(Self {
            mean,
            margin95: (freedom > 0).then(|| margin(freedom)),
        })
    }

    /// In another unit.
    pub fn times(self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            margin95: self.margin95.map(|margin| margin * factor),
        }
    }
}

fn student(freedom: usize) -> f64 {
    let known = freedom.checked_sub(1).and_then(|at| STUDENT.get(at));
    known
        .copied()
        .unwrap_or_else(|| NORMAL + WIDER / count_as_f64(freedom))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_students_of_the_standard_error() {
        assert_eq!(MeanEstimate::of(&[]), None);
        let one = MeanEstimate::of(&[3.0]).unwrap();
        assert!((one.mean - 3.0).abs() < 1e-12 && one.margin95.is_none());
        // Deviation 1, three values: 4.303 / sqrt 3.
        let three = MeanEstimate::of(&[1.0, 2.0, 3.0]).unwrap();
        assert!((three.mean - 2.0).abs() < 1e-12);
        assert!((three.margin95.unwrap() - 2.484).abs() < 1e-3);
    }

    #[test]
    fn beyond_the_table_students_goes_on_towards_the_normal() {
        assert!((student(40) - 2.021).abs() < 2e-3);
        assert!((student(100) - 1.984).abs() < 1e-3);
        assert!(student(31) < STUDENT[29]);
    }
}
