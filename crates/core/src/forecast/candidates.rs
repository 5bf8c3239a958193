//! The models of one load, each with its score, and the choice among them.
//!
//! `auto` takes the trusted model with the lowest rolling MASE (`[MASE]`) at the horizon in use. It
//! looks again once an hour and moves only for 5 % or more, so that two models that are as good do
//! not take turns; a model that is no longer trusted loses its place at once. A score holds for one
//! horizon: with another horizon all but the trust is learnt anew on the past.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::accuracy::{Accuracy, Scorecard};
use super::context::Context;
use super::model::{Model, Request};
use super::model_set::ModelSet;
use super::not_ready::{NotEnoughHistory, NotReady};
use super::prediction::Forecast;
use super::selected::Selected;
use super::series::Series;

/// The time for which a choice stands while its model is trusted.
const STANDS: SignedDuration = SignedDuration::from_hours(1);
/// Another model is taken when its error is below this share of the present one's.
const BETTER: f64 = 0.95;

/// The models of one load, with their scores.
#[derive(Debug)]
pub(crate) struct Candidates {
    set: ModelSet,
    horizon: NonZeroUsize,
    members: Box<[Candidate]>,
    chosen: Option<Choice>,
    /// The newest observation, until the forecasts on it are there.
    unscored: Option<Observation>,
}

/// An observation of the step at `origin`, as far as models are judged by it.
#[derive(Debug, Clone, Copy)]
struct Observation {
    origin: Timestamp,
    value: Option<f64>,
}

#[derive(Debug)]
struct Candidate {
    model: Box<dyn Model>,
    card: Scorecard,
}

#[derive(Debug, Clone, Copy)]
struct Choice {
    index: usize,
    at: Timestamp,
}

impl Candidates {
    /// Models that have seen nothing, scored `horizon` steps ahead.
    pub(crate) fn new(set: ModelSet, horizon: NonZeroUsize) -> Self {
        let candidate = |model| Candidate {
            model,
            card: Scorecard::new(horizon),
        };
        Self {
            set,
            horizon,
            members: set.models(horizon).into_iter().map(candidate).collect(),
            chosen: None,
            unscored: None,
        }
    }

    /// True for models of this set that are scored at this horizon.
    pub(crate) fn are(&self, set: ModelSet, horizon: NonZeroUsize) -> bool {
        self.set == set && self.horizon == horizon
    }

    /// Chooses as `before` did, where that model is among these too, and trusts those that it did
    /// as far as their scores here let them be kept: to learn anew is no reason to lose trust.
    pub(crate) fn keep_choice_and_trust_of(&mut self, before: &Self) {
        for Candidate { model, card } in &mut self.members {
            let mut known = before.members.iter();
            if let Some(known) = known.find(|known| known.model.name() == model.name()) {
                card.keep_trust_of(&known.card);
            }
        }
        self.chosen = before.chosen.and_then(|choice| {
            let name = before.members.get(choice.index)?.model.name();
            let named = |candidate: &Candidate| candidate.model.name() == name;
            let index = self.members.iter().position(named)?;
            Some(Choice { index, ..choice })
        });
    }

    /// Observes and scores the whole of `series`, whatever the origin and the step of `context`.
    pub(crate) fn learn(&mut self, series: &Series, context: &Context<'_>) {
        let step = series.step();
        let mut origin = series.start();
        for &value in series.values() {
            let context = Context {
                origin,
                step,
                ..*context
            };
            self.observe(value, &context);
            origin = origin.checked_add(step).unwrap_or(Timestamp::MAX);
        }
    }

    /// Estimates the parameters of all models anew on `past`, as [`Model::fit`] says; those that have too
    /// little of it stay as they are.
    pub(super) fn fit(&mut self, past: &Series, context: &Context<'_>) {
        for Candidate { model, .. } in &mut self.members {
            // What a model lacks, its forecast says.
            let _ = model.fit(past, context);
        }
    }

    /// What the models' last fits found, of those that have any.
    pub(super) fn summaries(&self) -> impl Iterator<Item = String> {
        self.members
            .iter()
            .filter_map(|candidate| candidate.model.summary())
    }

    /// Takes the observation of the step at `context.origin`, `None` where it is missing. The
    /// forecasts on it are scored once they have been asked for, at the latest before the next one.
    pub(crate) fn observe(&mut self, value: Option<f64>, context: &Context<'_>) {
        let before = self.unscored.take();
        for Candidate { model, card } in &mut self.members {
            if let Some(Observation { origin, value }) = before {
                let context = Context { origin, ..*context };
                let forecast = model.forecast(self.horizon.get(), &context);
                card.record(value, forecast.ok().as_ref());
            }
            model.observe(value, context);
        }
        self.unscored = Some(Observation {
            origin: context.origin,
            value: value.filter(|_| context.is_judged()),
        });
    }

    /// The requests for a forecast of every model, for so many `steps` or as many as are scored.
    pub(crate) fn requests<'a>(
        &'a self,
        steps: usize,
        context: Context<'a>,
    ) -> impl Iterator<Item = Request<'a>> {
        let horizon = steps.max(self.horizon.get());
        self.members.iter().map(move |candidate| Request {
            model: &*candidate.model,
            horizon,
            context,
        })
    }

    /// The number of [`Self::requests`].
    pub(crate) const fn count(&self) -> usize {
        self.members.len()
    }

    /// Scores the forecasts on the newest observation, unless they have been.
    fn score(&mut self, forecasts: &[Result<Forecast, NotEnoughHistory>]) {
        let Some(Observation { value, .. }) = self.unscored.take() else {
            return;
        };
        for (Candidate { card, .. }, forecast) in self.members.iter_mut().zip(forecasts) {
            card.record(value, forecast.as_ref().ok());
        }
    }

    /// Chooses the model to use from now on, where it is time to.
    fn choose(&mut self, now: Timestamp) {
        let trusted = |index: &usize| self.members[*index].card.trust().is_trusted();
        let present = self.chosen.filter(|choice| trusted(&choice.index));
        if present.is_some_and(|choice| now.duration_since(choice.at) < STANDS) {
            return;
        }
        let index = match (present, self.best(trusted)) {
            (Some(present), Some(best)) if self.mase(best) >= BETTER * self.mase(present.index) => {
                Some(present.index)
            }
            (_, best) => best,
        };
        self.chosen = index.map(|index| Choice { index, at: now });
    }

    /// Takes the answers to [`Self::requests`] in their order, and returns that of the chosen model;
    /// while none is, of the one with the lowest error so far.
    pub(crate) fn select(
        &mut self,
        mut forecasts: Vec<Result<Forecast, NotEnoughHistory>>,
        step: SignedDuration,
        now: Timestamp,
    ) -> Selected {
        self.score(&forecasts);
        self.choose(now);
        let nearest = || {
            let scored = self.best(|index| self.accuracy(*index).scored > 0);
            scored.unwrap_or_default()
        };
        let index = self.chosen.map_or_else(nearest, |choice| choice.index);
        let not_ready = |candidate: &Candidate, history: NotEnoughHistory| {
            NotReady::new(candidate.model.name(), history, step)
        };
        let answers = self.members.iter().zip(&forecasts);
        let lacking = answers.filter_map(|(candidate, answer)| {
            Some(not_ready(candidate, answer.as_ref().err().copied()?))
        });
        let lacking = lacking.collect();
        let candidate = &self.members[index];
        let accuracy = candidate.card.accuracy();
        let forecast = forecasts.swap_remove(index);
        Selected {
            model: candidate.model.name(),
            forecast: forecast.map_err(|history| not_ready(candidate, history)),
            trust: candidate.card.trust(),
            accuracy,
            lacking,
            cover: None,
        }
    }

    /// Puts a model in the place of the first.
    #[cfg(test)]
    pub(crate) fn replace_first(&mut self, model: Box<dyn Model>) {
        self.members[0].model = model;
    }

    /// The memory of the models in bytes, themselves included.
    pub(crate) fn bytes(&self) -> usize {
        let of_one = |Candidate { model, card }: &Candidate| model.bytes() + card.heap_bytes();
        let models: usize = self.members.iter().map(of_one).sum();
        size_of::<Self>() + size_of_val(&*self.members) + models
    }

    /// The model with the lowest error among those that pass `filter`.
    fn best(&self, filter: impl Fn(&usize) -> bool) -> Option<usize> {
        let indices = (0..self.members.len()).filter(filter);
        indices.min_by(|&a, &b| self.mase(a).total_cmp(&self.mase(b)))
    }

    fn accuracy(&self, index: usize) -> Accuracy {
        self.members[index].card.accuracy()
    }

    /// The error to choose by; without one a model comes last.
    fn mase(&self, index: usize) -> f64 {
        self.accuracy(index).mase.unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests;
