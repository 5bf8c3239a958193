//! The parameters of an ARIMA model of a given order, by exact maximum likelihood. The best mean
//! and variance follow from φ and θ, so only these are searched for. The search starts from the
//! regression of Hannan and Rissanen (`[Hannan]`) and from white noise, because likelihoods have
//! several maxima.

use evenkeel_units::count_as_f64;

use super::arma::Arma;
use super::filter::{ArmaState, Filter};
use super::linear::least_squares;
use crate::minimizer::minimise;

/// An order: p autoregressive and q moving-average coefficients of the d-th differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub p: usize,
    pub d: usize,
    pub q: usize,
    /// Mean of the differences other than 0; of first differences it is called drift.
    pub has_mean: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArimaEstimate {
    pub order: Order,
    pub(super) process: Arma,
    /// The mean of the differences; 0 without one.
    pub mean: f64,
    pub variance: f64,
    pub log_likelihood: f64,
    pub differences: usize,
}

impl ArimaEstimate {
    /// φ
    pub fn ar(&self) -> &[f64] {
        &self.process.ar
    }

    /// θ, with the sign of w_t = … + ε_t + θ ε_{t−1}
    pub fn ma(&self) -> &[f64] {
        &self.process.ma
    }

    /// Estimated parameters, the variance included.
    fn parameters(&self) -> f64 {
        let Order { p, q, has_mean, .. } = self.order;
        count_as_f64(p + q + usize::from(has_mean) + 1)
    }

    /// Akaike's criterion, `[CLBP] (3.3)`.
    pub fn aic(&self) -> f64 {
        2.0 * self.parameters() - 2.0 * self.log_likelihood
    }

    /// The same corrected for few observations (`[Hyndman]`); infinite where there are too few.
    pub fn aicc(&self) -> f64 {
        let (k, n) = (self.parameters(), count_as_f64(self.differences));
        if n <= k + 1.0 {
            return f64::INFINITY;
        }
        self.aic() + 2.0 * k * (k + 1.0) / (n - k - 1.0)
    }

    /// Schwarz' criterion, `[CLBP] (3.4)`.
    pub fn sc(&self) -> f64 {
        let n = count_as_f64(self.differences);
        self.parameters() * n.ln() - 2.0 * self.log_likelihood
    }

    /// Innovations over their standard deviations.
    pub(super) fn residuals(&self, differences: &[f64]) -> Vec<f64> {
        let Some(mut filter) = Filter::new(&self.process) else {
            return Vec::new();
        };
        let mut state = ArmaState::default();
        let mut next = |value: &f64| {
            let innovation = value - self.mean - state[0];
            let residual = innovation / filter.variance().sqrt();
            filter.lead(&mut state, innovation);
            filter.step();
            residual
        };
        differences.iter().map(&mut next).collect()
    }
}

/// The differences of a series, with the starting values of all estimations on them.
#[derive(Debug, Clone)]
pub(super) struct Differences {
    d: usize,
    values: Vec<f64>,
    mean: f64,
    /// The values less their mean.
    centred: Vec<f64>,
    /// Approximate innovations, by a long autoregression.
    innovations: Vec<f64>,
}

/// Lags of the long autoregression.
const LONG: usize = 20;

impl Differences {
    /// `None` where there are none.
    pub(super) fn new(values: &[f64], d: usize) -> Option<Self> {
        let values = differenced(values, d);
        let mean = values.iter().sum::<f64>() / count_as_f64(values.len());
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        mean.is_finite().then(|| Self {
            d,
            innovations: innovations(&centred),
            values,
            mean,
            centred,
        })
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The model without coefficients; its variance is 0 where the differences do not vary.
    pub(super) fn white(&self) -> ArimaEstimate {
        let order = Order {
            p: 0,
            d: self.d,
            q: 0,
            has_mean: true,
        };
        let likelihood = self.likelihood(&Arma::default(), true);
        let (_, variance, log_likelihood) = likelihood.unwrap_or((0.0, 0.0, f64::INFINITY));
        ArimaEstimate {
            order,
            process: Arma::default(),
            mean: self.mean,
            variance,
            log_likelihood,
            differences: self.values.len(),
        }
    }

    /// The likeliest model of so many coefficients; `None` where the likelihood cannot be computed.
    pub(super) fn estimate(&self, p: usize, q: usize, has_mean: bool) -> Option<ArimaEstimate> {
        let cost = |free: &[f64]| {
            let likelihood = self.likelihood(&Arma::at(free, p), has_mean);
            // Per difference, so that steps and slopes are of one size.
            likelihood.map_or(f64::INFINITY, |(_, _, logarithm)| {
                -logarithm / count_as_f64(self.values.len())
            })
        };
        let white = vec![0.0; p + q];
        let regressed = self.regressed(p, q).map(|process| process.free());
        let starts = regressed.into_iter().chain([white]);
        let found = starts.map(|start| minimise(cost, &start));
        let (place, _) = found.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let process = Arma::at(&place, p);
        let (offset, variance, log_likelihood) = self.likelihood(&process, has_mean)?;
        Some(ArimaEstimate {
            order: Order {
                p,
                d: self.d,
                q,
                has_mean,
            },
            process,
            mean: if has_mean { self.mean + offset } else { 0.0 },
            variance,
            log_likelihood,
            differences: self.values.len(),
        })
    }

    /// The best mean of a process (relative to the mean of the values), its best variance, and
    /// their log-likelihood. `None` if the values do not vary or the process is not stationary.
    fn likelihood(&self, process: &Arma, has_mean: bool) -> Option<(f64, f64, f64)> {
        let mut filter = Filter::new(process)?;
        let (mut state, mut level) = (ArmaState::default(), ArmaState::default());
        let (mut squares, mut cross, mut ones) = (0.0, 0.0, 0.0);
        let mut determinant = Logarithm::default();
        let values = if has_mean {
            &self.centred
        } else {
            &self.values
        };
        for value in values {
            let variance = filter.variance();
            if variance.is_nan() || variance <= 0.0 {
                return None;
            }
            let innovation = value - state[0];
            squares += innovation * innovation / variance;
            filter.lead(&mut state, innovation);
            if has_mean {
                let seen = 1.0 - level[0];
                cross += innovation * seen / variance;
                ones += seen * seen / variance;
                filter.lead(&mut level, seen);
            }
            determinant.times(variance);
            filter.step();
        }
        let offset = if ones > 0.0 { cross / ones } else { 0.0 };
        let n = count_as_f64(values.len());
        let variance = (squares - offset * cross) / n;
        let around = 1.0 + (std::f64::consts::TAU * variance).ln();
        let logarithm = -0.5 * (n * around + determinant.value());
        (variance > 0.0 && logarithm.is_finite()).then_some((offset, variance, logarithm))
    }

    /// The regression of Hannan and Rissanen on past values and approximate innovations.
    fn regressed(&self, p: usize, q: usize) -> Option<Arma> {
        let begins = LONG.min(self.centred.len() / 4) + p.max(q);
        let lagged = |of: &[f64], lag: usize| of[begins - lag..of.len() - lag].to_vec();
        if begins + 2 * (p + q) >= self.centred.len() {
            return None;
        }
        let ar = (1..=p).map(|lag| lagged(&self.centred, lag));
        let ma = (1..=q).map(|lag| lagged(&self.innovations, lag));
        let columns: Vec<_> = ar.chain(ma).collect();
        let mut ar = least_squares(&columns, &self.centred[begins..])?;
        let ma = ar.split_off(p);
        Some(Arma { ar, ma })
    }
}

/// The logarithm of a product of many factors, taken rarely because it is slow.
struct Logarithm {
    taken: f64,
    product: f64,
}

impl Default for Logarithm {
    fn default() -> Self {
        Self {
            taken: 0.0,
            product: 1.0,
        }
    }
}

impl Logarithm {
    fn times(&mut self, factor: f64) {
        self.product *= factor;
        if !(1e-100..1e100).contains(&self.product) {
            self.taken += self.product.ln();
            self.product = 1.0;
        }
    }

    fn value(&self) -> f64 {
        self.taken + self.product.ln()
    }
}

pub(super) fn differenced(values: &[f64], times: usize) -> Vec<f64> {
    let mut values = values.to_vec();
    for _ in 0..times {
        values = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    values
}

/// The residuals of centred values after a long autoregression (Levinson-Durbin recursion).
fn innovations(centred: &[f64]) -> Vec<f64> {
    let lags = LONG.min(centred.len() / 4);
    let covariance = |lag: usize| {
        let pairs = centred.iter().zip(&centred[lag..]);
        pairs.map(|(a, b)| a * b).sum::<f64>()
    };
    let gamma: Vec<f64> = (0..=lags).map(covariance).collect();
    let (mut ar, mut left): (Vec<f64>, f64) = (Vec::new(), gamma[0]);
    for lag in 1..=lags {
        if left <= gamma[0] * 1e-12 {
            break;
        }
        let known = ar.iter().zip(gamma[1..lag].iter().rev());
        let partial = (gamma[lag] - known.map(|(ar, gamma)| ar * gamma).sum::<f64>()) / left;
        let before = ar.clone();
        for (one, mirrored) in ar.iter_mut().zip(before.iter().rev()) {
            *one -= partial * mirrored;
        }
        ar.push(partial);
        left *= 1.0 - partial * partial;
    }
    let innovation = |index: usize| {
        let before = centred[..index].iter().rev().zip(&ar);
        centred[index] - before.map(|(value, ar)| value * ar).sum::<f64>()
    };
    (0..centred.len()).map(innovation).collect()
}
