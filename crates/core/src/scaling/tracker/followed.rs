//! One resource of a target: its past, the models that follow it, and what they say now.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::{LoadReport, ModelReport, TickInput};
use crate::forecast::{
    Candidates, Context, History, NotReady, Resolution, SampleError, Selected, Series, Shared,
};
use crate::scaling::hpa_aware::PodCapacity;
use crate::scaling::{Load, Predicted, horizon};
use crate::units::Resource;

const STEP: SignedDuration = Resolution::Fine.step();

/// The past of one load, and the models of it.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) resource: Resource,
    pub(super) history: History,
    candidates: Option<Candidates>,
    /// The step that the models took last; `None` where they have to learn anew.
    taken: Option<Timestamp>,
    measured: Option<Timestamp>,
}

impl Followed {
    pub(super) fn new(resource: Resource) -> Self {
        Self {
            resource,
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

    /// Whether what is known is so far ahead of a measurement of now that nothing can be told apart.
    pub(super) fn is_ahead_of(&self, at: Timestamp, now: Timestamp) -> bool {
        let newest = self.history.newest();
        newest.is_some_and(|newest| newest.duration_since(at) >= ring())
            && now.duration_since(at) < STEP
    }

    /// Has the models learn from the history again, since it is not what they followed.
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
            if let Some(before) = candidates {
                learnt.keep_choice_of(before);
            }
            learnt.learn(&series, &context(newest));
            (*candidates, *taken) = (Some(learnt), Some(newest));
        }
        if let Some(candidates) = candidates {
            candidates.choose(input.now);
        }
    }

    /// The newest step that is over and before which, or in which, something was measured.
    fn newest_over(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = STEP.as_secs();
        let begun = now.as_second().div_euclid(seconds) * seconds;
        let over = Timestamp::from_second(begun - seconds).ok()?;
        Some(self.history.newest()?.min(over))
    }

    pub(super) fn bytes(&self) -> usize {
        let models = self.candidates.as_ref().map_or(0, Candidates::bytes);
        let inline = size_of::<Option<Candidates>>();
        let own = size_of::<Self>() - size_of::<History>() - inline;
        own + History::BYTES + models.max(inline)
    }
}

/// What models read to forecast from the step at `origin` on.
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

/// What the finest ring spans.
fn ring() -> SignedDuration {
    let steps = i32::try_from(Resolution::Fine.length()).expect("the ring is short");
    STEP * steps
}

/// One load as one tick sees it.
pub(super) struct Seen {
    resource: Resource,
    capacity: PodCapacity,
    recent: Vec<f64>,
    measured: Option<Timestamp>,
    pub(super) selected: Option<Selected>,
    lacking: Vec<NotReady>,
}

impl Seen {
    /// What is known of a resource; nothing, where it has never been measured.
    pub(super) fn new(
        (resource, capacity): (Resource, PodCapacity),
        followed: Option<&Followed>,
        steps: usize,
        shared: &Shared,
    ) -> Self {
        let series = followed.and_then(|followed| followed.history.series(Resolution::Fine));
        let models = followed.and_then(|followed| {
            let context = context(&followed.history, followed.taken?, shared);
            Some((followed.candidates.as_ref()?, context))
        });
        Self {
            resource,
            capacity,
            recent: series.map_or_else(Vec::new, |series| series.usable().values),
            measured: followed.and_then(|followed| followed.measured),
            selected: models.map(|(models, context)| models.selected(steps, &context)),
            lacking: models.map_or_else(Vec::new, |(models, context)| models.not_ready(&context)),
        }
    }

    pub(super) fn load(&self) -> Load<'_> {
        let predicted = self.selected.as_ref().and_then(|selected| {
            Some(Predicted {
                model: selected.model,
                forecast: selected.forecast.as_ref().ok()?,
                trust: selected.trust,
            })
        });
        let lacking = self
            .selected
            .as_ref()
            .and_then(|selected| selected.forecast.as_ref().err());
        Load {
            resource: self.resource,
            capacity: self.capacity,
            recent: &self.recent,
            measured: self.measured,
            predicted,
            lacking: lacking.copied(),
        }
    }

    /// The load for a user, with what is forecast for the time `at`.
    pub(super) fn report(self, at: Timestamp, fresh: bool) -> LoadReport {
        let model = self.selected.map(|selected| ModelReport {
            name: selected.model,
            at_horizon: selected
                .forecast
                .ok()
                .and_then(|forecast| forecast.at(at).copied()),
            trust: selected.trust,
            accuracy: selected.accuracy,
        });
        LoadReport {
            resource: self.resource,
            now: self.recent.last().copied(),
            measured: self.measured,
            fresh,
            capacity: self.capacity,
            model,
            lacking: self.lacking,
        }
    }
}
