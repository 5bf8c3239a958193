//! Counts latencies in buckets whose width grows with the value, so that every percentile is
//! exact to within 1 % whatever the range, in constant memory.

use std::time::Duration;

/// Buckets for each doubling; a power of two, so that a value's leading bits are its bucket.
const BUCKETS_PER_OCTAVE: usize = 128;
const OCTAVE_BITS: u32 = BUCKETS_PER_OCTAVE.trailing_zeros();

/// Latencies in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    recorded: u64,
    total: Duration,
    largest: Duration,
}

impl Histogram {
    /// Counts one latency.
    pub(super) fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let bucket = bucket_of(nanoseconds);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.recorded += 1;
        self.total += latency;
        self.largest = self.largest.max(latency);
    }

    /// Adds what another histogram counted.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            counts,
            recorded,
            total,
            largest,
        } = other;
        if self.counts.len() < counts.len() {
            self.counts.resize(counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(counts) {
            *count += more;
        }
        self.recorded += recorded;
        self.total += *total;
        self.largest = self.largest.max(*largest);
    }

    /// The largest latency, exactly.
    pub(super) const fn largest(&self) -> Duration {
        self.largest
    }

    /// The mean latency; zero when nothing was counted.
    pub(super) fn mean(&self) -> Duration {
        match u32::try_from(self.recorded) {
            Ok(0) => Duration::ZERO,
            Ok(recorded) => self.total / recorded,
            Err(_) => self.total / u32::MAX,
        }
    }

    /// The latency that `per_mille` thousandths of all stay at or below; zero when nothing was
    /// counted.
    pub(super) fn quantile(&self, per_mille: u64) -> Duration {
        let rank = (self.recorded * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(highest_in(bucket)).min(self.largest);
            }
        }
        self.largest
    }
}

/// The bucket of a value: below one octave of buckets the value itself, above it the octave and
/// the leading bits.
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    let leading = usize::try_from(value >> shift).expect("it has no more than 8 bits");
    usize::try_from(shift).expect("at most 64") * BUCKETS_PER_OCTAVE + leading
}

/// The largest value of a bucket.
fn highest_in(bucket: usize) -> u64 {
    let octave = (bucket / BUCKETS_PER_OCTAVE).saturating_sub(1);
    let leading = u64::try_from(bucket - octave * BUCKETS_PER_OCTAVE).expect("at most 256");
    let shift = u32::try_from(octave).expect("at most 64");
    u64::try_from(((u128::from(leading) + 1) << shift) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_of_a_known_distribution() {
        let mut histogram = Histogram::default();
        for microseconds in 1..=1000 {
            histogram.record(Duration::from_micros(microseconds));
        }
        for (per_mille, microseconds) in [(500, 500_u32), (900, 900), (990, 990), (1000, 1000)] {
            let found = histogram.quantile(per_mille).as_secs_f64() * 1e6;
            let expected = f64::from(microseconds);
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{per_mille}: {found}"
            );
        }
        assert_eq!(histogram.largest(), Duration::from_millis(1));
        assert_eq!(histogram.mean(), Duration::from_nanos(500_500));
        assert_eq!(histogram.recorded, 1000);
    }

    #[test]
    fn an_empty_histogram_has_zeros() {
        let empty = Histogram::default();
        assert_eq!(empty.quantile(500), Duration::ZERO);
        assert_eq!(empty.mean(), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_near_its_end(value: u64) {
            let bucket = bucket_of(value);
            prop_assert!(value <= highest_in(bucket));
            prop_assert!(bucket == 0 || value > highest_in(bucket - 1));
            prop_assert!(u128::from(highest_in(bucket)) * 100 <= u128::from(value) * 101);
        }

        #[test]
        fn merging_is_counting_together(left: Vec<u32>, right: Vec<u32>) {
            let count = |values: &[u32]| {
                let mut histogram = Histogram::default();
                for value in values {
                    histogram.record(Duration::from_nanos(u64::from(*value)));
                }
                histogram
            };
            let mut merged = count(&left);
            merged.merge(&count(&right));
            let together = count(&[left, right].concat());
            prop_assert_eq!(merged.quantile(500), together.quantile(500));
            prop_assert_eq!(merged.largest(), together.largest());
            prop_assert_eq!(merged.recorded, together.recorded);
        }
    }
}
