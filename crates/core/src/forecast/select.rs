//! Several models of one series, each with its score, and which of them is listened to.
//!
//! `auto` takes the trusted one with the lowest rolling MASE at the horizon in use. It looks again
//! once an hour and moves only for 5 % or more, so that two models that are as good do not take
//! turns; a model that is no longer trusted loses its place at once. A score holds for one horizon:
//! with another horizon all is learnt anew on the past.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::{
    Accuracy, Alpha, Forecast, Forecaster as _, Lacking, Past, PointModel as _, Rolling, SHpa,
    Scorecard, Series, Tes, Trust, Variant, Yesterday,
};

/// How long a choice stands while its model is trusted.
const STANDS: SignedDuration = SignedDuration::from_hours(1);
/// Another model is taken when its error is below this share of the present one's.
const BETTER: f64 = 0.95;

/// Which models may be listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Models {
    /// The best of all.
    #[default]
    Auto,
    /// `s-hpa` alone.
    SHpa,
}

/// One of the models, the first of equals first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SHpa,
    Tes,
    Yesterday,
}

impl Kind {
    const ALL: [Self; 3] = [Self::SHpa, Self::Tes, Self::Yesterday];
}

#[derive(Debug, Clone)]
struct Scored<M> {
    model: M,
    card: Scorecard,
}

impl<M> Scored<M> {
    fn new(model: M, horizon: NonZeroUsize) -> Self {
        let card = Scorecard::new(horizon);
        Self { model, card }
    }
}

/// The models that stand beside `s-hpa`.
#[derive(Debug, Clone)]
struct Others {
    tes: Scored<Rolling<Tes>>,
    yesterday: Scored<Yesterday>,
}

#[derive(Debug, Clone, Copy)]
struct Choice {
    kind: Kind,
    at: Timestamp,
}

/// The models of one series.
#[derive(Debug, Clone)]
pub struct Candidates {
    step: SignedDuration,
    s_hpa: Scored<Rolling<SHpa>>,
    others: Option<Box<Others>>,
    chosen: Option<Choice>,
}

/// The model that is listened to, or would be if it were trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// Its name.
    pub model: &'static str,
    /// What it forecasts, or when it will.
    pub forecast: Result<Forecast, Lacking>,
    /// Whether it may be acted on.
    pub trust: Trust,
    /// The figures behind that.
    pub accuracy: Accuracy,
}

impl Candidates {
    /// Models that have seen nothing, scored `horizon` steps ahead.
    #[must_use]
    pub fn new(models: Models, horizon: NonZeroUsize, step: SignedDuration) -> Self {
        let others = || {
            // Triple smoothing by 0.2 weighs the last four minutes of 15-second steps.
            let tes = Tes::new(Alpha::clamped(0.2), Variant::Brown);
            Box::new(Others {
                tes: Scored::new(Rolling::towards(tes, horizon), horizon),
                yesterday: Scored::new(Yesterday::towards(horizon), horizon),
            })
        };
        let s_hpa = Rolling::towards(SHpa::default(), horizon);
        Self {
            step,
            s_hpa: Scored::new(s_hpa, horizon),
            others: (models == Models::Auto).then(others),
            chosen: None,
        }
    }

    /// Which models these are.
    #[must_use]
    pub const fn models(&self) -> Models {
        match self.others {
            Some(_) => Models::Auto,
            None => Models::SHpa,
        }
    }

    /// How many steps ahead the models are scored.
    pub const fn horizon(&self) -> usize {
        self.s_hpa.card.horizon()
    }

    /// Models of the same kinds that have followed `series` from its start and were scored on it
    /// `horizon` steps ahead; the choice stands where its model is still there.
    #[must_use]
    pub fn learnt_anew(
        &self,
        (models, horizon): (Models, NonZeroUsize),
        series: &Series,
        past: &dyn Past,
    ) -> Self {
        let mut anew = Self::new(models, horizon, self.step);
        anew.chosen = self
            .chosen
            .filter(|choice| models == Models::Auto || choice.kind == Kind::SHpa);
        anew.begin(&series.before());
        let mut at = series.start();
        for &value in series.values() {
            anew.advance(at, value, past);
            at = at.checked_add(self.step).unwrap_or(Timestamp::MAX);
        }
        anew
    }

    /// Begins a grid whose first step is the one after `before`; what was known is forgotten.
    pub fn begin(&mut self, before: &Series) {
        // What is lacking at the beginning, the observations bring.
        let _ = self.s_hpa.model.fit(before);
        if let Some(others) = &mut self.others {
            let _ = others.tes.model.fit(before);
        }
    }

    /// Takes the next step of the grid, which is at `at`: the observation, `None` where it is
    /// missing.
    pub fn advance(&mut self, at: Timestamp, observation: Option<f64>, past: &dyn Past) {
        let (horizon, step) = (self.horizon(), self.step);
        let Scored { model, card } = &mut self.s_hpa;
        model.update(observation);
        card.record(observation, model.forecast(horizon).ok().as_ref());
        let Some(others) = &mut self.others else {
            return;
        };
        let Scored { model, card } = &mut others.tes;
        model.update(observation);
        card.record(observation, model.forecast(horizon).ok().as_ref());
        let Scored { model, card } = &mut others.yesterday;
        model.update((at, step), observation, past);
        card.record(observation, model.forecast(horizon, past).ok().as_ref());
    }

    /// Chooses the model to listen to from now on, where it is time to.
    pub fn choose(&mut self, now: Timestamp) {
        let trusted = |kind: &Kind| {
            let accuracy = self.accuracy(*kind);
            accuracy.is_some_and(|accuracy| accuracy.trust().is_trusted())
        };
        let present = self.chosen.filter(|choice| trusted(&choice.kind));
        if present.is_some_and(|choice| now.duration_since(choice.at) < STANDS) {
            return;
        }
        let best = Kind::ALL.into_iter().filter(trusted);
        let best = best.min_by(|a, b| self.mase(*a).total_cmp(&self.mase(*b)));
        let kind = match (present, best) {
            (Some(present), Some(best)) if self.mase(best) >= BETTER * self.mase(present.kind) => {
                Some(present.kind)
            }
            (_, best) => best,
        };
        self.chosen = kind.map(|kind| Choice { kind, at: now });
    }

    /// The chosen model; while none is, the one with the lowest error so far.
    #[must_use]
    pub fn selected(&self, steps: usize, past: &dyn Past) -> Selected {
        let nearest = || {
            let scored = |kind: &Kind| self.accuracy(*kind).is_some_and(|a| a.scored > 0);
            let scored = Kind::ALL.into_iter().filter(scored);
            let least = scored.min_by(|a, b| self.mase(*a).total_cmp(&self.mase(*b)));
            least.unwrap_or(Kind::SHpa)
        };
        let kind = self.chosen.map_or_else(nearest, |choice| choice.kind);
        let accuracy = self.accuracy(kind);
        let accuracy = accuracy.unwrap_or_else(|| self.s_hpa.card.accuracy());
        let (model, forecast) = self.forecast(kind, steps, past);
        Selected {
            model,
            forecast,
            trust: accuracy.trust(),
            accuracy,
        }
    }

    /// The models that cannot forecast yet.
    #[must_use]
    pub fn lacking(&self, past: &dyn Past) -> Vec<Lacking> {
        let kinds = Kind::ALL
            .into_iter()
            .filter(|kind| self.accuracy(*kind).is_some());
        let lacking = kinds.filter_map(|kind| self.forecast(kind, 1, past).1.err());
        lacking.collect()
    }

    /// The memory of the models in bytes, themselves included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let Self { s_hpa, others, .. } = self;
        let smoothing = s_hpa.model.heap_bytes() + s_hpa.card.heap_bytes();
        let others = others.as_ref().map_or(0, |others| {
            let Others { tes, yesterday } = others.as_ref();
            let cards = tes.card.heap_bytes() + yesterday.card.heap_bytes();
            size_of::<Others>() + tes.model.heap_bytes() + yesterday.model.heap_bytes() + cards
        });
        size_of::<Self>() + SHpa::WINDOW * size_of::<f64>() + smoothing + others
    }

    fn accuracy(&self, kind: Kind) -> Option<Accuracy> {
        let others = self.others.as_ref();
        let card = match kind {
            Kind::SHpa => &self.s_hpa.card,
            Kind::Tes => &others?.tes.card,
            Kind::Yesterday => &others?.yesterday.card,
        };
        Some(card.accuracy())
    }

    /// The error to choose by; without one a model comes last.
    fn mase(&self, kind: Kind) -> f64 {
        let mase = self.accuracy(kind).and_then(|accuracy| accuracy.mase);
        mase.unwrap_or(f64::INFINITY)
    }

    fn forecast(
        &self,
        kind: Kind,
        steps: usize,
        past: &dyn Past,
    ) -> (&'static str, Result<Forecast, Lacking>) {
        match (kind, &self.others) {
            (Kind::Tes, Some(others)) => {
                let forecast = others.tes.model.forecast(steps);
                (
                    Tes::NAME,
                    forecast.map_err(|lack| self.wait(Tes::NAME, lack)),
                )
            }
            (Kind::Yesterday, Some(others)) => (
                Yesterday::NAME,
                others.yesterday.model.forecast(steps, past),
            ),
            _ => {
                let forecast = self.s_hpa.model.forecast(steps);
                (
                    SHpa::NAME,
                    forecast.map_err(|lack| self.wait(SHpa::NAME, lack)),
                )
            }
        }
    }

    fn wait(&self, model: &'static str, lack: super::NotEnoughHistory) -> Lacking {
        let steps = i32::try_from(lack.need.saturating_sub(lack.have)).unwrap_or(i32::MAX);
        let ready_in = self.step.checked_mul(steps).unwrap_or(SignedDuration::MAX);
        Lacking { model, ready_in }
    }
}

#[cfg(test)]
mod tests;
