//! Sums of series as the HPA controller adds them.

use crate::sample::ValueSample;

/// Series that count as these do, however many there are: at most two, of the time of the newest. Both sums
/// that metrics are computed from are the same.
pub fn summed_series(samples: &[ValueSample]) -> Vec<ValueSample> {
    let newest = samples.iter().map(|sample| sample.timestamp).max();
    let Some(timestamp) = newest else {
        return Vec::new();
    };
    let sum = capped_sum(samples);
    let values = if sum_for_share(samples) == sum {
        vec![sum]
    } else {
        // Below zero on the way, which the sum for a share takes for an overflow.
        vec![-1, sum.wrapping_add(1)]
    };
    let sample = |value| ValueSample { timestamp, value };
    values.into_iter().map(sample).collect()
}

/// The sum for a target for the total: the largest integer once a positive value would take it
/// beyond, while a sum below the smallest wraps around.
pub fn capped_sum(samples: &[ValueSample]) -> i64 {
    let mut sum = 0_i64;
    for ValueSample { value, .. } in samples {
        if *value > 0 && sum > i64::MAX - value {
            return i64::MAX;
        }
        sum = sum.wrapping_add(*value);
    }
    sum
}

/// The sum for a target per Pod. Kubernetes takes any sum below zero for an overflow, so a negative
/// value makes it the largest integer.
pub fn sum_for_share(samples: &[ValueSample]) -> i64 {
    let mut sum = 0_i64;
    for ValueSample { value, .. } in samples {
        sum = sum.wrapping_add(*value);
        if sum < 0 {
            return i64::MAX;
        }
    }
    sum
}
