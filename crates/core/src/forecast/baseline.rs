//! The forecasts that cost nothing: the last value, and the value of one season ago.
//!
//! Every other model has to beat them to be believed.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use super::point_model::PointModel;

/// `naive`: every step will be as the last one was.
#[derive(Debug, Clone, Default)]
pub struct Naive {
    last: f64,
}

impl PointModel for Naive {
    const NAME: &'static str = "naive";

    fn need(&self) -> usize {
        1
    }

    fn observe(&mut self, value: f64) {
        self.last = value;
    }

    fn restart(&mut self) {}

    fn predict(&self, means: &mut [f64]) {
        means.fill(self.last);
    }
}

/// `seasonal-naive`: every step will be as it was one season ago.
#[derive(Debug, Clone)]
pub struct SeasonalNaive {
    season: usize,
    values: VecDeque<f64>,
}

impl SeasonalNaive {
    /// A season of that many steps.
    #[must_use]
    pub fn new(season: NonZeroUsize) -> Self {
        Self {
            season: season.get(),
            values: VecDeque::new(),
        }
    }
}

impl PointModel for SeasonalNaive {
    const NAME: &'static str = "seasonal-naive";

    fn need(&self) -> usize {
        self.season
    }

    fn observe(&mut self, value: f64) {
        if self.values.len() == self.season {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    fn restart(&mut self) {
        self.values.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
    }

    fn predict(&self, means: &mut [f64]) {
        for (mean, value) in means.iter_mut().zip(self.values.iter().cycle()) {
            *mean = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_season_repeats_beyond_its_length() {
        let mut model = SeasonalNaive::new(NonZeroUsize::new(3).unwrap());
        for value in [9.0, 1.0, 2.0, 3.0] {
            model.observe(value);
        }
        let mut means = [0.0; 7];
        model.predict(&mut means);
        assert_eq!(
            means.map(f64::to_bits),
            [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0].map(f64::to_bits)
        );
    }
}
