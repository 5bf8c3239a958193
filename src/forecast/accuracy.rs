//! How good a model has lately been at the horizon in use, and whether that is good enough to act.
//!
//! Every forecast is held against what came, and so is the last value of its time: a model that
//! does not beat it, or whose 80 % interval holds less than 60 %, is not trusted. Means fade, so
//! that the score takes a few numbers a target and no window of past forecasts.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;

use super::{Forecast, Forecaster, Series, Step};

/// How many forecasts have to be scored before a model can be trusted.
pub const MIN_SCORED: u32 = 20;
/// An 80 % interval that holds a smaller share than this is not one.
pub const MIN_COVERAGE: f64 = 0.60;
/// After this many forecasts a score's weight has faded to 1/e.
const MEMORY: u32 = 120;

/// What the forecasts at one horizon were worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// How many forecasts were scored, up to the 120 that the means remember.
    pub scored: u32,
    /// The mean absolute error, in the unit of the load.
    pub mae: f64,
    /// The mean absolute error of the naive forecast at the same times and horizon.
    pub naive_mae: f64,
    /// The error over that of the naive forecast one step ahead; `None` where that is 0.
    pub mase: Option<f64>,
    /// The share of observations inside the 80 % interval.
    pub coverage80: f64,
    /// The share of observations inside the 95 % interval.
    pub coverage95: f64,
}

/// Whether a forecast may be acted on, with the figures that say so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trust {
    /// It may.
    Trusted {
        /// The error over that of the naive forecast, below 1.
        ratio: f64,
    },
    /// It is ignored.
    Untrusted(Distrust),
}

/// Why a forecast is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distrust {
    /// Too few forecasts have met their observation.
    Unproven {
        /// How many have.
        scored: u32,
    },
    /// The last value would have been as good.
    NotBetterThanNaive {
        /// The error over that of the naive forecast; `None` where the naive one made none.
        ratio: Option<f64>,
    },
    /// The intervals are too narrow to be believed.
    Coverage {
        /// The share of observations inside the 80 % interval.
        coverage: f64,
    },
}

impl Trust {
    /// Whether the forecast may be acted on.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::Trusted { .. })
    }

    /// The kind of judgement, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Trusted { .. } => "BetterThanNaive",
            Self::Untrusted(Distrust::Unproven { .. }) => "Unproven",
            Self::Untrusted(Distrust::NotBetterThanNaive { .. }) => "NotBetterThanNaive",
            Self::Untrusted(Distrust::Coverage { .. }) => "LowCoverage",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Trusted { ratio } => write!(f, "trusted ({ratio:.2} of naive)"),
            Self::Untrusted(Distrust::Unproven { scored }) => {
                write!(f, "not trusted ({scored} of {MIN_SCORED} forecasts scored)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(ratio) }) => {
                write!(f, "not trusted ({ratio:.2} of naive)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: None }) => {
                f.write_str("not trusted (the naive forecast is exact)")
            }
            Self::Untrusted(Distrust::Coverage { coverage }) => {
                let percent = coverage * 100.0;
                write!(f, "not trusted ({percent:.0} % inside the 80 % interval)")
            }
        }
    }
}

impl Accuracy {
    /// The error over that of the naive forecast; `None` where the naive one made none.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        (self.naive_mae > 0.0).then(|| self.mae / self.naive_mae)
    }

    /// The gate: enough forecasts scored, a ratio below 1, and 60 % or more inside 80 % intervals.
    #[must_use]
    pub fn trust(&self) -> Trust {
        if self.scored < MIN_SCORED {
            return Trust::Untrusted(Distrust::Unproven {
                scored: self.scored,
            });
        }
        match self.ratio() {
            Some(_) if self.coverage80 < MIN_COVERAGE => Trust::Untrusted(Distrust::Coverage {
                coverage: self.coverage80,
            }),
            Some(ratio) if ratio < 1.0 => Trust::Trusted { ratio },
            ratio => Trust::Untrusted(Distrust::NotBetterThanNaive { ratio }),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Issued {
    step: Step,
    naive: f64,
}

/// Scores the forecasts of one model at one horizon as the observations come in.
#[derive(Debug, Clone)]
pub struct Scorecard {
    horizon: NonZeroUsize,
    pending: VecDeque<Option<Issued>>,
    last: Option<f64>,
    changes: u32,
    change: f64,
    accuracy: Accuracy,
}

impl Scorecard {
    /// A score of forecasts `horizon` steps ahead.
    #[must_use]
    pub fn new(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            pending: VecDeque::with_capacity(horizon.get()),
            last: None,
            changes: 0,
            change: 0.0,
            accuracy: Accuracy {
                scored: 0,
                mae: 0.0,
                naive_mae: 0.0,
                mase: None,
                coverage80: 0.0,
                coverage95: 0.0,
            },
        }
    }

    /// Leads `model` through `series` as if it had followed along, and scores what it would have
    /// forecast: how a model proves itself on a past that it was not there for.
    #[must_use]
    pub fn of_past(model: &mut dyn Forecaster, series: &Series, horizon: NonZeroUsize) -> Self {
        let mut card = Self::new(horizon);
        // What is lacking at the beginning, the observations bring.
        let _ = model.fit(&series.before());
        for &value in series.values() {
            model.update(value);
            card.record(value, model.forecast(horizon.get()).ok().as_ref());
        }
        card
    }

    /// How many steps ahead the scored forecasts are.
    pub const fn horizon(&self) -> NonZeroUsize {
        self.horizon
    }

    /// Takes one step of the grid: the observation, `None` where it is missing, and the forecast
    /// made on it. Forecasts made on a missing observation are not scored: the naive one has none.
    pub fn record(&mut self, observation: Option<f64>, forecast: Option<&Forecast>) {
        let observation = observation.filter(|value| value.is_finite());
        if self.pending.len() == self.horizon.get() {
            let due = self.pending.pop_front().flatten();
            if let (Some(issued), Some(actual)) = (due, observation) {
                self.score(issued, actual);
            }
        }
        if let (Some(last), Some(actual)) = (self.last, observation) {
            self.changes = (self.changes + 1).min(MEMORY);
            fade(&mut self.change, (actual - last).abs(), self.changes);
        }
        let step = forecast.and_then(|forecast| forecast.steps.get(self.horizon.get() - 1));
        let issued = step.zip(observation);
        self.pending
            .push_back(issued.map(|(&step, naive)| Issued { step, naive }));
        self.last = observation;
    }

    /// What the forecasts were worth so far.
    #[must_use]
    pub fn accuracy(&self) -> Accuracy {
        Accuracy {
            mase: (self.change > 0.0).then(|| self.accuracy.mae / self.change),
            ..self.accuracy
        }
    }

    fn score(&mut self, issued: Issued, actual: f64) {
        let Issued { step, naive } = issued;
        let accuracy = &mut self.accuracy;
        accuracy.scored = (accuracy.scored + 1).min(MEMORY);
        let inside = |inside| if inside { 1.0 } else { 0.0 };
        for (mean, value) in [
            (&mut accuracy.mae, (actual - step.mean).abs()),
            (&mut accuracy.naive_mae, (actual - naive).abs()),
            (
                &mut accuracy.coverage80,
                inside(step.interval80.contains(actual)),
            ),
            (
                &mut accuracy.coverage95,
                inside(step.interval95.contains(actual)),
            ),
        ] {
            fade(mean, value, accuracy.scored);
        }
    }
}

/// Moves `mean` to the mean of the first values, and then to that of values that fade.
fn fade(mean: &mut f64, value: f64, count: u32) {
    *mean += (value.min(f64::MAX) - *mean) / f64::from(count);
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::forecast::{Interval, Naive, PointModel, Rolling, SHpa};

    fn forecast(mean: f64, half: f64) -> Forecast {
        let interval = Interval {
            lower: mean - half,
            upper: mean + half,
        };
        let step = Step {
            mean,
            interval80: interval,
            interval95: interval,
        };
        Forecast {
            origin: Timestamp::UNIX_EPOCH,
            step: SignedDuration::from_secs(15),
            steps: vec![step; 2],
            clamped: 0,
        }
    }

    /// A line of slope 1, forecast two steps ahead with a constant error and half width.
    fn scored(steps: u32, error: f64, half: f64) -> Accuracy {
        let mut card = Scorecard::new(NonZeroUsize::new(2).unwrap());
        for i in 0..steps {
            let now = f64::from(i);
            card.record(Some(now), Some(&forecast(now + 2.0 + error, half)));
        }
        card.accuracy()
    }

    #[test]
    fn errors_are_compared_at_the_horizon_in_use() {
        let accuracy = scored(42, 0.5, 1.0);
        assert_eq!(accuracy.scored, 40);
        assert!((accuracy.mae - 0.5).abs() < 1e-12);
        assert!((accuracy.naive_mae - 2.0).abs() < 1e-12);
        assert!((accuracy.mase.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(accuracy.ratio(), Some(0.25));
    }

    #[test]
    fn only_what_beats_the_last_value_and_covers_is_trusted() {
        for (steps, error, half, reason, text) in [
            (
                21,
                0.5,
                1.0,
                "Unproven",
                "not trusted (19 of 20 forecasts scored)",
            ),
            (22, 1.66, 2.0, "BetterThanNaive", "trusted (0.83 of naive)"),
            (
                22,
                2.0,
                9.0,
                "NotBetterThanNaive",
                "not trusted (1.00 of naive)",
            ),
            (
                22,
                1.0,
                0.5,
                "LowCoverage",
                "not trusted (0 % inside the 80 % interval)",
            ),
        ] {
            let trust = scored(steps, error, half).trust();
            assert_eq!((trust.reason(), trust.to_string().as_str()), (reason, text));
        }
    }

    #[test]
    fn a_load_that_stands_still_needs_no_forecast() {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        (0..40).for_each(|_| card.record(Some(5.0), Some(&forecast(5.0, 1.0))));
        let trust = card.accuracy().trust();
        assert_eq!(trust.reason(), "NotBetterThanNaive");
        assert_eq!(
            trust.to_string(),
            "not trusted (the naive forecast is exact)"
        );
    }

    #[test]
    fn missing_observations_are_neither_scored_nor_forecast_from() {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        for i in 0..40 {
            let now = (i % 2 == 0).then_some(f64::from(i));
            card.record(now, Some(&forecast(0.0, 1.0)));
        }
        assert_eq!(card.accuracy().scored, 0);
    }

    fn ratio<M: PointModel>(model: M, load: impl Fn(u32) -> f64) -> f64 {
        let values = (0..900).map(|i| Some(load(i))).collect();
        let step = SignedDuration::from_secs(15);
        let series = Series::new(Timestamp::UNIX_EPOCH, step, values).unwrap();
        let mut model = Rolling::new(model, 4);
        let card = Scorecard::of_past(&mut model, &series, NonZeroUsize::new(4).unwrap());
        assert_eq!(model.forecast(1).unwrap().origin, series.end());
        card.accuracy().ratio().unwrap()
    }

    #[test]
    fn smoothing_beats_the_last_value_on_a_hill_and_loses_on_a_saw() {
        let hill = |i: u32| 500.0 + 400.0 * (f64::from(i) / 200.0).sin();
        assert!(
            ratio(SHpa::default(), hill) < 0.9,
            "{}",
            ratio(SHpa::default(), hill)
        );
        let saw = |i: u32| 500.0 + 100.0 * f64::from((i * 7) % 11);
        assert!(ratio(SHpa::default(), saw) > ratio(SHpa::default(), hill));
        assert!((ratio(Naive::default(), saw) - 1.0).abs() < 1e-12);
    }
}
