//! The order of an ARIMA model: differences by the KPSS test, the rest step by step by AICc. The
//! search is that of Hyndman and Khandakar (`[Hyndman]`), as in `auto.arima` of R and `AutoARIMA`
//! of statsforecast: from four simple models to a better neighbour, until none is better. Models
//! that hardly return to a mean or are hardly invertible are left out. If the best model without
//! differences hardly returns to a mean, first differences replace a worse model, whatever the test
//! says: loads that follow the day return to their mean within the window but hardly from step to
//! step.

use evenkeel_units::count_as_f64;

use super::arma::MOST;
use super::estimate::{ArimaEstimate, Differences, differenced};

const MOST_DIFFERENCES: usize = 2;
const MOST_MODELS: usize = 94;
/// The level statistic above which a series is not stationary, at 5 % (`[KPSS]`, table 1).
const NOT_STATIONARY: f64 = 0.463;

/// As changes of p and q, in the order of trial.
const NEIGHBOURS: [(isize, isize); 8] = [
    (-1, 0),
    (0, -1),
    (1, 0),
    (0, 1),
    (-1, -1),
    (-1, 1),
    (1, -1),
    (1, 1),
];

/// The model of the best order, with its differences; `None` of fewer than two values.
pub(super) fn select(values: &[f64]) -> Option<(ArimaEstimate, Differences)> {
    let d = differences(values);
    let (found, differences) = search(values, d)?;
    if d == 0 && found.persistent < found.best.aicc() {
        let (found, differences) = search(values, 1)?;
        return Some((found.best, differences));
    }
    Some((found.best, differences))
}

struct OrderSearchResult {
    best: ArimaEstimate,
    /// The least AICc among models that were left out because they hardly return to a mean.
    persistent: f64,
}

/// The best model of the `d`-th differences.
fn search(values: &[f64], d: usize) -> Option<(OrderSearchResult, Differences)> {
    let differences = Differences::new(values, d)?;
    let white = differences.white();
    if white.variance <= 0.0 {
        let found = OrderSearchResult {
            best: white,
            persistent: f64::INFINITY,
        };
        return Some((found, differences));
    }
    let mut search = Search {
        differences: &differences,
        may_have_mean: d < 2,
        best: white,
        persistent: f64::INFINITY,
        tried: Vec::new(),
    };
    let mean = search.may_have_mean;
    for (p, q, has_mean) in [
        (2, 2, mean),
        (0, 0, mean),
        (1, 0, mean),
        (0, 1, mean),
        (0, 0, false),
    ] {
        search.attempt(p, q, has_mean);
    }
    while search.improve() {}
    let Search {
        best, persistent, ..
    } = search;
    Some((OrderSearchResult { best, persistent }, differences))
}

struct Search<'a> {
    differences: &'a Differences,
    may_have_mean: bool,
    best: ArimaEstimate,
    persistent: f64,
    tried: Vec<(usize, usize, bool)>,
}

impl Search<'_> {
    /// Moves to a neighbour that is better than the best so far; false if there is none.
    fn improve(&mut self) -> bool {
        let order = self.best.order;
        for (more_p, more_q) in NEIGHBOURS {
            let p = order.p.checked_add_signed(more_p);
            let q = order.q.checked_add_signed(more_q);
            let (Some(p), Some(q)) = (p, q) else { continue };
            if self.attempt(p, q, order.has_mean) {
                return true;
            }
        }
        self.attempt(order.p, order.q, !order.has_mean)
    }

    /// Estimates a model once; true where it is the best so far.
    fn attempt(&mut self, p: usize, q: usize, has_mean: bool) -> bool {
        let wanted = (p, q, has_mean);
        let is_new = !self.tried.contains(&wanted) && self.tried.len() < MOST_MODELS;
        if !is_new || p > MOST || q > MOST || (has_mean && !self.may_have_mean) {
            return false;
        }
        self.tried.push(wanted);
        let estimate = self.differences.estimate(p, q, has_mean);
        let Some(estimate) = estimate else {
            return false;
        };
        if estimate.process.is_hardly_stationary() {
            self.persistent = self.persistent.min(estimate.aicc());
            return false;
        }
        if estimate.process.is_hardly_invertible() {
            return false;
        }
        let is_better = estimate.aicc() < self.best.aicc();
        if is_better {
            self.best = estimate;
        }
        is_better
    }
}

/// The least number, at most two, after which the level is stationary.
fn differences(values: &[f64]) -> usize {
    let mut d = 0;
    while d < MOST_DIFFERENCES {
        let series = differenced(values, d);
        if series.len() < 10 || kpss(&series) <= NOT_STATIONARY {
            break;
        }
        d += 1;
    }
    d
}

/// The statistic of Kwiatkowski, Phillips, Schmidt and Shin for a stationary level, with Bartlett's
/// weights over 3 √n / 13 lags; 0 of a series that does not vary.
fn kpss(values: &[f64]) -> f64 {
    let n = count_as_f64(values.len());
    let mean = values.iter().sum::<f64>() / n;
    let left: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let mut sum = 0.0;
    let partial = left.iter().map(|one| {
        sum += one;
        sum * sum
    });
    let eta = partial.sum::<f64>() / (n * n);
    let covariance = |lag: usize| {
        let pairs = left.iter().zip(&left[lag..]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / n
    };
    let lags = (1..values.len()).take_while(|&lag| count_as_f64(lag) <= 3.0 * n.sqrt() / 13.0);
    let lags: Vec<usize> = lags.collect();
    let window = count_as_f64(lags.len() + 1);
    let weighted = lags.into_iter().map(|lag| {
        let weight = 1.0 - count_as_f64(lag) / window;
        2.0 * weight * covariance(lag)
    });
    let variance = covariance(0) + weighted.sum::<f64>();
    if variance > 0.0 { eta / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::normal as noise;

    #[test]
    fn a_level_needs_no_difference_and_a_random_walk_one() {
        let steps = noise(3, 600);
        assert_eq!(differences(&steps), 0);
        let mut level = 0.0;
        let walk: Vec<f64> = steps
            .iter()
            .map(|step| {
                level += step;
                level
            })
            .collect();
        assert_eq!(differences(&walk), 1);
        let mut slope = 0.0;
        let twice: Vec<f64> = walk
            .iter()
            .map(|step| {
                slope += step;
                slope
            })
            .collect();
        assert_eq!(differences(&twice), 2);
        assert_eq!(differences(&[5.0; 100]), 0);
    }

    #[test]
    fn the_order_of_a_process_is_found() {
        let innovations = noise(11, 1500);
        let mut values = vec![0.0, 0.0];
        for innovation in innovations {
            let [.., before, last] = values[..] else {
                unreachable!()
            };
            values.push(0.9 * last - 0.5 * before + innovation);
        }
        let (found, _) = select(&values).unwrap();
        assert_eq!(
            (found.order.p, found.order.d, found.order.q),
            (2, 0, 0),
            "{found:?}"
        );
        assert!((found.ar()[0] - 0.9).abs() < 0.08 && (found.ar()[1] + 0.5).abs() < 0.08);
        assert!(found.aic() < found.aicc() && found.aicc() < found.sc());
    }

    #[test]
    fn a_load_that_hardly_returns_to_its_mean_is_differenced() {
        let day = |index: i32| (f64::from(index) / 288.0 * std::f64::consts::TAU).cos();
        let slow: Vec<f64> = (0..)
            .zip(noise(8, 1152))
            .map(|(index, noise)| 100.0 + 40.0 * day(index) + 0.5 * noise)
            .collect();
        assert_eq!(differences(&slow), 0, "by the test alone");
        let (found, _) = select(&slow).unwrap();
        assert_eq!(found.order.d, 1, "{found:?}");
    }

    #[test]
    fn a_series_that_does_not_vary_is_its_own_model() {
        let (flat, _) = select(&[7.0; 200]).unwrap();
        assert_eq!((flat.mean, flat.variance, flat.order.p), (7.0, 0.0, 0));
        assert_eq!(select(&[]).map(|(found, _)| found), None);
    }
}
