//! A model alone that follows a load: by its newest half hour in steps of 15 seconds, or, where parameters are
//! estimated on a longer past, by minutes.

use std::num::NonZeroUsize;

use evenkeel_forecast::{
    Forecast, ForecastContext, ForecastRequest, LoadHighs, LoadRingBuffer, Minutes, ModelAssets,
    ModelSet, NotEnoughHistory, RegularSeries, Resolution, ScoredModel, SelectedForecast,
};
use jiff::{SignedDuration, Timestamp};

use crate::load::horizon;

/// A model of one load.
#[derive(Debug)]
pub struct LoadModel {
    model: ScoredModel,
    /// The grid that it follows the load on.
    grid: Resolution,
    /// The begin of the newest step that it has observed; `None` where it has to learn anew.
    taken: Option<Timestamp>,
    /// The highest loads of the past that it was fitted on, until its load takes them.
    pub(super) highs: LoadHighs,
}

/// The time up to which a load is known, and the time that a decision looks ahead from there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// The begin of the newest step of 15 seconds that is over.
    pub(super) newest: Timestamp,
    pub(super) ahead: SignedDuration,
}

impl LoadModel {
    /// The newest minutes of a past that a model is judged on before it serves, and that its parameters do not know.
    pub const JUDGED: usize = 240;

    /// A model with parameters estimated on the past without its newest four hours. It is judged on
    /// those, as far ahead as a window of so many minutes takes.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] where the past is too short for the model, or has gaps that leave too little of it.
    pub fn fitted(
        set: ModelSet,
        past: &Minutes,
        window: usize,
        shared: &ModelAssets,
    ) -> Result<Self, NotEnoughHistory> {
        const GRID: Resolution = Resolution::Minute;
        let values = past.values().iter();
        let values = values.map(|&value| Some(f64::from(value)).filter(|value| !value.is_nan()));
        let mut older: Vec<Option<f64>> = values.collect();
        let newest = older.split_off(older.len().saturating_sub(Self::JUDGED));
        let too_short = NotEnoughHistory {
            need: Self::JUDGED + 1,
            have: newest.len(),
        };
        let start = Timestamp::from_second(past.start()).map_err(|_| too_short)?;
        let older = RegularSeries::new(start, GRID.step(), older).map_err(|_| too_short)?;
        let unknown = LoadRingBuffer::default();
        let context = |origin| context(&unknown, GRID, origin, shared);
        // A step of the window is over a minute after it began, and half of a minute passes until a decision.
        let horizon = NonZeroUsize::MIN.saturating_add(window + 1);
        let mut model = ScoredModel::new(set, horizon);
        model.fit(&older, &context(older.end()))?;
        let mut this = Self {
            model,
            grid: GRID,
            taken: Some(older.end()),
            highs: LoadHighs::of(
                (past.start()..)
                    .step_by(60)
                    .zip(past.values().iter().copied()),
            ),
        };
        for value in newest {
            this.observe(value, &context);
        }
        let origin = this.taken.unwrap_or(Timestamp::MAX);
        let request = this.model.request(0, context(origin));
        request.model.forecast(request.horizon, &request.context)?;
        Ok(this)
    }

    /// A model without parameters to estimate, which has learnt from the steps of 15 seconds that are known; `None`
    /// at the end of time.
    pub(super) fn learnt(
        set: ModelSet,
        history: &LoadRingBuffer,
        reach: Reach,
        shared: &ModelAssets,
    ) -> Option<Self> {
        const GRID: Resolution = Resolution::Fine;
        let series = ring_before(history, reach.newest)?;
        let mut model = ScoredModel::new(set, horizon_of(reach));
        model.learn(&series, &context(history, GRID, reach.newest, shared));
        Some(Self {
            model,
            grid: GRID,
            taken: Some(reach.newest),
            highs: LoadHighs::default(),
        })
    }

    /// The models that it is of.
    pub(super) const fn set(&self) -> ModelSet {
        self.model.set()
    }

    /// The form of the model, how well it describes the past, and the verdict on its residuals;
    /// `None` without a fit.
    pub fn summary(&self) -> Option<String> {
        self.model.summary()
    }

    /// Is trusted where `before` was and is the same model.
    pub(super) fn keep_trust_of(&mut self, before: &Self) {
        self.model.keep_trust_of(&before.model);
    }

    /// Has to learn anew from a past that has changed behind it. What was fitted on a longer past stays.
    pub(super) const fn past_changed(&mut self) {
        if matches!(self.grid, Resolution::Fine) {
            self.taken = None;
        }
    }

    /// Observes the steps that are over. False where it cannot go on from what it knows: it learns anew then. One that
    /// was fitted goes on whatever is missing, and says itself what that leaves of it.
    pub(super) fn follow(
        &mut self,
        history: &LoadRingBuffer,
        reach: Reach,
        shared: &ModelAssets,
    ) -> bool {
        let Some(mut last) = self.taken else {
            return false;
        };
        let grid = self.grid;
        let Some(newest) = newest_over(grid, reach.newest) else {
            return true;
        };
        if matches!(grid, Resolution::Fine) {
            let is_lost = newest.duration_since(last) >= ring(grid);
            if is_lost || !self.model.is(self.set(), horizon_of(reach)) {
                return false;
            }
        }
        // Values before the ring are missing; a gap that is not filled shows enough of that.
        let before = ring(grid) + grid.step() * 3;
        last = last.max(newest.checked_sub(before).unwrap_or(Timestamp::MIN));
        self.taken = Some(last);
        while last < newest {
            let Ok(next) = last.checked_add(grid.step()) else {
                break;
            };
            let context = |origin| context(history, grid, origin, shared);
            self.observe(history.step(grid, next), &context);
            last = next;
        }
        true
    }

    /// Observes the step after the newest one.
    fn observe<'a>(
        &mut self,
        value: Option<f64>,
        context: &impl Fn(Timestamp) -> ForecastContext<'a>,
    ) {
        let next = self
            .taken
            .and_then(|taken| taken.checked_add(self.grid.step()).ok());
        let Some(next) = next else { return };
        self.model.observe(value, &context(next));
        self.taken = Some(next);
    }

    /// The request for a forecast that reaches so far ahead of a measurement that may be as old as `max_age`; `None`
    /// where it has to learn anew.
    pub(super) fn request<'a>(
        &'a self,
        reach: SignedDuration,
        max_age: SignedDuration,
        history: &'a LoadRingBuffer,
        shared: &'a ModelAssets,
    ) -> Option<ForecastRequest<'a>> {
        let step = self.grid.step();
        // The newest step that is over began up to two steps before.
        let steps = horizon::steps(reach, max_age.max(step * 2), step);
        let context = context(history, self.grid, self.taken?, shared);
        Some(self.model.request(steps, context))
    }

    /// True where the minutes since it was fitted are not remembered any more, so that it would begin anew.
    pub(super) fn is_outdated(&self, history: &LoadRingBuffer) -> bool {
        let newest = history.newest().zip(self.taken);
        newest.is_some_and(|(newest, taken)| newest.duration_since(taken) > ring(self.grid))
    }

    /// True where [`Self::request`] has a request.
    pub(super) const fn has_learnt(&self) -> bool {
        self.taken.is_some()
    }

    /// Takes the answer to [`Self::request`], and returns it with what is known of the model.
    pub(super) fn select(
        &mut self,
        answer: Result<Forecast, NotEnoughHistory>,
    ) -> SelectedForecast {
        self.model.select(answer, self.grid.step())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<ScoredModel>() + self.model.bytes()
    }

    /// The scored model.
    #[cfg(test)]
    pub(super) const fn scored(&mut self) -> &mut ScoredModel {
        &mut self.model
    }
}

/// From the start of a step that is over to what comes ahead of now lies that, and up to two steps.
fn horizon_of(reach: Reach) -> NonZeroUsize {
    const STEP: SignedDuration = Resolution::Fine.step();
    let steps = NonZeroUsize::new(horizon::steps(reach.ahead, STEP * 2, STEP));
    steps.unwrap_or(NonZeroUsize::MIN)
}

/// The context in which models forecast from the step at `origin` on.
const fn context<'a>(
    history: &'a LoadRingBuffer,
    grid: Resolution,
    origin: Timestamp,
    shared: &'a ModelAssets,
) -> ForecastContext<'a> {
    ForecastContext {
        history,
        origin,
        step: grid.step(),
        shared,
    }
}

/// The newest step of a grid that is over with the step of 15 seconds at `newest`.
fn newest_over(grid: Resolution, newest: Timestamp) -> Option<Timestamp> {
    let end = newest.checked_add(Resolution::Fine.step()).ok()?;
    let seconds = grid.step().as_secs();
    let begun = end.as_second().div_euclid(seconds) * seconds;
    Timestamp::from_second(begun - seconds).ok()
}

/// The steps of the finest ring up to `newest`.
fn ring_before(history: &LoadRingBuffer, newest: Timestamp) -> Option<RegularSeries> {
    const STEP: SignedDuration = Resolution::Fine.step();
    let start = newest.checked_sub(ring(Resolution::Fine) - STEP);
    let start = start.unwrap_or(Timestamp::MIN);
    let times = std::iter::successors(Some(start), |time| time.checked_add(STEP).ok());
    let values = times.take_while(|time| *time <= newest);
    let values = values.map(|time| history.value(time)).collect();
    RegularSeries::new(start, STEP, values).ok()
}

/// The time that a ring spans.
pub(super) fn ring(grid: Resolution) -> SignedDuration {
    let steps = i32::try_from(grid.length()).expect("the rings are short");
    grid.step() * steps
}
