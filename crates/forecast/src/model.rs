//! The interface of every model, and its answer before it has seen enough.

use std::fmt;

use super::context::ForecastContext;
use super::not_ready::NotEnoughHistory;
use super::prediction::Forecast;
use super::series::RegularSeries;

/// Follows one load step by step and forecasts it at any time. Forecasts are finite and not
/// negative, whatever was observed.
pub trait Model: fmt::Debug + Send + Sync {
    /// In annotations, conditions and tables.
    fn name(&self) -> &'static str;

    /// Estimates the parameters anew on the past up to `context.origin`, and goes on from its end.
    /// It takes milliseconds to seconds, so no tick calls it: another model serves until one fitted
    /// elsewhere replaces it. A model without parameters stays as it is.
    ///
    /// # Errors
    /// [`NotEnoughHistory`]: `past` is too short, and the model is as before.
    fn fit(
        &mut self,
        _past: &RegularSeries,
        _context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        Ok(())
    }

    /// The form of the model, and how well it describes the past. `None` without a fit.
    fn summary(&self) -> Option<String> {
        None
    }

    /// True if the residuals of the fit are normal noise of even spread (`[CLBP]` 3.3.1, step 5),
    /// false if they are not or are too few to tell. `None` for a model without such tests.
    fn passes_checks(&self) -> Option<bool> {
        None
    }

    /// The step at `context.origin`, `None` where it is missing. Steps are consecutive.
    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>);

    /// The next `horizon` steps after `context.origin`, the time of the last observation.
    ///
    /// # Errors
    /// [`NotEnoughHistory`]: the model has seen too little.
    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory>;

    /// Forecasts many loads at once, one answer per request in their order. All requests are for
    /// models of this name, including this one. A family with shared parameters can be faster than
    /// the default.
    fn forecast_batch(
        &self,
        requests: &[ForecastRequest<'_>],
    ) -> Vec<Result<Forecast, NotEnoughHistory>> {
        let alone = |one: &ForecastRequest<'_>| one.model.forecast(one.horizon, &one.context);
        requests.iter().map(alone).collect()
    }

    /// Itself included.
    fn bytes(&self) -> usize;
}

#[derive(Debug, Clone, Copy)]
pub struct ForecastRequest<'a> {
    pub model: &'a dyn Model,
    pub horizon: usize,
    pub context: ForecastContext<'a>,
}

/// In the order of `requests`; models of one name make one batch.
pub fn forecast_together(
    requests: &[ForecastRequest<'_>],
) -> Vec<Result<Forecast, NotEnoughHistory>> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| requests[index].model.name());
    let by_name: Vec<ForecastRequest<'_>> = order.iter().map(|&index| requests[index]).collect();
    let batches = by_name.chunk_by(|one, next| one.model.name() == next.model.name());
    let answers = batches.flat_map(|batch| batch[0].model.forecast_batch(batch));
    let mut answered: Vec<_> = order.into_iter().zip(answers).collect();
    answered.sort_unstable_by_key(|(index, _)| *index);
    answered.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::context::ModelAssets;
    use crate::load_ring_buffer::LoadRingBuffer;

    #[derive(Debug)]
    struct BatchRecorder<'a> {
        name: &'static str,
        batches: &'a Mutex<Vec<(&'static str, Vec<usize>)>>,
    }

    impl Model for BatchRecorder<'_> {
        fn name(&self) -> &'static str {
            self.name
        }

        fn observe(&mut self, _: Option<f64>, _: &ForecastContext<'_>) {}

        fn forecast(
            &self,
            _: usize,
            _: &ForecastContext<'_>,
        ) -> Result<Forecast, NotEnoughHistory> {
            unreachable!("they are asked together")
        }

        fn forecast_batch(
            &self,
            requests: &[ForecastRequest<'_>],
        ) -> Vec<Result<Forecast, NotEnoughHistory>> {
            let horizons = requests.iter().map(|one| one.horizon).collect();
            self.batches.lock().unwrap().push((self.name, horizons));
            let answer = |one: &ForecastRequest<'_>| NotEnoughHistory {
                need: one.horizon,
                have: 0,
            };
            requests.iter().map(|one| Err(answer(one))).collect()
        }

        fn bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn models_of_one_name_are_asked_in_one_batch() {
        let (history, shared, batches) = (
            LoadRingBuffer::default(),
            ModelAssets::default(),
            Mutex::default(),
        );
        let told = |name| BatchRecorder {
            name,
            batches: &batches,
        };
        let models = ["net", "tes", "net", "net", "tes"].map(told);
        let requests = models
            .iter()
            .zip(1..)
            .map(|(model, horizon)| ForecastRequest {
                model,
                horizon,
                context: ForecastContext {
                    history: &history,
                    origin: Timestamp::UNIX_EPOCH,
                    step: SignedDuration::from_secs(15),
                    shared: &shared,
                },
            });
        let answers = forecast_together(&requests.collect::<Vec<_>>());
        let needs: Vec<_> = answers
            .into_iter()
            .map(|one| one.unwrap_err().need)
            .collect();
        assert_eq!(needs, [1, 2, 3, 4, 5]);
        let asked = batches.lock().unwrap().clone();
        assert_eq!(asked, [("net", vec![1, 3, 4]), ("tes", vec![2, 5])]);
        assert!(forecast_together(&[]).is_empty());
    }
}
