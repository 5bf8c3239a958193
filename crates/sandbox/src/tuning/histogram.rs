//! The decaying histogram of the Vertical Pod Autoscaler: exponential buckets, in which a sample
//! weighs half as much a day later.

use jiff::Timestamp;

/// From one bucket to the next.
const GROWTH: f64 = 1.05;
/// Half-life of a weight, in seconds.
const HALF_LIFE: f64 = 24.0 * 3600.0;
/// Smaller weights count as 0.
const EPSILON: f64 = 1e-4;

/// By size of samples.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    /// Size of the first bucket.
    first: f64,
    weights: Vec<f64>,
    /// Time that weights are relative to.
    reference: Option<Timestamp>,
}

impl Histogram {
    /// The first bucket has the size `first`, and the last one reaches `most`.
    pub(super) fn new(first: f64, most: f64) -> Self {
        let buckets = (most * (GROWTH - 1.0) / first + 1.0).log(GROWTH).ceil();
        let mut weights = Vec::new();
        let mut number = 0.0;
        while number <= buckets {
            weights.push(0.0);
            number += 1.0;
        }
        Self {
            first,
            weights,
            reference: None,
        }
    }

    fn start(&self, bucket: usize) -> f64 {
        let power = GROWTH.powi(i32::try_from(bucket).unwrap_or(i32::MAX));
        self.first * (power - 1.0) / (GROWTH - 1.0)
    }

    fn bucket(&self, value: f64) -> usize {
        if value < self.first {
            return 0;
        }
        // The last bucket that begins at or below the value.
        let (mut low, mut high) = (0, self.weights.len() - 1);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.start(middle) <= value {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// A negative weight removes a sample.
    pub(super) fn add(&mut self, value: f64, weight: f64, at: Timestamp) {
        let factor = self.factor(at);
        let bucket = self.bucket(value);
        let sum = &mut self.weights[bucket];
        *sum = (*sum + weight * factor).max(0.0);
    }

    /// Weight of a sample at a time; the reference moves before weights become too large to add.
    fn factor(&mut self, at: Timestamp) -> f64 {
        let reference = *self.reference.get_or_insert(at);
        let halves = at.duration_since(reference).as_secs_f64() / HALF_LIFE;
        let halves = if halves > 100.0 {
            let shrunk = 0.5_f64.powf(halves);
            for weight in &mut self.weights {
                *weight *= shrunk;
            }
            self.reference = Some(at);
            0.0
        } else {
            halves
        };
        2.0_f64.powf(halves)
    }

    /// End of the bucket up to which a share of the weights lies; 0 without any.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let total: f64 = self.weights.iter().sum();
        if total <= EPSILON {
            return 0.0;
        }
        let mut sum = 0.0;
        let last = self.weights.len() - 1;
        for (bucket, weight) in self.weights.iter().enumerate() {
            sum += weight;
            if sum >= share * total {
                return self.start((bucket + 1).min(last));
            }
        }
        self.start(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_end_of_its_bucket_and_old_samples_fade() {
        let at = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        let mut histogram = Histogram::new(10.0, 1_000_000.0);
        assert!(histogram.percentile(0.9) <= 0.0);
        for _ in 0..9 {
            histogram.add(100.0, 1.0, at(0));
        }
        histogram.add(1000.0, 1.0, at(0));
        let (low, high) = (histogram.percentile(0.9), histogram.percentile(0.91));
        assert!((100.0..=116.0).contains(&low), "{low}");
        assert!((1000.0..=1070.0).contains(&high), "{high}");
        // Ten samples of a week later weigh more than a thousand times these.
        for _ in 0..10 {
            histogram.add(500.0, 1.0, at(10));
        }
        let faded = histogram.percentile(0.5);
        assert!((500.0..=540.0).contains(&faded), "{faded}");
        assert!(histogram.percentile(0.99) <= 540.0);
        histogram.add(500.0, 1.0, at(200));
        assert!(histogram.percentile(0.9) <= 540.0);
    }
}
