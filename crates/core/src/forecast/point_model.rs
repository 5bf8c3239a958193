//! The part of a model that is particular to its family: means, on a series without gaps.

use std::fmt;

use super::not_ready::NotEnoughHistory;
use super::trainer::Trainer;

/// A recursion over the values of a series without gaps; `Rolling` makes a `Model` of it.
pub trait PointModel: fmt::Debug + Send + Sync {
    /// The name in annotations, conditions and tables.
    const NAME: &'static str;

    /// The number of observations that a forecast needs.
    fn need(&self) -> usize;

    /// Estimates the parameters on the newest of `values`, which have no gap, and forgets all
    /// observations, as before the first; returns how many of the newest values are to be observed
    /// again. A model without parameters to estimate forgets nothing and returns 0. One that takes a library to
    /// fit has it done by `trainer`.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] where there are too few values; the model is as before then.
    fn fit(
        &mut self,
        _values: &[f64],
        _trainer: Option<&dyn Trainer>,
    ) -> Result<usize, NotEnoughHistory> {
        Ok(0)
    }

    /// False for a model that has parameters and has not been fitted yet: it makes no forecast.
    fn is_fitted(&self) -> bool {
        true
    }

    /// The result of the last fit in words; `None` without one.
    fn summary(&self) -> Option<String> {
        None
    }

    /// Takes the next observation.
    fn observe(&mut self, value: f64);

    /// Forgets all observations, as before the first.
    fn restart(&mut self);

    /// Fills `means` with the forecasts of the next steps, neither bounded nor checked; called only
    /// once [`Self::need`] observations have been seen and the model is fitted.
    fn predict(&self, means: &mut [f64]);

    /// The memory outside of the model itself, in bytes.
    fn heap_bytes(&self) -> usize {
        0
    }
}
