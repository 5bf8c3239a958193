//! `gru`: gated recurrent units on the last 32 changes of the load, relative to its last value.
//!
//! (y_{t−i} − y_t) / s of the last 32 values goes through several networks (`[CLBP]` 3.3.2, 3.5 to
//! 3.8), which answer (y_{t+h} − y_t) / s for all steps at once; s is the mean size of these
//! differences. The absolute error is minimised. Levels themselves would break after every shift.
//! The trainer holds the newest rows back and uses as much of the networks as helps there, down to
//! none, which is the last value. Later fits start from the present weights.

use std::num::NonZeroUsize;

use super::corrector::{Corrector, Example};
use crate::not_ready::NotEnoughHistory;
use crate::point_model::PointModel;
use crate::trainer::Trainer;

pub const NETWORK_ROWS: usize = 8000;
pub(crate) const LEAST: usize = 60;
/// Differences that are read.
pub const NETWORK_WINDOW: usize = 32;
/// Origins that intervals are first learnt on.
pub(crate) const JUDGED: usize = 500;

#[derive(Debug, Clone)]
pub(crate) struct GruModel {
    horizon: NonZeroUsize,
    fitted: Option<Corrector>,
    /// The newest, oldest first.
    values: Vec<f64>,
}

impl GruModel {
    /// For `horizon` steps; later steps repeat the last of these.
    pub(crate) const fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            fitted: None,
            values: Vec::new(),
        }
    }

    /// Least number of values for an estimation.
    const fn enough(&self) -> usize {
        LEAST + NETWORK_WINDOW + self.horizon.get()
    }
}

/// Differences of all but the last value from the last.
fn differences(values: &[f64]) -> Vec<f64> {
    let Some((last, before)) = values.split_last() else {
        return Vec::new();
    };
    before.iter().map(|value| value - last).collect()
}

impl PointModel for GruModel {
    const NAME: &'static str = "gru";

    fn need(&self) -> usize {
        if self.fitted.is_some() {
            NETWORK_WINDOW + 1
        } else {
            self.enough()
        }
    }

    fn fit(
        &mut self,
        values: &[f64],
        trainer: Option<&dyn Trainer>,
    ) -> Result<usize, NotEnoughHistory> {
        let not_enough = NotEnoughHistory {
            need: self.enough(),
            have: values.len(),
        };
        let trainer = trainer.filter(|_| values.len() >= not_enough.need);
        let trainer = trainer.ok_or(not_enough)?;
        let newest = &values[values.len().saturating_sub(NETWORK_ROWS)..];
        let origins = newest.windows(NETWORK_WINDOW + 1 + self.horizon.get());
        let example = |values: &[f64]| {
            let (known, coming) = values.split_at(NETWORK_WINDOW + 1);
            let rise = |value: &f64| value - known[NETWORK_WINDOW];
            Example {
                recent: differences(known),
                missed: coming.iter().map(rise).collect(),
            }
        };
        let examples: Vec<Example> = origins.map(example).collect();
        let fitted = Corrector::fitted(&examples, self.fitted.as_ref(), trainer);
        self.fitted = Some(fitted.ok_or(not_enough)?);
        self.values.clear();
        Ok(values.len().min(NETWORK_WINDOW + 1 + JUDGED))
    }

    fn is_fitted(&self) -> bool {
        self.fitted.is_some()
    }

    fn summary(&self) -> Option<String> {
        let (networks, weights) = self.fitted.as_ref()?.counts();
        Some(told(networks, weights))
    }

    fn observe(&mut self, value: f64) {
        keep(&mut self.values, value, NETWORK_WINDOW + 1);
    }

    fn restart(&mut self) {
        self.values.clear();
    }

    fn predict(&self, means: &mut [f64]) {
        let last = self.values.last().copied().unwrap_or_default();
        means.fill(last);
        if let Some(fitted) = &self.fitted {
            add(means, &fitted.answer(&differences(&self.values)));
        }
    }

    fn heap_bytes(&self) -> usize {
        let fitted = self.fitted.as_ref();
        self.values.capacity() * size_of::<f64>() + fitted.map_or(0, Corrector::heap_bytes)
    }
}

/// The summary of a fit.
pub(crate) fn told(networks: usize, weights: usize) -> String {
    format!("{networks} networks of {weights} weights")
}

pub(crate) fn keep(values: &mut Vec<f64>, value: f64, most: usize) {
    if values.len() >= most {
        values.remove(0);
    }
    values.push(value);
}

/// Adds to each mean its correction; beyond them, the last one.
pub(crate) fn add(means: &mut [f64], corrections: &[f64]) {
    let Some(&last) = corrections.last() else {
        return;
    };
    let corrections = corrections.iter().copied().chain(std::iter::repeat(last));
    for (mean, correction) in means.iter_mut().zip(corrections) {
        *mean += correction;
    }
}

#[cfg(test)]
mod tests;
