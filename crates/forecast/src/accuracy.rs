//! The recent accuracy of a model at the horizon in use. It decides if the model is trusted. A
//! scorecard compares each forecast, and the naive one (the last value), with the value that came.
//! [`ModelTrust`] judges by its means, which fade, so that no window of past forecasts is kept.

use std::num::NonZeroUsize;

use evenkeel_units::narrowed;

use super::prediction::{Forecast, ForecastStep, Interval};
use super::trust;
use super::trust::{Distrust, MIN_SCORED, ModelTrust, Rival};

/// After this many forecasts a score's weight has faded to 1/e.
const MEMORY: u32 = 120;

/// Errors and coverage of the forecasts at one horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HorizonAccuracy {
    /// The number of scored forecasts, up to the 120 that the means remember.
    pub scored: u32,
    pub mae: f64,
    /// Error of the naive forecast at the same times and horizon.
    pub naive_mae: f64,
    /// The error over that of the naive forecast one step ahead (`[MASE]`); `None` where that is 0.
    pub mase: Option<f64>,
    /// The share of observations inside the 80 % interval.
    pub coverage80: f64,
    /// The share of observations inside the 95 % interval.
    pub coverage95: f64,
}

impl HorizonAccuracy {
    /// The error over that of the naive forecast; `None` where the naive one made none.
    pub fn ratio(&self) -> Option<f64> {
        (self.naive_mae > 0.0).then(|| self.mae / self.naive_mae)
    }

    /// `trusted` is the judgement so far: the thresholds of gaining and losing trust differ.
    fn judged(&self, trusted: bool) -> ModelTrust {
        if self.scored < MIN_SCORED {
            return ModelTrust::Untrusted(Distrust::Unproven {
                scored: self.scored,
            });
        }
        let (coverage, most) = (self.coverage80, trust::most_ratio(trusted));
        match self.ratio() {
            Some(_) if coverage < trust::least_coverage(trusted) => {
                ModelTrust::Untrusted(Distrust::Coverage { coverage })
            }
            Some(ratio) if ratio < most => ModelTrust::Trusted {
                ratio,
                rival: Rival::LastValue,
            },
            ratio => ModelTrust::Untrusted(Distrust::NotBetterThanNaive { ratio }),
        }
    }
}

/// Small, because tens of thousands of these wait at once.
#[derive(Debug, Clone, Copy)]
struct PendingForecast {
    mean: f32,
    interval80: [f32; 2],
    interval95: [f32; 2],
    naive: f32,
}

impl PendingForecast {
    /// The place of a forecast where none waits: it is never scored.
    const NOTHING: Self = Self {
        mean: f32::NAN,
        interval80: [f32::NAN; 2],
        interval95: [f32::NAN; 2],
        naive: f32::NAN,
    };

    /// `None` where a value is too large for 32 bits.
    fn new(step: &ForecastStep, naive: f64) -> Option<Self> {
        let bounds = |interval: Interval| {
            let upper = narrowed(interval.upper).unwrap_or(f32::MAX);
            Some([narrowed(interval.lower)?, upper])
        };
        Some(Self {
            mean: narrowed(step.mean)?,
            interval80: bounds(step.interval80)?,
            interval95: bounds(step.interval95)?,
            naive: narrowed(naive)?,
        })
    }
}

fn inside([lower, upper]: [f32; 2], actual: f64) -> f64 {
    let inside = f64::from(lower) <= actual && actual <= f64::from(upper);
    if inside { 1.0 } else { 0.0 }
}

/// Scores the forecasts of one model at one horizon as the observations come in.
#[derive(Debug, Clone)]
pub struct Scorecard {
    /// The last forecasts, one for each step of the horizon, overwritten in turn.
    pending: Box<[PendingForecast]>,
    next: usize,
    last: Option<f32>,
    changes: u32,
    scored: u32,
    change: f64,
    /// The mean absolute errors of the model and of the naive forecast.
    errors: [f64; 2],
    /// The shares of observations inside the 80 % and the 95 % interval.
    coverages: [f64; 2],
    trusted: bool,
}

impl Scorecard {
    pub fn new(horizon: NonZeroUsize) -> Self {
        Self {
            pending: vec![PendingForecast::NOTHING; horizon.get()].into(),
            next: 0,
            last: None,
            changes: 0,
            change: 0.0,
            scored: 0,
            errors: [0.0; 2],
            coverages: [0.0; 2],
            trusted: false,
        }
    }

    pub const fn horizon(&self) -> usize {
        self.pending.len()
    }

    /// One step of the grid: the observation, `None` where it is missing, and the forecast made on
    /// it. Forecasts made on a missing observation are not scored: the naive one has none.
    pub fn record(&mut self, observation: Option<f64>, forecast: Option<&Forecast>) {
        let step = forecast.and_then(|forecast| forecast.steps.get(self.horizon() - 1));
        self.record_step(observation, step);
    }

    /// As [`Self::record`], with the forecast for the horizon alone.
    pub(crate) fn record_step(
        &mut self,
        observation: Option<f64>,
        forecast: Option<&ForecastStep>,
    ) {
        // Rounded as the waiting values are, or a constant load would differ from itself.
        let observation = observation.and_then(narrowed).map(f64::from);
        let due = self.pending[self.next];
        if let Some(actual) = observation.filter(|_| !due.mean.is_nan()) {
            self.score(due, actual);
        }
        if let (Some(last), Some(actual)) = (self.last.map(f64::from), observation) {
            self.changes = (self.changes + 1).min(MEMORY);
            fade(&mut self.change, (actual - last).abs(), self.changes);
        }
        let issued = forecast.zip(observation);
        let issued = issued.and_then(|(step, naive)| PendingForecast::new(step, naive));
        self.pending[self.next] = issued.unwrap_or(PendingForecast::NOTHING);
        self.next = (self.next + 1) % self.horizon();
        self.last = observation.and_then(narrowed);
    }

    /// The memory of the forecasts that wait, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.pending)
    }

    pub fn accuracy(&self) -> HorizonAccuracy {
        let [mae, naive_mae] = self.errors;
        let [coverage80, coverage95] = self.coverages;
        HorizonAccuracy {
            scored: self.scored,
            mae,
            naive_mae,
            mase: (self.change > 0.0).then(|| mae / self.change),
            coverage80,
            coverage95,
        }
    }

    /// Changes only with a forecast that is scored.
    pub fn trust(&self) -> ModelTrust {
        self.accuracy().judged(self.trusted)
    }

    /// Keeps the trust of an earlier score of the same model, as far as the figures here allow.
    pub(crate) fn keep_trust_of(&mut self, before: &Self) {
        self.trusted |= self.accuracy().judged(before.trusted).is_trusted();
    }

    fn score(&mut self, issued: PendingForecast, actual: f64) {
        self.scored = (self.scored + 1).min(MEMORY);
        let error = |told: f32| (actual - f64::from(told)).abs();
        let values = [
            error(issued.mean),
            error(issued.naive),
            inside(issued.interval80, actual),
            inside(issued.interval95, actual),
        ];
        let means = self.errors.iter_mut().chain(&mut self.coverages);
        for (mean, value) in means.zip(values) {
            fade(mean, value, self.scored);
        }
        self.trusted = self.trust().is_trusted();
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
    use crate::context::{ForecastContext, ModelAssets};
    use crate::load_ring_buffer::LoadRingBuffer;
    use crate::model::Model;
    use crate::models::baseline::Naive;
    use crate::models::smoothing::SHpa;
    use crate::point_model::PointModel;
    use crate::rolling_model::RollingModel;

    fn forecast(mean: f64, half: f64) -> Forecast {
        let interval = Interval {
            lower: mean - half,
            upper: mean + half,
        };
        let step = ForecastStep {
            mean,
            interval80: interval,
            interval95: interval,
        };
        Forecast {
            origin: Timestamp::UNIX_EPOCH,
            step: SignedDuration::from_secs(15),
            steps: vec![step; 2],
            clamped: 0,
            unbounded: Box::default(),
        }
    }

    /// A line of slope 1, forecast two steps ahead with a constant error and half width.
    fn scored(steps: u32, error: f64, half: f64) -> Scorecard {
        let mut card = Scorecard::new(NonZeroUsize::new(2).unwrap());
        for i in 0..steps {
            let now = f64::from(i);
            card.record(Some(now), Some(&forecast(now + 2.0 + error, half)));
        }
        card
    }

    #[test]
    fn errors_are_compared_at_the_horizon_in_use() {
        let accuracy = scored(42, 0.5, 1.0).accuracy();
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
            (
                22,
                1.66,
                2.0,
                "BetterThanNaive",
                "trusted (error 0.83 of naive)",
            ),
            (
                22,
                2.0,
                9.0,
                "NotBetterThanNaive",
                "not trusted (error 1.00 of naive)",
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
    fn floors_are_compared_by_the_time_under_provisioned() {
        for (ratio, text) in [
            (
                0.28,
                "trusted (under-provisioned for 0.28 times as long as an HPA with a lower target)",
            ),
            (
                1.6,
                "not trusted (under-provisioned for 1.60 times as long as an HPA with a lower target)",
            ),
        ] {
            assert_eq!(ModelTrust::by_worth(ratio, false).to_string(), text);
        }
    }

    #[test]
    fn trust_is_earned_and_lost_at_lines_that_lie_apart() {
        let accuracy = |ratio: f64, coverage80: f64| HorizonAccuracy {
            scored: MEMORY,
            mae: ratio,
            naive_mae: 1.0,
            mase: None,
            coverage80,
            coverage95: 1.0,
        };
        for (ratio, coverage, earned, kept, text) in [
            (0.94, 0.9, true, true, "trusted (error 0.94 of naive)"),
            (
                0.96,
                0.9,
                false,
                true,
                "not trusted (error 0.96 of naive; trust begins below 0.95)",
            ),
            (1.04, 0.9, false, true, "not trusted (error 1.04 of naive)"),
            (1.06, 0.9, false, false, "not trusted (error 1.06 of naive)"),
            (0.5, 0.64, true, true, "trusted (error 0.50 of naive)"),
            (
                0.5,
                0.62,
                false,
                true,
                "not trusted (62 % inside the 80 % interval; trust begins at 63 %)",
            ),
            (
                0.5,
                0.58,
                false,
                true,
                "not trusted (58 % inside the 80 % interval)",
            ),
            (
                0.5,
                0.56,
                false,
                false,
                "not trusted (56 % inside the 80 % interval)",
            ),
        ] {
            let judged = |trusted| accuracy(ratio, coverage).judged(trusted);
            let found = [false, true].map(|trusted| judged(trusted).is_trusted());
            assert_eq!(found, [earned, kept], "{ratio} {coverage}");
            assert_eq!(judged(false).to_string(), text);
        }
        let few = HorizonAccuracy {
            scored: MIN_SCORED - 1,
            ..accuracy(0.1, 1.0)
        };
        assert_eq!(few.judged(true).reason(), "Unproven");
    }

    /// A model that is now a little better, now a little worse than the last value.
    #[test]
    fn a_model_on_the_edge_does_not_win_and_lose_trust_by_turns() {
        let changes = |early: f64| {
            let mut card = Scorecard::new(NonZeroUsize::new(2).unwrap());
            let mut seen = Vec::new();
            for i in 0..2000_u32 {
                let now = f64::from(i);
                let on_edge = if (i / 150) % 2 == 0 { 1.94 } else { 2.06 };
                let error = if i < 150 { early } else { on_edge };
                card.record(Some(now), Some(&forecast(now + 2.0 + error, 9.0)));
                seen.push(card.trust().is_trusted());
            }
            let ratio_turns = |pair: &[bool]| pair[0] != pair[1];
            let changes = seen.windows(2).filter(|pair| ratio_turns(pair)).count();
            (changes, card.trust().is_trusted())
        };
        assert_eq!(changes(1.0), (1, true), "earned once, and kept");
        assert_eq!(changes(2.1), (0, false), "never earned");
    }

    #[test]
    fn a_load_that_stands_still_needs_no_forecast() {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        (0..40).for_each(|_| card.record(Some(5.0), Some(&forecast(5.0, 1.0))));
        let trust = card.trust();
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
        let horizon = NonZeroUsize::new(4).unwrap();
        let mut model = RollingModel::towards(model, horizon);
        let mut card = Scorecard::new(horizon);
        let (history, shared) = (LoadRingBuffer::default(), ModelAssets::default());
        for i in 0..900 {
            let context = ForecastContext {
                history: &history,
                origin: Timestamp::from_second(15 * i64::from(i)).unwrap(),
                step: SignedDuration::from_secs(15),
                shared: &shared,
            };
            model.observe(Some(load(i)), &context);
            card.record(Some(load(i)), model.forecast(4, &context).ok().as_ref());
        }
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
