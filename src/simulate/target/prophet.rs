//! What looks ahead: one model that follows the measured load, its score, and the decision of each
//! tick.
//!
//! It holds what the service holds for a target in mode floor, and asks the same
//! [`decide`](crate::scaling::decide).

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::{Expected, Forecasts, GRID, Target};
use crate::forecast::{
    Alpha, Forecast, Forecaster, Naive, Rolling, SHpa, Scorecard, SeasonalNaive, Series, Tes,
    Variant,
};
use crate::scaling::hpa_aware::TOLERANCE;
use crate::scaling::{
    Load, Mode, Observation, Policy, Predicted, ScaleDown, State, Strategy, decide, horizon,
};
use crate::units::Ratio;

/// Measurements older than this are no data.
const MAX_AGE: SignedDuration = SignedDuration::from_mins(3);
/// How many of the newest values a decision looks at.
const RECENT: usize = 60;
/// A day.
const SEASON: SignedDuration = SignedDuration::from_hours(24);

/// What forecasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Model {
    /// DS-HPA's triple exponential smoothing with a factor that follows the load.
    #[default]
    SHpa,
    /// Triple exponential smoothing with a fixed factor.
    Tes,
    /// The last value.
    Naive,
    /// The value of a day ago.
    SeasonalNaive,
}

/// A word that is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted: s-hpa, tes, naive or seasonal-naive")]
pub struct UnknownModel {
    /// The word as given.
    pub given: String,
}

/// What is known at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub now: Timestamp,
    pub measured: Option<f64>,
    pub current: i32,
    pub reactive: Option<i32>,
}

pub(super) struct Prophet {
    policy: Policy,
    target: Target,
    model: Box<dyn Forecaster>,
    card: Scorecard,
    state: State,
    past: VecDeque<Option<f64>>,
    issued: VecDeque<Option<Issued>>,
    tally: Tally,
}

/// A forecast that is due one horizon later, with the value it was made on.
#[derive(Debug, Clone, Copy)]
struct Issued {
    due: Timestamp,
    expected: Expected,
    naive: f64,
}

/// Sums over a run.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    scored: u32,
    error: f64,
    naive: f64,
    inside: f64,
    measured: f64,
    trusted: f64,
}

impl Prophet {
    pub(super) fn new(target: &Target, model: Model, start: Timestamp) -> Self {
        let ahead = target.horizon();
        let steps = horizon::steps(ahead, MAX_AGE, GRID);
        let mut forecaster = model.forecaster(steps);
        let before = start.checked_sub(GRID).unwrap_or(start);
        let grid = Series::new(before, GRID, Vec::new()).expect("the grid moves forward");
        // What is lacking, the observations bring.
        let _ = forecaster.fit(&grid);
        Self {
            policy: policy(target, model),
            target: *target,
            model: forecaster,
            card: Scorecard::new(steps_to(ahead)),
            state: State::default(),
            past: VecDeque::with_capacity(RECENT),
            issued: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    /// What was forecast for `now` one horizon ago.
    pub(super) fn expected(&self, now: Timestamp) -> Option<Expected> {
        let due = self.issued.front().copied().flatten();
        due.filter(|issued| issued.due == now)
            .map(|issued| issued.expected)
    }

    /// Takes a tick's measurement and decides the floor that follows.
    pub(super) fn decide(&mut self, seen: &Seen) -> i32 {
        let &Seen {
            now,
            measured,
            current,
            reactive,
        } = seen;
        self.score(now, measured);
        self.model.update(measured);
        let forecast = self.model.forecast(self.reach()).ok();
        self.card.record(measured, forecast.as_ref());
        self.issue(now, measured, forecast.as_ref());
        if self.past.len() == RECENT {
            self.past.pop_front();
        }
        self.past.push_back(measured);
        let recent = self.recent();
        let load = Load {
            resource: self.target.resource,
            capacity: self.target.capacity,
            recent: &recent,
            measured: self.newest(now),
            predicted: forecast.as_ref().map(|forecast| Predicted {
                model: self.model.name(),
                forecast,
                trust: self.card.accuracy().trust(),
            }),
        };
        let observation = Observation {
            now,
            current,
            reactive,
            loads: &[load],
        };
        let state = std::mem::take(&mut self.state);
        let (decision, state) = decide(&self.policy, state, &observation);
        self.state = state;
        decision.replicas
    }

    pub(super) fn forecasts(&self) -> Forecasts {
        let tally = self.tally;
        let mean = |sum: f64| sum / f64::from(tally.scored.max(1));
        let recent = self.card.accuracy();
        Forecasts {
            scored: tally.scored,
            mae: mean(tally.error),
            naive_mae: mean(tally.naive),
            coverage80: mean(tally.inside),
            trusted_share: tally.trusted / tally.measured.max(1.0),
            recent,
            trust: recent.trust(),
        }
    }

    fn reach(&self) -> usize {
        horizon::steps(self.policy.horizon, MAX_AGE, GRID)
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

    /// Holds what was forecast for `now` against what is.
    fn score(&mut self, now: Timestamp, measured: Option<f64>) {
        let due = self.issued.front().copied();
        let full = self.issued.len() >= steps_to(self.policy.horizon).get();
        if full {
            self.issued.pop_front();
        }
        let Some(actual) = measured else { return };
        let tally = &mut self.tally;
        tally.measured += 1.0;
        if self.card.accuracy().trust().is_trusted() {
            tally.trusted += 1.0;
        }
        if let Some(issued) = due.flatten().filter(|issued| issued.due == now) {
            tally.scored += 1;
            tally.error += (actual - issued.expected.mean).abs();
            tally.naive += (actual - issued.naive).abs();
            let inside = issued.expected.interval80.contains(actual);
            tally.inside += if inside { 1.0 } else { 0.0 };
        }
    }

    fn issue(&mut self, now: Timestamp, measured: Option<f64>, forecast: Option<&Forecast>) {
        let steps = steps_to(self.policy.horizon).get();
        let due = GRID.saturating_mul(i32::try_from(steps).unwrap_or(i32::MAX));
        let issued = now.checked_add(due).ok().and_then(|due| {
            let step = forecast?.at(due)?;
            Some(Issued {
                due,
                expected: Expected {
                    mean: step.mean,
                    interval80: step.interval80,
                },
                naive: measured?,
            })
        });
        self.issued.push_back(issued);
    }
}

/// The steps of the grid that a horizon takes.
fn steps_to(ahead: SignedDuration) -> NonZeroUsize {
    let steps = horizon::steps(ahead, SignedDuration::ZERO, GRID);
    NonZeroUsize::new(steps).unwrap_or(NonZeroUsize::MIN)
}

fn policy(target: &Target, model: Model) -> Policy {
    Policy {
        mode: Mode::Floor,
        bounds: target.bounds,
        behavior: None,
        tolerance: Ratio::new(TOLERANCE).expect("a tenth is finite"),
        scale_down: ScaleDown::Reactive,
        strategy: match model {
            Model::SHpa => Strategy::DsHpa,
            Model::Tes | Model::Naive | Model::SeasonalNaive => Strategy::Forecast,
        },
        horizon: target.horizon(),
        max_age: MAX_AGE,
    }
}

impl Model {
    /// All models.
    pub const ALL: [Self; 4] = [Self::SHpa, Self::Tes, Self::Naive, Self::SeasonalNaive];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SHpa => "s-hpa",
            Self::Tes => "tes",
            Self::Naive => "naive",
            Self::SeasonalNaive => "seasonal-naive",
        }
    }

    fn forecaster(self, horizons: usize) -> Box<dyn Forecaster> {
        match self {
            Self::SHpa => Box::new(Rolling::new(SHpa::default(), horizons)),
            Self::Tes => {
                let model = Tes::new(Alpha::EVEN, Variant::Brown);
                Box::new(Rolling::new(model, horizons))
            }
            Self::Naive => Box::new(Rolling::new(Naive::default(), horizons)),
            Self::SeasonalNaive => {
                let season = SEASON.as_secs() / GRID.as_secs();
                let season = usize::try_from(season).ok().and_then(NonZeroUsize::new);
                let model = SeasonalNaive::new(season.expect("a day has ticks"));
                Box::new(Rolling::new(model, horizons))
            }
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|model| model.as_str() == text);
        found.ok_or_else(|| UnknownModel {
            given: text.to_owned(),
        })
    }
}
