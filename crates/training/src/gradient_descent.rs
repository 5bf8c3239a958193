//! AdamW in batches until held-out errors no longer shrink, and factors that then shrink the
//! answers, so that a network without any learning answers 0.

mod adamw;

use adamw::AdamW;
pub(crate) use adamw::NOTHING;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{count_as_f64, narrowed};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Descent {
    /// Most passes through the rows; fewer if held-out errors do not shrink for `patience` passes.
    pub passes: usize,
    pub patience: usize,
    /// Rows per step.
    pub batch: usize,
    /// Length of the first steps, which shrinks to a tenth.
    pub rate: f32,
    /// Share of the rate that weights lose at each step.
    pub decay: f32,
}

/// The objective of a fit.
pub(crate) trait Slope {
    fn rows(&self) -> usize;

    fn add(&mut self, parameters: &[f32], rows: &[usize], gradient: &mut [f32]);

    fn held_out(&mut self, parameters: &[f32]) -> f64;

    /// Called before each pass with the finished share.
    fn began(&mut self, _done: f64) {}
}

impl Descent {
    /// The best parameters on the rows held out, among the first ones and those after each pass.
    pub(crate) fn run(
        &self,
        mut parameters: Vec<f32>,
        slope: &mut impl Slope,
        source: RandomSource,
    ) -> Vec<f32> {
        let mut method = AdamW::new(parameters.len(), self.decay);
        let mut gradient = vec![0.0; parameters.len()];
        let mut best = (slope.held_out(&parameters), parameters.clone());
        let mut since = 0;
        let mut order: Vec<usize> = (0..slope.rows()).collect();
        for pass in 0..self.passes {
            let done = count_as_f64(pass) / count_as_f64(self.passes);
            slope.began(done);
            let rate = self.rate * narrowed(1.0 - 0.9 * done).unwrap_or(1.0);
            shuffle(&mut order, source.stream(&format!("pass {pass}")));
            for batch in order.chunks(self.batch) {
                gradient.fill(0.0);
                slope.add(&parameters, batch, &mut gradient);
                let each = narrowed(1.0 / count_as_f64(batch.len())).unwrap_or_default();
                for slope in &mut gradient {
                    *slope *= each;
                }
                method.step(&mut parameters, &gradient, rate);
            }
            let error = slope.held_out(&parameters);
            if error < best.0 {
                best = (error, parameters.clone());
                since = 0;
            } else {
                since += 1;
                if since >= self.patience {
                    break;
                }
            }
        }
        best.1
    }
}

/// Fisher and Yates.
fn shuffle(order: &mut [usize], source: RandomSource) {
    for index in (1..order.len()).rev() {
        let step = u64::try_from(index).unwrap_or(u64::MAX);
        order.swap(index, source.below(step, index + 1));
    }
}

/// Possible factors of an answer.
pub(crate) const FACTORS: [f32; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

pub(crate) type FactorErrors = [f64; FACTORS.len()];

pub(crate) fn best_factor(errors: &FactorErrors) -> f32 {
    let pairs = errors.iter().zip(FACTORS);
    let least = pairs.min_by(|one, other| one.0.total_cmp(other.0));
    least.map_or(0.0, |(_, factor)| factor)
}
