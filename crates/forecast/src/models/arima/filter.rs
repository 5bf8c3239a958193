//! The Kalman filter of an ARMA process: innovations with their exact variances, one value at a
//! time. Recursions of Chandrasekhar's kind (`[Morf]`) carry only the change of the covariance,
//! which is of rank one, so that a step is linear in the order. They stop once the variance is
//! constant.

use super::arma::{Arma, MOST};

/// The largest state: max(p, q + 1).
const STATE: usize = MOST + 1;

/// Harvey's state of one process, before the next value.
pub(super) type ArmaState = [f64; STATE];

/// With innovations of the process of variance 1.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    size: usize,
    ar: ArmaState,
    variance: f64,
    /// The gain times the variance.
    gain: ArmaState,
    /// The change of the covariance is `direction` × `weight` × its transpose.
    direction: ArmaState,
    weight: f64,
    steady: bool,
}

/// A smaller change, as a share of the variance, is rounding.
const STEADY: f64 = 1e-15;

impl Filter {
    /// By the process' stationary distribution; `None` where it has none.
    pub(super) fn new(process: &Arma) -> Option<Self> {
        let size = process.ar.len().max(process.ma.len() + 1);
        let mut ar = [0.0; STATE];
        ar[..process.ar.len()].copy_from_slice(&process.ar);
        let mut theta = [0.0; STATE];
        theta[0] = 1.0;
        theta[1..=process.ma.len()].copy_from_slice(&process.ma);
        let gamma = process.autocovariances(size)?;
        let psi = process.weights(size);
        let mut covariance = [0.0; STATE];
        for (place, value) in covariance.iter_mut().enumerate().take(size) {
            let past = (place..size).map(|at| ar[at] * gamma[at - place + 1]);
            let noise = (place..size).map(|at| theta[at] * psi[at - place]);
            *value = past.sum::<f64>() + noise.sum::<f64>();
        }
        let variance = covariance[0];
        let gain = moved(&covariance, &ar, size);
        (variance > 0.0).then_some(Self {
            size,
            ar,
            variance,
            gain,
            direction: gain,
            weight: -1.0 / variance,
            steady: false,
        })
    }

    pub(super) const fn variance(&self) -> f64 {
        self.variance
    }

    /// Moves the state of a series on by its innovation.
    pub(super) fn lead(&self, state: &mut ArmaState, innovation: f64) {
        let share = innovation / self.variance;
        let first = state[0];
        for place in 0..self.size {
            let next = if place + 1 < self.size {
                state[place + 1]
            } else {
                0.0
            };
            state[place] = self.ar[place] * first + next + self.gain[place] * share;
        }
    }

    pub(super) fn step(&mut self) {
        if self.steady {
            return;
        }
        let Self { size, ar, .. } = *self;
        let seen = self.direction[0];
        let before = self.variance;
        let moved = moved(&self.direction, &ar, size);
        self.variance += seen * seen * self.weight;
        for (gain, moved) in self.gain.iter_mut().zip(&moved) {
            *gain += moved * self.weight * seen;
        }
        self.weight += (self.weight * seen) * (self.weight * seen) / before;
        for (place, direction) in self.direction.iter_mut().enumerate() {
            *direction = moved[place] - self.gain[place] / self.variance * seen;
        }
        let length: f64 = self.direction.iter().map(|one| one * one).sum();
        self.steady = length * self.weight.abs() <= STEADY * self.variance;
    }

    /// Fills `means` with the expected values of the next steps from `state`.
    pub(super) fn expect(&self, mut state: ArmaState, means: &mut [f64]) {
        for mean in means {
            *mean = state[0];
            state = moved(&state, &self.ar, self.size);
        }
    }
}

/// The state one step later, without an innovation.
fn moved(state: &ArmaState, ar: &ArmaState, size: usize) -> ArmaState {
    let mut next = [0.0; STATE];
    for place in 0..size {
        let above = if place + 1 < size {
            state[place + 1]
        } else {
            0.0
        };
        next[place] = ar[place] * state[0] + above;
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variances of innovations by the textbook's innovations algorithm on the autocovariances.
    fn variances(process: &Arma, count: usize) -> Vec<f64> {
        let gamma = process.autocovariances(count).unwrap();
        let mut theta: Vec<Vec<f64>> = vec![vec![]];
        let mut variance = vec![gamma[0]];
        for now in 1..count {
            let mut row = vec![0.0; now];
            for k in 0..now {
                let sum: f64 = (0..k)
                    .map(|j| theta[k][k - j - 1] * row[now - j - 1] * variance[j])
                    .sum();
                row[now - k - 1] = (gamma[now - k] - sum) / variance[k];
            }
            let seen: f64 = (0..now)
                .map(|j| row[now - j - 1].powi(2) * variance[j])
                .sum();
            variance.push(gamma[0] - seen);
            theta.push(row);
        }
        variance
    }

    #[test]
    fn variances_are_those_of_the_innovations_algorithm() {
        for (ar, ma) in [
            (vec![0.7], vec![]),
            (vec![], vec![-0.9]),
            (vec![0.5, -0.3], vec![0.4]),
            (vec![1.2, -0.4], vec![0.6, -0.2, 0.3]),
            (
                vec![0.1, 0.2, -0.3, 0.1, 0.25],
                vec![-0.5, 0.2, 0.1, 0.05, -0.3],
            ),
        ] {
            let process = Arma { ar, ma };
            let mut filter = Filter::new(&process).unwrap();
            for (step, expected) in variances(&process, 60).into_iter().enumerate() {
                let found = filter.variance();
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{process:?} {step}: {found} {expected}"
                );
                filter.step();
            }
        }
    }
}
