//! Noise for tests.

use evenkeel_units::random::RandomSource;

/// Numbers of mean 0 and variance 1, the same in every run.
pub(crate) fn normal(seed: u64, count: usize) -> Vec<f64> {
    let random = RandomSource::new(seed);
    (0..).take(count).map(|step| random.normal(step)).collect()
}
