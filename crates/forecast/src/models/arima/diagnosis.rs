//! Tests of the residuals of a model: they should be normal noise of even spread without memory
//! (`[CLBP]` 3.3.1, step 5).

use std::fmt;

use evenkeel_units::count_as_f64;

use super::linear::least_squares;

/// p-values under the hypothesis that the residuals are such noise. A small one speaks against the
/// model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnosis {
    /// No autocorrelation over ten lags (`[Ljung]`).
    pub ljung_box: f64,
    /// A normal distribution, by skewness and kurtosis (`[Jarque]`).
    pub jarque_bera: f64,
    /// An even spread: squares do not follow from the five before them (`[Engle]`).
    pub arch: f64,
}

/// A test fails at a smaller p-value.
const SIGNIFICANCE: f64 = 0.05;
/// Lags of the first and of the last test.
const LAGS: usize = 10;
const SPREAD_LAGS: usize = 5;

impl Diagnosis {
    /// `coefficients` is their number in the model; `None` if there are too few residuals.
    pub(super) fn of(residuals: &[f64], coefficients: usize) -> Option<Self> {
        if residuals.len() < 4 * LAGS {
            return None;
        }
        Some(Self {
            ljung_box: ljung_box(residuals, coefficients),
            jarque_bera: jarque_bera(residuals),
            arch: arch(residuals)?,
        })
    }

    /// True if no test fails.
    pub(super) fn passes(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The findings of the failed tests.
    fn failed(&self) -> impl Iterator<Item = &'static str> {
        let found = [
            (self.ljung_box, "autocorrelation"),
            (self.jarque_bera, "no normal distribution"),
            (self.arch, "uneven spread"),
        ];
        let failed = found
            .into_iter()
            .filter(|(p, _)| p.is_nan() || *p < SIGNIFICANCE);
        failed.map(|(_, what)| what)
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ljung_box,
            jarque_bera,
            arch,
        } = self;
        write!(
            f,
            "p {ljung_box:.2} no autocorrelation (Ljung-Box), {jarque_bera:.2} normal (Jarque-Bera), \
             {arch:.2} even spread (ARCH-LM): "
        )?;
        if self.passes() {
            return f.write_str("passed");
        }
        let failed: Vec<&str> = self.failed().collect();
        write!(f, "failed ({})", failed.join(", "))
    }
}

fn ljung_box(residuals: &[f64], coefficients: usize) -> f64 {
    let n = count_as_f64(residuals.len());
    let lags = LAGS.max(coefficients + 3);
    let square: f64 = residuals.iter().map(|one| one * one).sum();
    let term = |lag: usize| {
        let pairs = residuals.iter().zip(&residuals[lag..]);
        let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / square;
        correlation * correlation / (n - count_as_f64(lag))
    };
    let statistic = n * (n + 2.0) * (1..=lags).map(term).sum::<f64>();
    chi_squared_above(statistic, lags - coefficients)
}

fn jarque_bera(residuals: &[f64]) -> f64 {
    let n = count_as_f64(residuals.len());
    let mean = residuals.iter().sum::<f64>() / n;
    let moment = |power: i32| {
        residuals
            .iter()
            .map(|one| (one - mean).powi(power))
            .sum::<f64>()
            / n
    };
    let spread = moment(2);
    let (skewness, kurtosis) = (moment(3) / spread.powf(1.5), moment(4) / (spread * spread));
    let statistic = n / 6.0 * (skewness * skewness + (kurtosis - 3.0).powi(2) / 4.0);
    chi_squared_above(statistic, 2)
}

fn arch(residuals: &[f64]) -> Option<f64> {
    let squares: Vec<f64> = residuals.iter().map(|one| one * one).collect();
    let target = &squares[SPREAD_LAGS..];
    let lag = |lag: usize| squares[SPREAD_LAGS - lag..squares.len() - lag].to_vec();
    let mut columns = vec![vec![1.0; target.len()]];
    columns.extend((1..=SPREAD_LAGS).map(lag));
    let found = least_squares(&columns, target)?;
    let n = count_as_f64(target.len());
    let mean = target.iter().sum::<f64>() / n;
    let (mut left, mut all) = (0.0, 0.0);
    for (index, value) in target.iter().enumerate() {
        let told = found
            .iter()
            .zip(&columns)
            .map(|(one, column)| one * column[index]);
        left += (value - told.sum::<f64>()).powi(2);
        all += (value - mean).powi(2);
    }
    Some(chi_squared_above(
        n * (1.0 - left / all).max(0.0),
        SPREAD_LAGS,
    ))
}

/// The upper tail of the chi-squared distribution, 1 − P(a, x): by the series of P below a + 1, by
/// the continued fraction of 1 − P above.
fn chi_squared_above(value: f64, degrees: usize) -> f64 {
    let (a, x) = (count_as_f64(degrees) / 2.0, value / 2.0);
    if x.is_nan() || x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - logarithm_of_gamma(degrees)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut over) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            over += 1.0;
            term *= x / over;
            sum += term;
        }
        return (1.0 - front * sum).max(0.0);
    }
    // Lentz' method.
    let mut below = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / below);
    let mut fraction = d;
    for step in 1..500_i32 {
        let step = f64::from(step);
        let above = -step * (step - a);
        below += 2.0;
        d = 1.0 / (above * d + below);
        c = below + above / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// ln Γ(degrees / 2), from Γ(1/2) = √π and Γ(1) = 1.
fn logarithm_of_gamma(degrees: usize) -> f64 {
    let start = if degrees.is_multiple_of(2) {
        0.0
    } else {
        0.5 * std::f64::consts::PI.ln()
    };
    let first = if degrees.is_multiple_of(2) { 2 } else { 1 };
    let factors = (first..degrees).step_by(2);
    start
        + factors
            .map(|half| (count_as_f64(half) / 2.0).ln())
            .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::normal as noise;

    #[test]
    fn the_tail_of_chi_squared_is_that_of_tables() {
        for (value, degrees, above) in [
            (3.841_458_820_694_124, 1, 0.05),
            (5.991_464_547_107_979, 2, 0.05),
            (18.307_038_053_275_146, 10, 0.05),
            (2.558_212_186_120_433, 10, 0.99),
            (23.209_251_158_954_356, 10, 0.01),
        ] {
            let found = chi_squared_above(value, degrees);
            assert!((found - above).abs() < 1e-9, "{value} {degrees}: {found}");
        }
    }

    #[test]
    fn noise_passes_and_each_fault_is_told() {
        let normal: Vec<f64> = noise(5, 2000);
        let good = Diagnosis::of(&normal, 0).unwrap();
        assert!(
            good.ljung_box > 0.01 && good.jarque_bera > 0.01 && good.arch > 0.01,
            "{good:?}"
        );
        let remembered: Vec<f64> = normal
            .windows(2)
            .map(|pair| pair[1] + 0.3 * pair[0])
            .collect();
        assert!(Diagnosis::of(&remembered, 0).unwrap().ljung_box < 1e-6);
        let skewed: Vec<f64> = normal.iter().map(|one| one.exp()).collect();
        assert!(Diagnosis::of(&skewed, 0).unwrap().jarque_bera < 1e-6);
        let spread = |index: usize| if index % 200 < 100 { 0.2 } else { 2.0 };
        let uneven = normal
            .iter()
            .enumerate()
            .map(|(index, one)| one * spread(index));
        assert!(Diagnosis::of(&uneven.collect::<Vec<_>>(), 0).unwrap().arch < 1e-6);
        assert_eq!(Diagnosis::of(&normal[..30], 0), None);
    }
}
