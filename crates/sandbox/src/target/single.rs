//! One model that follows a load by itself, and the decision of each tick on what it says.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::settings::{GRID, Target};
use super::tick::{MAX_AGE, TickDecision, TickObservation};
use evenkeel_core::forecast::{
    Alpha, Context, History, Model, Naive, Rolling, Scorecard, SeasonalNaive, Series, Shared, Tes,
    Variant,
};
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::{
    DecisionInput, Policy, Prediction, SignalLoad, State, decide, horizon,
};

/// How many of the newest values a decision looks at.
const RECENT: usize = 60;
/// The fixed factor, which weighs the last four minutes of 15-second steps, as in `auto`.
const ALPHA: f64 = 0.2;
const SEASON: SignedDuration = SignedDuration::from_hours(24);

/// The models that may stand single.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelKind {
    Tes,
    Naive,
    SeasonalNaive,
}

pub(super) struct SingleModel {
    target: Target,
    model: Box<dyn Model>,
    history: History,
    shared: Shared,
    card: Scorecard,
    state: State,
    past: VecDeque<Option<f64>>,
}

impl SingleModel {
    pub(super) fn new(target: &Target, model: ModelKind) -> Self {
        let scored = horizon::steps(target.horizon(), SignedDuration::ZERO, GRID);
        Self {
            target: *target,
            model: forecaster(model, reach(target.horizon())),
            history: History::default(),
            shared: Shared::default(),
            card: Scorecard::new(NonZeroUsize::new(scored).unwrap_or(NonZeroUsize::MIN)),
            state: State::default(),
            past: VecDeque::with_capacity(RECENT),
        }
    }

    pub(super) fn decide(&mut self, policy: &Policy, seen: &TickObservation) -> TickDecision {
        let &TickObservation {
            now,
            measured,
            current,
            reactive,
        } = seen;
        if let Some(measured) = measured {
            // Refused is what is no load, and a load has been checked.
            let _ = self.history.insert(now, measured, now);
        }
        let context = Context {
            history: &self.history,
            origin: now,
            step: GRID,
            shared: &self.shared,
        };
        self.model.observe(measured, &context);
        let forecast = self.model.forecast(reach(policy.horizon), &context).ok();
        self.card.record(measured, forecast.as_ref());
        if self.past.len() == RECENT {
            self.past.pop_front();
        }
        self.past.push_back(measured);
        let recent = self.recent();
        let accuracy = self.card.accuracy();
        let signal = Signal::from(self.target.resource);
        let load = SignalLoad {
            signal: &signal,
            capacity: self.target.capacity,
            recent: &recent,
            measured: self.newest(now),
            prediction: forecast.as_ref().map(|forecast| Prediction {
                model: self.model.name(),
                forecast,
                trust: accuracy.trust(),
            }),
            lacking: None,
        };
        let input = DecisionInput {
            now,
            current,
            reactive,
            loads: &[load],
        };
        let state = std::mem::take(&mut self.state);
        let (decision, state) = decide(policy, state, &input);
        self.state = state;
        let at = now.checked_add(policy.horizon).unwrap_or(Timestamp::MAX);
        TickDecision {
            floor: decision.replicas,
            ahead: forecast.and_then(|forecast| forecast.at(at).copied()),
            model: self.model.name(),
            trust: accuracy.trust(),
            accuracy: Some(accuracy),
        }
    }

    /// The values since the last gap that is not filled.
    fn recent(&self) -> Vec<f64> {
        let values = self.past.iter().copied().collect();
        let series = Series::new(Timestamp::UNIX_EPOCH, GRID, values);
        series.expect("sixty steps from the epoch").usable().values
    }

    /// When the newest value was measured.
    fn newest(&self, now: Timestamp) -> Option<Timestamp> {
        let missing = self.past.iter().rev().position(Option::is_some)?;
        let age = GRID.checked_mul(i32::try_from(missing).ok()?)?;
        now.checked_sub(age).ok()
    }
}

/// How many steps a forecast needs.
fn reach(ahead: SignedDuration) -> usize {
    horizon::steps(ahead, MAX_AGE, GRID)
}

fn forecaster(model: ModelKind, horizons: usize) -> Box<dyn Model> {
    match model {
        ModelKind::Tes => {
            let tes = Tes::new(Alpha::clamped(ALPHA), Variant::Brown);
            Box::new(Rolling::new(tes, horizons))
        }
        ModelKind::Naive => Box::new(Rolling::new(Naive::default(), horizons)),
        ModelKind::SeasonalNaive => {
            let season = SEASON.as_secs() / GRID.as_secs();
            let season = usize::try_from(season).ok().and_then(NonZeroUsize::new);
            let model = SeasonalNaive::new(season.expect("a day has ticks"));
            Box::new(Rolling::new(model, horizons))
        }
    }
}
