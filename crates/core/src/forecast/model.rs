//! The interface of every model, and what a model answers that has seen too little.

use std::fmt;

use super::context::Context;
use super::prediction::Forecast;

/// A model of one load. It follows the load step by step and forecasts it at any time.
///
/// Forecasts are finite and not negative, whatever was observed.
pub trait Model: fmt::Debug + Send + Sync {
    /// The name in annotations, conditions and tables.
    fn name(&self) -> &'static str;

    /// Takes the observation of the step at `context.origin`, `None` where it is missing. Steps
    /// follow one another.
    fn observe(&mut self, observation: Option<f64>, context: &Context<'_>);

    /// The next `horizon` steps after `context.origin`, which is that of the last observation.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] while the model has seen too little.
    fn forecast(&self, horizon: usize, context: &Context<'_>)
    -> Result<Forecast, NotEnoughHistory>;

    /// Forecasts many targets at once; one by one, unless a model can do better.
    fn forecast_many(
        requests: &[Request<'_, Self>],
        horizon: usize,
    ) -> Vec<Result<Forecast, NotEnoughHistory>>
    where
        Self: Sized,
    {
        let answers = requests.iter().map(|request| {
            let Request { model, context } = request;
            model.forecast(horizon, context)
        });
        answers.collect()
    }

    /// The memory of the model in bytes, itself included.
    fn bytes(&self) -> usize;
}

/// One target of [`Model::forecast_many`].
#[derive(Debug)]
pub struct Request<'a, M> {
    pub model: &'a M,
    pub context: Context<'a>,
}

/// A model that has too little history to forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{have} samples without a gap of 3 or more steps, and {need} are needed")]
pub struct NotEnoughHistory {
    /// The steps without an unfilled gap that are needed.
    pub need: usize,
    /// The steps that there are, fewer than `need`.
    pub have: usize,
}
