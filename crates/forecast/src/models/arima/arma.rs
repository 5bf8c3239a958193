//! Coefficients of a stationary and invertible ARMA process. The optimiser moves free numbers. Each
//! gives a partial autocorrelation between −1 and 1, and these give the coefficients (`[Monahan]`),
//! so that it visits no other process.

pub(super) const MOST: usize = 5;
/// A root nearer to the origin than this counts as one on the unit circle.
const NEAR: f64 = 1.01;

/// w_t = Σ φ_i w_{t−i} + ε_t + Σ θ_j ε_{t−j}
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Arma {
    /// φ
    pub(super) ar: Vec<f64>,
    /// θ
    pub(super) ma: Vec<f64>,
}

impl Arma {
    /// The process at a point of the optimiser, `p` numbers for φ and the others for θ.
    pub(super) fn at(free: &[f64], p: usize) -> Self {
        let (ar, ma) = free.split_at(p);
        let partial = |free: &[f64]| {
            let inside = |free: &f64| free / (1.0 + free * free).sqrt();
            free.iter().map(inside).collect::<Vec<_>>()
        };
        let negative = |coefficients: Vec<f64>| coefficients.into_iter().map(|one| -one);
        Self {
            ar: coefficients(&partial(ar)),
            ma: negative(coefficients(&partial(ma))).collect(),
        }
    }

    /// The point of this process, or of the nearest one towards white noise that has one.
    pub(super) fn free(&self) -> Vec<f64> {
        let negative: Vec<f64> = self.ma.iter().map(|one| -one).collect();
        let [ar, ma] = [&self.ar, &negative].map(|coefficients| {
            let mut shrunk = coefficients.clone();
            loop {
                let inside = partial_autocorrelations(&shrunk);
                let held = |partial: &Vec<f64>| partial.iter().all(|one| one.abs() < 0.98);
                if let Some(partial) = inside.filter(held) {
                    break partial;
                }
                shrunk = scaled(&shrunk, 0.9);
            }
        });
        let free = |partial: f64| partial / (1.0 - partial * partial).sqrt();
        ar.into_iter().chain(ma).map(free).collect()
    }

    /// A root of the autoregressive polynomial is near the unit circle: the process hardly returns
    /// to its mean.
    pub(super) fn is_hardly_stationary(&self) -> bool {
        partial_autocorrelations(&scaled(&self.ar, NEAR)).is_none()
    }

    /// The same of the moving-average polynomial: the process was differenced too often, or its
    /// parts nearly cancel.
    pub(super) fn is_hardly_invertible(&self) -> bool {
        let negative: Vec<f64> = self.ma.iter().map(|one| -one).collect();
        partial_autocorrelations(&scaled(&negative, NEAR)).is_none()
    }

    /// The weights ψ of the innovations of now and of the `count` − 1 steps before.
    pub(super) fn weights(&self, count: usize) -> Vec<f64> {
        let mut weights: Vec<f64> = Vec::with_capacity(count);
        for lag in 0..count {
            let own = match lag {
                0 => 1.0,
                _ => self.ma.get(lag - 1).copied().unwrap_or_default(),
            };
            let before = weights.iter().rev().zip(&self.ar);
            weights.push(own + before.map(|(weight, ar)| weight * ar).sum::<f64>());
        }
        weights
    }

    /// For lags 0 to `lags`, with innovations of variance 1; `None` where the process is not
    /// stationary.
    pub(super) fn autocovariances(&self, lags: usize) -> Option<Vec<f64>> {
        let p = self.ar.len();
        let weights = self.weights(self.ma.len() + 1);
        let theta = |lag: usize| match lag {
            0 => 1.0,
            _ => self.ma[lag - 1],
        };
        let noise = |lag: usize| {
            let later = (lag..=self.ma.len()).map(|at| theta(at) * weights[at - lag]);
            later.sum::<f64>()
        };
        let mut matrix = vec![vec![0.0; p + 1]; p + 1];
        for (lag, row) in matrix.iter_mut().enumerate() {
            row[lag] += 1.0;
            for (before, ar) in (1..).zip(&self.ar) {
                row[lag.abs_diff(before)] -= ar;
            }
        }
        let mut known = super::linear::solve(matrix, (0..=p).map(noise).collect())?;
        for lag in p + 1..=lags {
            let before = known.iter().rev().zip(&self.ar);
            let next = before.map(|(gamma, ar)| gamma * ar).sum::<f64>() + noise(lag);
            known.push(next);
        }
        known.truncate(lags + 1);
        known[0].is_finite().then_some(known)
    }
}

/// The coefficients with all roots moved nearer to the origin by `factor`.
fn scaled(coefficients: &[f64], factor: f64) -> Vec<f64> {
    let powers = std::iter::successors(Some(factor), |power| Some(power * factor));
    coefficients
        .iter()
        .zip(powers)
        .map(|(one, power)| one * power)
        .collect()
}

/// Levinson's and Durbin's recursion.
fn coefficients(partial: &[f64]) -> Vec<f64> {
    let mut known: Vec<f64> = Vec::with_capacity(partial.len());
    for &next in partial {
        let before = known.clone();
        for (one, mirrored) in known.iter_mut().zip(before.iter().rev()) {
            *one -= next * mirrored;
        }
        known.push(next);
    }
    known
}

/// The inverse; `None` where no stationary process has the coefficients.
fn partial_autocorrelations(coefficients: &[f64]) -> Option<Vec<f64>> {
    let mut known = coefficients.to_vec();
    let mut partial = vec![0.0; known.len()];
    while let Some(last) = known.pop() {
        if last.abs() >= 1.0 || !last.is_finite() {
            return None;
        }
        partial[known.len()] = last;
        let before = known.clone();
        for (one, mirrored) in known.iter_mut().zip(before.iter().rev()) {
            *one = (*one + last * mirrored) / (1.0 - last * last);
        }
    }
    Some(partial)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arma(ar: &[f64], ma: &[f64]) -> Arma {
        Arma {
            ar: ar.to_vec(),
            ma: ma.to_vec(),
        }
    }

    #[test]
    fn a_process_and_its_point_belong_together() {
        let process = arma(&[0.5, -0.3, 0.1], &[0.4, 0.2]);
        let again = Arma::at(&process.free(), 3);
        let pairs = process.ar.iter().zip(&again.ar);
        for (expected, found) in pairs.chain(process.ma.iter().zip(&again.ma)) {
            assert!((expected - found).abs() < 1e-12, "{again:?}");
        }
        // An explosive process has no such point; a calmer one near it has.
        assert!(arma(&[1.4], &[]).free()[0].is_finite());
    }

    #[test]
    fn roots_near_the_unit_circle_are_told() {
        assert!(arma(&[0.995], &[]).is_hardly_stationary());
        assert!(arma(&[], &[-0.995]).is_hardly_invertible());
        let calm = arma(&[0.98], &[0.9]);
        assert!(!calm.is_hardly_stationary() && !calm.is_hardly_invertible());
    }

    #[test]
    fn autocovariances_are_those_of_the_textbook() {
        // AR(1): 1 / (1 − φ²) and φ times that; MA(1): 1 + θ², θ, 0.
        let found = arma(&[0.6], &[]).autocovariances(2).unwrap();
        for (found, expected) in found.iter().zip([1.5625, 0.9375, 0.5625]) {
            assert!((found - expected).abs() < 1e-12);
        }
        let found = arma(&[], &[0.5]).autocovariances(2).unwrap();
        assert_eq!(found, [1.25, 0.5, 0.0]);
        // ARMA(1, 1): γ0 = (1 + 2φθ + θ²) / (1 − φ²), γ1 = φ γ0 + θ.
        let found = arma(&[0.5], &[0.4]).autocovariances(1).unwrap();
        assert!((found[0] - 1.56 / 0.75).abs() < 1e-12);
        assert!((found[1] - (0.5 * 1.56 / 0.75 + 0.4)).abs() < 1e-12);
    }
}
