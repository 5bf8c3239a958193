//! The part of a model that is particular to its family: means, on a series without gaps.

use std::fmt;

/// A recursion over the values of a series without gaps; `Rolling` makes a `Model` of it.
pub trait PointModel: fmt::Debug + Send + Sync {
    /// The name in annotations, conditions and tables.
    const NAME: &'static str;

    /// The number of observations that a forecast needs.
    fn need(&self) -> usize;

    /// Takes the next observation.
    fn observe(&mut self, value: f64);

    /// Forgets all observations, as before the first.
    fn restart(&mut self);

    /// Fills `means` with the forecasts of the next steps, neither bounded nor checked; called only
    /// once [`Self::need`] observations have been seen.
    fn predict(&self, means: &mut [f64]);

    /// The memory outside of the model itself, in bytes.
    fn heap_bytes(&self) -> usize {
        0
    }
}
