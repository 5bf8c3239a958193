//! A model of one load with its score and trust at the horizon in use. With another horizon all but
//! the trust is learnt anew on the past.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::accuracy::Scorecard;
use super::context::ForecastContext;
use super::model::{ForecastRequest, Model};
use super::models::ModelSet;
use super::not_ready::{NotEnoughHistory, NotReady};
use super::prediction::Forecast;
use super::residual_checks::ResidualChecks;
use super::selected_forecast::SelectedForecast;
use super::series::RegularSeries;
use super::trust::{Distrust, ModelTrust};

#[derive(Debug)]
pub struct ScoredModel {
    set: ModelSet,
    horizon: NonZeroUsize,
    model: Box<dyn Model>,
    card: Scorecard,
    /// The residuals of its fit failed a check that is required.
    is_barred: bool,
    /// Until its forecast is there.
    unscored: Option<UnscoredObservation>,
}

/// The step at `origin`; `value` is `None` where models are not judged by it.
#[derive(Debug, Clone, Copy)]
struct UnscoredObservation {
    origin: Timestamp,
    value: Option<f64>,
}

impl ScoredModel {
    /// Scored `horizon` steps ahead.
    pub fn new(set: ModelSet, horizon: NonZeroUsize) -> Self {
        Self {
            set,
            horizon,
            model: set.model(horizon),
            card: Scorecard::new(horizon),
            is_barred: false,
            unscored: None,
        }
    }

    /// The same for the hours ahead.
    pub(crate) fn for_hours_ahead(set: ModelSet, horizon: NonZeroUsize) -> Self {
        Self {
            model: set.model_for_hours_ahead(horizon),
            ..Self::new(set, horizon)
        }
    }

    pub fn is(&self, set: ModelSet, horizon: NonZeroUsize) -> bool {
        self.set == set && self.horizon == horizon
    }

    /// Keeps the trust of `before` if it is the same model and the score here allows it: learning
    /// anew is no reason to lose trust.
    pub fn keep_trust_of(&mut self, before: &Self) {
        if self.set == before.set {
            self.card.keep_trust_of(&before.card);
        }
    }

    /// Observes and scores all of `series`, whatever the origin and step of `context`.
    pub fn learn(&mut self, series: &RegularSeries, context: &ForecastContext<'_>) {
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

    /// As [`Model::fit`].
    ///
    /// # Errors
    /// [`NotEnoughHistory`]: `past` is too short, and the model is as before.
    pub fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        self.model.fit(past, context)?;
        let is_required = context.shared.residual_checks == ResidualChecks::Require;
        self.is_barred = is_required && self.model.passes_checks() == Some(false);
        Ok(())
    }

    pub const fn set(&self) -> ModelSet {
        self.set
    }

    /// As [`Model::summary`].
    pub fn summary(&self) -> Option<String> {
        self.model.summary()
    }

    /// The observation of the step at `context.origin`, `None` where it is missing. Its forecast is
    /// scored when it is requested, at the latest before the next observation.
    pub fn observe(&mut self, value: Option<f64>, context: &ForecastContext<'_>) {
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

    /// For `steps` steps, or as many as are scored.
    pub fn request<'a>(
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

    /// Takes the answer to [`Self::request`].
    pub fn select(
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
            trust: if self.is_barred {
                ModelTrust::Untrusted(Distrust::Residuals)
            } else {
                self.card.trust()
            },
            accuracy: self.card.accuracy(),
            cover: None,
        }
    }

    /// Puts another model in, for tests of what becomes of a broken one.
    #[cfg(any(test, feature = "testing"))]
    pub fn replace(&mut self, model: Box<dyn Model>) {
        self.model = model;
    }

    /// In bytes, itself included.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.model.bytes() + self.card.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
