//! The part of a model that is particular to its family: means, on a series without gaps.

use std::fmt;

use super::not_ready::NotEnoughHistory;
use super::trainer::Trainer;

/// `RollingModel` makes a `Model` of this recursion over a series without gaps.
pub trait PointModel: fmt::Debug + Send + Sync {
    /// In annotations, conditions and tables.
    const NAME: &'static str;

    fn need(&self) -> usize;

    /// Estimates the parameters on the newest of `values`, which have no gap, and forgets all
    /// observations; returns how many of the newest values are to be observed again. A model
    /// without parameters forgets nothing and returns 0. `trainer` fits what needs a library.
    ///
    /// # Errors
    /// [`NotEnoughHistory`]: there are too few values, and the model is as before.
    fn fit(
        &mut self,
        _values: &[f64],
        _trainer: Option<&dyn Trainer>,
    ) -> Result<usize, NotEnoughHistory> {
        Ok(0)
    }

    /// False for a model with parameters before its first fit: it has no forecast.
    fn is_fitted(&self) -> bool {
        true
    }

    /// The last fit in words; `None` without one.
    fn summary(&self) -> Option<String> {
        None
    }

    /// As [`Model::passes_checks`](crate::Model::passes_checks).
    fn passes_checks(&self) -> Option<bool> {
        None
    }

    fn observe(&mut self, value: f64);

    /// Forgets all observations.
    fn restart(&mut self);

    /// The next steps, neither bounded nor checked; called only once [`Self::need`] observations
    /// have been seen and the model is fitted.
    fn predict(&self, means: &mut [f64]);

    /// In bytes, without the model itself.
    fn heap_bytes(&self) -> usize {
        0
    }
}
