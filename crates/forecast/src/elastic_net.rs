//! ElasticNet: least squares with a penalty on the sizes and the squares of the coefficients. It
//! minimises 1/(2n) |y − Xw − b|² + α ρ |w|₁ + ½ α (1 − ρ) |w|₂² without a penalty on b (the
//! objective of scikit-learn) by coordinate descent [FHT], which needs only means and products
//! ([`Moments`]), gathered row by row. Crates for this bring random generators and matrix
//! libraries.

use evenkeel_units::count_as_f64;

/// Most passes over all coefficients.
const ROUNDS: usize = 100_000;
/// Settled below this change of the prediction, in standard deviations of the outcomes.
const SETTLED: f64 = 1e-12;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElasticNet {
    /// α: strength of the penalty; 0 is least squares.
    pub alpha: f64,
    /// ρ, from 0 to 1: the share of the penalty on sizes, which sets weak coefficients to 0.
    pub l1_ratio: f64,
    pub positive: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LinearFunction {
    pub coefficients: Vec<f64>,
    pub intercept: f64,
}

/// Means and products of the rows so far; all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    count: usize,
    means: Vec<f64>,
    mean: f64,
    /// Sums of products of the columns' distances from their means, row by row.
    products: Vec<f64>,
    /// The same, columns with outcomes.
    with_outcome: Vec<f64>,
    /// Sum of squares of the outcomes' distances from their mean.
    squares: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the coefficients have not settled after {ROUNDS} rounds")]
pub struct NotSettled;

impl Moments {
    /// No rows, of `width` columns each.
    pub fn new(width: usize) -> Self {
        Self {
            count: 0,
            means: vec![0.0; width],
            mean: 0.0,
            products: vec![0.0; width * width],
            with_outcome: vec![0.0; width],
            squares: 0.0,
        }
    }

    /// Missing columns count as 0.
    pub fn push(&mut self, row: &[f64], outcome: f64) {
        self.count += 1;
        let n = count_as_f64(self.count);
        let share = (n - 1.0) / n;
        let width = self.means.len();
        let apart = |column: usize, mean: f64| row.get(column).copied().unwrap_or(0.0) - mean;
        let apart: Vec<f64> = (0..width)
            .map(|column| apart(column, self.means[column]))
            .collect();
        let beyond = outcome - self.mean;
        for (one, of_one) in apart.iter().enumerate() {
            for (other, of_other) in apart.iter().enumerate() {
                self.products[one * width + other] += of_one * of_other * share;
            }
            self.with_outcome[one] += of_one * beyond * share;
            self.means[one] += of_one / n;
        }
        self.squares += beyond * beyond * share;
        self.mean += beyond / n;
    }

    /// 0 without rows.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation of the outcomes.
    pub fn deviation(&self) -> f64 {
        self.root_of(self.squares)
    }

    /// The same rows, with columns and outcomes divided by units.
    fn counted_in(&self, units: &[f64], of_outcome: f64) -> Self {
        let mut pairs = units
            .iter()
            .flat_map(|one| units.iter().map(move |other| one * other));
        let over = |values: &[f64], units: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values
                .iter()
                .zip(units)
                .map(|(value, unit)| value / unit)
                .collect()
        };
        Self {
            count: self.count,
            means: over(&self.means, &mut units.iter().copied()),
            mean: self.mean / of_outcome,
            products: over(&self.products, &mut pairs),
            with_outcome: over(
                &self.with_outcome,
                &mut units.iter().map(|unit| unit * of_outcome),
            ),
            squares: self.squares / (of_outcome * of_outcome),
        }
    }

    /// The line with these coefficients through the means.
    fn line(&self, coefficients: Vec<f64>) -> LinearFunction {
        let told = coefficients.iter().zip(&self.means);
        let told: f64 = told.map(|(coefficient, mean)| coefficient * mean).sum();
        LinearFunction {
            intercept: self.mean - told,
            coefficients,
        }
    }

    fn deviation_of(&self, column: usize) -> f64 {
        self.root_of(self.products[column * self.means.len() + column])
    }

    fn root_of(&self, sum: f64) -> f64 {
        (sum / count_as_f64(self.count.max(1))).sqrt()
    }
}

impl ElasticNet {
    /// Coefficients for the columns in their own units.
    ///
    /// # Errors
    /// [`NotSettled`], for example of columns that are almost the same under a weak penalty.
    pub fn fit(&self, moments: &Moments) -> Result<LinearFunction, NotSettled> {
        let n = count_as_f64(moments.count.max(1));
        let width = moments.means.len();
        let product = |one: usize, other: usize| moments.products[one * width + other] / n;
        let settled = SETTLED * moments.deviation();
        let mut coefficients = vec![0.0; width];
        for _ in 0..ROUNDS {
            let mut largest = 0.0_f64;
            for one in 0..width {
                let others = (0..width).filter(|&other| other != one);
                let told = others.map(|other| product(one, other) * coefficients[other]);
                let along = moments.with_outcome[one] / n - told.sum::<f64>();
                let next = self.best(along, product(one, one));
                largest = largest.max((next - coefficients[one]).abs() * product(one, one).sqrt());
                coefficients[one] = next;
            }
            if largest <= settled {
                return Ok(moments.line(coefficients));
            }
        }
        Err(NotSettled)
    }

    /// Coefficients with columns and outcome in units of their deviations, so that units do not
    /// matter. A constant column gets 0.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn fit_in_deviations(&self, moments: &Moments) -> Result<LinearFunction, NotSettled> {
        let unit = |deviation: f64| if deviation > 0.0 { deviation } else { 1.0 };
        let columns = 0..moments.means.len();
        let units = columns.map(|column| unit(moments.deviation_of(column)));
        let units: Vec<f64> = units.collect();
        let of_outcome = unit(moments.deviation());
        let held = self.fit(&moments.counted_in(&units, of_outcome))?;
        let each = held.coefficients.iter().zip(&units);
        let coefficients = each.map(|(held, unit)| held * of_outcome / unit).collect();
        Ok(moments.line(coefficients))
    }

    /// `along` is the column's mean product with the residual of the others, `square` its mean
    /// square.
    fn best(&self, along: f64, square: f64) -> f64 {
        let whole = square + self.alpha * (1.0 - self.l1_ratio);
        if whole <= 0.0 {
            return 0.0;
        }
        let size = (along.abs() - self.alpha * self.l1_ratio).max(0.0);
        if self.positive && along < 0.0 {
            return 0.0;
        }
        size.copysign(along) / whole
    }
}

impl LinearFunction {
    pub fn at(&self, row: &[f64]) -> f64 {
        let terms = self.coefficients.iter().zip(row);
        self.intercept
            + terms
                .map(|(coefficient, value)| coefficient * value)
                .sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEAST_SQUARES: ElasticNet = ElasticNet {
        alpha: 0.0,
        l1_ratio: 0.5,
        positive: false,
    };

    /// Rows of two columns with a computed outcome.
    fn moments(outcome: impl Fn(f64, f64) -> f64) -> Moments {
        let mut moments = Moments::new(2);
        for step in 0..200_u32 {
            let one = f64::from(step * 37 % 101);
            let other = f64::from(step * 53 % 89);
            moments.push(&[one, other], outcome(one, other));
        }
        moments
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_linear_function_is_found_where_nothing_is_held() {
        let moments = moments(|one, other| 3.0 + 0.5 * one - 2.0 * other);
        for linear in [
            LEAST_SQUARES.fit(&moments).unwrap(),
            LEAST_SQUARES.fit_in_deviations(&moments).unwrap(),
        ] {
            assert_close(linear.coefficients[0], 0.5);
            assert_close(linear.coefficients[1], -2.0);
            assert_close(linear.intercept, 3.0);
            assert_close(linear.at(&[2.0, 1.0]), 2.0);
        }
    }

    #[test]
    fn what_may_not_be_negative_is_0_and_the_others_go_on_without_it() {
        let falls = moments(|one, other| 3.0 + 0.5 * one - 2.0 * other);
        let positive = ElasticNet {
            positive: true,
            ..LEAST_SQUARES
        };
        let linear = positive.fit(&falls).unwrap();
        assert_eq!(linear.coefficients[1].to_bits(), 0.0_f64.to_bits());
        let mut alone = Moments::new(1);
        for step in 0..200_u32 {
            let (one, other) = (f64::from(step * 37 % 101), f64::from(step * 53 % 89));
            alone.push(&[one], 3.0 + 0.5 * one - 2.0 * other);
        }
        let alone = LEAST_SQUARES.fit(&alone).unwrap();
        assert_close(linear.coefficients[0], alone.coefficients[0]);
        assert_close(linear.intercept, alone.intercept);
    }

    #[test]
    fn in_deviations_the_units_of_columns_do_not_matter() {
        let net = ElasticNet {
            alpha: 0.1,
            l1_ratio: 0.5,
            positive: true,
        };
        let plain = net.fit_in_deviations(&moments(|one, other| one + other));
        let mut scaled = Moments::new(2);
        for step in 0..200_u32 {
            let (one, other) = (f64::from(step * 37 % 101), f64::from(step * 53 % 89));
            scaled.push(&[one * 1e6, other], (one + other) * 1e-3);
        }
        let (plain, scaled) = (plain.unwrap(), net.fit_in_deviations(&scaled).unwrap());
        assert_close(scaled.coefficients[0] * 1e9, plain.coefficients[0]);
        assert_close(scaled.coefficients[1] * 1e3, plain.coefficients[1]);
        assert!(plain.coefficients[0] < 0.99, "it is held: {plain:?}");
    }

    #[test]
    fn a_column_that_never_moves_tells_nothing() {
        let mut moments = Moments::new(2);
        for step in 0..10_u32 {
            moments.push(&[f64::from(step), 7.0], f64::from(step) * 2.0);
        }
        let linear = LEAST_SQUARES.fit_in_deviations(&moments).unwrap();
        assert_eq!(linear.coefficients[1].to_bits(), 0.0_f64.to_bits());
        assert_close(linear.at(&[4.0, 7.0]), 8.0);
    }

    #[test]
    fn columns_that_say_the_same_share_what_they_explain() {
        let mut moments = Moments::new(2);
        for step in 0..50_u32 {
            let value = f64::from(step * 37 % 101);
            moments.push(&[value, value], value);
        }
        let net = ElasticNet {
            alpha: 1e-3,
            l1_ratio: 0.5,
            positive: true,
        };
        let linear = net.fit_in_deviations(&moments).unwrap();
        let [one, other] = linear.coefficients[..] else {
            panic!("{linear:?}")
        };
        assert!((one - other).abs() < 1e-6 && one > 0.49, "{linear:?}");
    }

    proptest! {
        /// No step away from the answer makes the objective less.
        #[test]
        fn nothing_near_it_is_better(
            rows in proptest::collection::vec((-3.0..3.0_f64, -3.0..3.0_f64, -3.0..3.0_f64), 5..30),
            alpha in 0.001..1.0_f64,
            l1_ratio in 0.0..1.0_f64,
            positive: bool,
        ) {
            let mut moments = Moments::new(2);
            for &(one, other, outcome) in &rows {
                moments.push(&[one, other], outcome);
            }
            let net = ElasticNet { alpha, l1_ratio, positive };
            let linear = net.fit(&moments).unwrap();
            let objective = |linear: &LinearFunction| {
                let errors = rows.iter().map(|&(one, other, y)| (y - linear.at(&[one, other])).powi(2));
                let sizes = linear.coefficients.iter().map(|w| w.abs()).sum::<f64>();
                let squares = linear.coefficients.iter().map(|w| w * w).sum::<f64>();
                errors.sum::<f64>() / (2.0 * count_as_f64(rows.len()))
                    + alpha * (l1_ratio * sizes + 0.5 * (1.0 - l1_ratio) * squares)
            };
            let least = objective(&linear);
            for (place, step) in [(0, 1e-3), (0, -1e-3), (1, 1e-3), (1, -1e-3)] {
                let mut near = linear.clone();
                near.coefficients[place] += step;
                if !positive || near.coefficients[place] >= 0.0 {
                    prop_assert!(objective(&near) >= least - 1e-12);
                }
            }
        }
    }
}
