//! `naive`: the last value, at no cost. Every other model has to beat it to be trusted.

use crate::point_model::PointModel;

#[derive(Debug, Clone, Default)]
pub(crate) struct Naive {
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
