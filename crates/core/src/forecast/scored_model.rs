//! A model of one load with its score: how good it was of late at the horizon in use, and whether it is
//! trusted. A score holds for one horizon: with another one all but the trust is learnt anew on the past.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::accuracy::Scorecard;
use super::context::ForecastContext;
use super::model::{ForecastRequest, Model};
use super::model_set::ModelSet;
use super::not_ready::{NotEnoughHistory, NotReady};
use super::prediction::Forecast;
use super::selected_forecast::SelectedForecast;
use super::series::RegularSeries;

/// The model of one load, with its score.
#[derive(Debug)]
pub(crate) struct ScoredModel {
    set: ModelSet,
    horizon: NonZeroUsize,
    model: Box<dyn Model>,
    card: Scorecard,
    /// The newest observation, until the forecast on it is there.
    unscored: Option<UnscoredObservation>,
}

/// An observation of the step at `origin`, as far as models are judged by it.
#[derive(Debug, Clone, Copy)]
struct UnscoredObservation {
    origin: Timestamp,
    value: Option<f64>,
}

impl ScoredModel {
    /// A model that has seen nothing, scored `horizon` steps ahead.
    pub(crate) fn new(set: ModelSet, horizon: NonZeroUsize) -> Self {
        Self {
            set,
            horizon,
            model: set.model(horizon),
            card: Scorecard::new(horizon),
            unscored: None,
        }
    }

    /// True for this model, scored at this horizon.
    pub(crate) fn is(&self, set: ModelSet, horizon: NonZeroUsize) -> bool {
        self.set == set && self.horizon == horizon
    }

    /// Is trusted where `before` was and is the same model, as far as the score here lets it be kept: to learn
    /// anew is no reason to lose trust.
    pub(crate) fn keep_trust_of(&mut self, before: &Self) {
        if self.set == before.set {
            self.card.keep_trust_of(&before.card);
        }
    }

    /// Observes and scores the whole of `series`, whatever the origin and the step of `context`.
    pub(crate) fn learn(&mut self, series: &RegularSeries, context: &ForecastContext<'_>) {
        let step = series.step();
        let mut origin = series.start();
        for &value in series.values() {
            let context = ForecastContext {
                origin,
                step,
                ..*context
            };
            self.observe(value, &context);
            origin = origin.checked_add(step).unwrap_or(Timestamp::MAX);
        }
    }

    /// Estimates the parameters anew on `past`, as [`Model::fit`] says.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] where `past` is too short; the model is as before then.
    pub(crate) fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        self.model.fit(past, context)
    }

    /// The models that it is of.
    pub(crate) const fn set(&self) -> ModelSet {
        self.set
    }

    /// The result of the last fit in words.
    pub(super) fn summary(&self) -> Option<String> {
        self.model.summary()
    }

    /// Takes the observation of the step at `context.origin`, `None` where it is missing. The
    /// forecast on it is scored once it has been asked for, at the latest before the next one.
    pub(crate) fn observe(&mut self, value: Option<f64>, context: &ForecastContext<'_>) {
        if let Some(UnscoredObservation { origin, value }) = self.unscored.take() {
            let context = ForecastContext { origin, ..*context };
            let forecast = self.model.forecast(self.horizon.get(), &context);
            self.card.record(value, forecast.ok().as_ref());
        }
        self.model.observe(value, context);
        self.unscored = Some(UnscoredObservation {
            origin: context.origin,
            value: value.filter(|_| context.is_judged()),
        });
    }

    /// The request for a forecast, for so many `steps` or as many as are scored.
    pub(crate) fn request<'a>(
        &'a self,
        steps: usize,
        context: ForecastContext<'a>,
    ) -> ForecastRequest<'a> {
        ForecastRequest {
            model: &*self.model,
            horizon: steps.max(self.horizon.get()),
            context,
        }
    }

    /// Takes the answer to [`Self::request`], and returns it with what is known of the model.
    pub(crate) fn select(
        &mut self,
        forecast: Result<Forecast, NotEnoughHistory>,
        step: SignedDuration,
    ) -> SelectedForecast {
        if let Some(UnscoredObservation { value, .. }) = self.unscored.take() {
            self.card.record(value, forecast.as_ref().ok());
        }
        let model = self.model.name();
        let forecast = forecast.map_err(|history| NotReady::new(model, history, step));
        SelectedForecast {
            model,
            lacking: forecast.as_ref().err().copied().into_iter().collect(),
            forecast,
            trust: self.card.trust(),
            accuracy: self.card.accuracy(),
            cover: None,
        }
    }

    /// Puts another model in the place of this one.
    #[cfg(test)]
    pub(crate) fn replace(&mut self, model: Box<dyn Model>) {
        self.model = model;
    }

    /// The memory in bytes, itself included.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.model.bytes() + self.card.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
