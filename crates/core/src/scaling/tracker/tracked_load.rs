//! One load of a target: its history, the models that follow it, and their forecasts at a tick.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::tick::{LoadReport, ModelReport, ScaledSignal, TickInput};
use crate::forecast::{
    Candidates, Context, Forecast, History, NotEnoughHistory, Request, Resolution, SampleError,
    Selected, Series, Shared,
};
use crate::scaling::horizon;
use crate::scaling::input::{Prediction, SignalLoad};
use crate::scaling::signal::Signal;

const STEP: SignedDuration = Resolution::Fine.step();

/// The history of one load, and the models that follow it.
#[derive(Debug)]
pub(super) struct TrackedLoad {
    pub(super) signal: Signal,
    pub(super) history: History,
    candidates: Option<Candidates>,
    /// The step that the models took last; `None` where they have to learn anew.
    taken: Option<Timestamp>,
    measured: Option<Timestamp>,
}

impl TrackedLoad {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            history: History::default(),
            candidates: None,
            taken: None,
            measured: None,
        }
    }

    pub(super) fn measure(
        &mut self,
        at: Timestamp,
        sum: f64,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        self.history.insert(at, sum, now)?;
        self.measured = self.measured.max(Some(at));
        Ok(())
    }

    /// True where the history lies so far ahead of now that the rings cannot tell the times apart.
    pub(super) fn is_ahead_of(&self, now: Timestamp) -> bool {
        let newest = self.history.newest();
        newest.is_some_and(|newest| newest.duration_since(now) >= ring())
    }

    /// Lets the models learn from the history again, since it has changed behind them.
    pub(super) const fn forget_models(&mut self) {
        self.taken = None;
    }

    /// Leads the models up to the newest step that is over.
    ///
    /// They are scored as far ahead as a decision looks: from the start of a step that is over to
    /// one horizon from now lies the horizon and up to two steps. Where that has changed, or more
    /// is missing than the ring holds, they learn anew from the ring.
    pub(super) fn follow(&mut self, ahead: SignedDuration, input: &TickInput<'_>) {
        let Some(models) = input.models else {
            (self.candidates, self.taken) = (None, None);
            return;
        };
        let horizon = NonZeroUsize::new(horizon::steps(ahead, STEP * 2, STEP));
        let horizon = horizon.unwrap_or(NonZeroUsize::MIN);
        let Some(newest) = self.newest_over(input.now) else {
            return;
        };
        let Self {
            history,
            candidates,
            taken,
            ..
        } = self;
        let context = |origin| context(history, origin, input.shared);
        let followed = candidates.as_mut().zip(*taken);
        let followed = followed.filter(|(candidates, taken)| {
            candidates.are(models, horizon) && newest.duration_since(*taken) < ring()
        });
        if let Some((candidates, mut last)) = followed {
            while let Some(next) = last.checked_add(STEP).ok().filter(|next| *next <= newest) {
                candidates.observe(history.value(next), &context(next));
                last = next;
            }
            *taken = Some(last);
        } else if let Some(series) = ring_before(history, newest) {
            let mut learnt = Candidates::new(models, horizon);
            learnt.learn(&series, &context(newest));
            if let Some(before) = candidates {
                learnt.keep_choice_and_trust_of(before);
            }
            (*candidates, *taken) = (Some(learnt), Some(newest));
        }
    }

    /// The forecasts of so many `steps` that its models are to make for a tick; none where there are
    /// no models.
    pub(super) fn requests<'a>(
        &'a self,
        steps: usize,
        shared: &'a Shared,
    ) -> impl Iterator<Item = Request<'a>> {
        let models = self.candidates.as_ref().zip(self.taken);
        models.into_iter().flat_map(move |(candidates, taken)| {
            candidates.requests(steps, context(&self.history, taken, shared))
        })
    }

    /// Takes the answers to [`Self::requests`] from `forecasts`, and chooses among the models.
    pub(super) fn select(
        &mut self,
        forecasts: &mut impl Iterator<Item = Result<Forecast, NotEnoughHistory>>,
        now: Timestamp,
    ) -> Option<Selected> {
        let (candidates, _) = self.candidates.as_mut().zip(self.taken)?;
        let answers = forecasts.take(candidates.count()).collect();
        Some(candidates.select(answers, STEP, now))
    }

    /// The newest step that is over and before which, or in which, something was measured.
    fn newest_over(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = STEP.as_secs();
        let begun = now.as_second().div_euclid(seconds) * seconds;
        let over = Timestamp::from_second(begun - seconds).ok()?;
        Some(self.history.newest()?.min(over))
    }

    /// The models that follow the load.
    #[cfg(test)]
    pub(super) const fn candidates(&mut self) -> Option<&mut Candidates> {
        self.candidates.as_mut()
    }

    pub(super) fn bytes(&self) -> usize {
        let models = self.candidates.as_ref().map_or(0, Candidates::bytes);
        let inline = size_of::<Option<Candidates>>();
        let own = size_of::<Self>() - size_of::<History>() - inline;
        own + History::BYTES + models.max(inline)
    }
}

/// The context in which models forecast from the step at `origin` on.
const fn context<'a>(history: &'a History, origin: Timestamp, shared: &'a Shared) -> Context<'a> {
    Context {
        history,
        origin,
        step: STEP,
        shared,
    }
}

/// The steps of the finest ring up to `newest`.
fn ring_before(history: &History, newest: Timestamp) -> Option<Series> {
    let start = newest.checked_sub(ring() - STEP).unwrap_or(Timestamp::MIN);
    let times = std::iter::successors(Some(start), |time| time.checked_add(STEP).ok());
    let values = times.take_while(|time| *time <= newest);
    let values = values.map(|time| history.value(time)).collect();
    Series::new(start, STEP, values).ok()
}

/// The time that the finest ring spans.
fn ring() -> SignedDuration {
    let steps = i32::try_from(Resolution::Fine.length()).expect("the ring is short");
    STEP * steps
}

/// One load as it stands at one tick.
pub(super) struct CurrentLoad<'a> {
    scaled: &'a ScaledSignal,
    recent: Vec<f64>,
    measured: Option<Timestamp>,
    pub(super) selected: Option<&'a Selected>,
}

impl<'a> CurrentLoad<'a> {
    /// The load of a signal with the forecast of its model; empty where it was never measured.
    pub(super) fn new(
        scaled: &'a ScaledSignal,
        tracked: Option<&TrackedLoad>,
        selected: Option<&'a Selected>,
    ) -> Self {
        let series = tracked.and_then(|load| load.history.series(Resolution::Fine));
        Self {
            scaled,
            recent: series.map_or_else(Vec::new, |series| series.usable().values),
            measured: tracked.and_then(|load| load.measured),
            selected,
        }
    }

    pub(super) fn signal_load(&self) -> SignalLoad<'_> {
        let forecast = self
            .selected
            .map(|selected| (selected, selected.forecast.as_ref()));
        SignalLoad {
            signal: &self.scaled.signal,
            capacity: self.scaled.capacity,
            recent: &self.recent,
            measured: self.measured,
            prediction: forecast.and_then(|(selected, forecast)| {
                Some(Prediction {
                    model: selected.model,
                    forecast: forecast.ok()?,
                    trust: selected.trust,
                })
            }),
            lacking: forecast.and_then(|(_, forecast)| forecast.err().copied()),
        }
    }

    /// The load for a user, with its forecast for the time `at`.
    pub(super) fn report(self, at: Timestamp, fresh: bool) -> LoadReport {
        let model = self.selected.map(|selected| ModelReport {
            name: selected.model,
            at_horizon: selected
                .forecast
                .as_ref()
                .ok()
                .and_then(|forecast| forecast.at(at).copied()),
            trust: selected.trust,
            accuracy: selected.accuracy,
        });
        LoadReport {
            signal: self.scaled.signal.clone(),
            now: self.recent.last().copied(),
            measured: self.measured,
            fresh,
            capacity: self.scaled.capacity,
            model,
            lacking: self
                .selected
                .map_or_else(Vec::new, |selected| selected.lacking.clone()),
        }
    }
}
