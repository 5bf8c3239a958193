//! The runs of all models over all loads, timed, until they are done or interrupted.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_forecast::backtest::{BacktestRun, Score};
use evenkeel_forecast::{Forecast, Interval, ModelAssets, ModelSet, NotReady};
use evenkeel_sandbox::parallel::cores;
use evenkeel_training::ModelTrainer;
use evenkeel_units::count_as_f64;

use super::model_file::BacktestModelFile;
use crate::forecast::interrupt::Interrupt;
use crate::forecast::load_trace::LoadTrace;
use crate::forecast::progress::Bar;

/// The models and horizons to test on each load.
pub(super) struct BacktestPlan {
    pub(super) models: Vec<ModelSet>,
    /// In ascending order.
    pub(super) horizons: Vec<NonZeroUsize>,
    /// True where the horizons are times.
    pub(super) is_hours_ahead: bool,
}

pub(super) struct BacktestResults {
    /// In the order of the loads; without those that an interruption left untouched.
    pub(super) loads: Vec<TestedLoad>,
    pub(super) partial: bool,
}

pub(super) struct TestedLoad {
    pub(super) name: String,
    pub(super) models: Vec<TestedModel>,
}

pub(super) struct TestedModel {
    pub(super) model: ModelSet,
    pub(super) scores: Vec<Score>,
    /// The result of the last estimation of parameters, in words.
    pub(super) found: Option<String>,
    /// Why the model made no forecast, and was left out.
    pub(super) absent: Option<NotReady>,
    /// True where origins were left when it was interrupted.
    pub(super) partial: bool,
    pub(super) fit: Duration,
    pub(super) predict: Duration,
    /// For each horizon the forecasts of all values; empty unless they are to be drawn.
    pub(super) drawn: Vec<BacktestForecastLine>,
}

pub(super) struct BacktestForecastLine {
    pub(super) horizon: NonZeroUsize,
    pub(super) values: Vec<Option<BacktestForecast>>,
}

#[derive(Clone, Copy)]
pub(super) struct BacktestForecast {
    pub(super) mean: f64,
    pub(super) interval80: Interval,
}

/// Runs everything wanted, a file's model with its own data; `draw` keeps the forecasts themselves.
pub(super) fn test(
    loads: &[LoadTrace],
    wanted: &BacktestPlan,
    filed: Option<&BacktestModelFile>,
    draw: bool,
    interrupt: &Interrupt,
) -> BacktestResults {
    let shared = ModelAssets {
        trainer: Some(Arc::new(ModelTrainer::with(cores()))),
        ..ModelAssets::default()
    };
    let size = |load: &LoadTrace| count_as_f64(load.recorded.values().len());
    let all = loads.iter().map(size).sum::<f64>() * count_as_f64(wanted.models.len());
    let (mut bar, mut done) = (Bar::new(true), 0.0);
    let mut tested = BacktestResults {
        loads: Vec::new(),
        partial: false,
    };
    for load in loads {
        let mut models = Vec::new();
        for &model in &wanted.models {
            let of_file = filed.filter(|filed| filed.model() == model);
            let of_file = of_file.map(|filed| filed.shared(load));
            let shared = of_file.as_ref().unwrap_or(&shared);
            let mut run = BacktestRun::new(&load.recorded, model, &wanted.horizons, shared);
            if wanted.is_hours_ahead {
                run = run.hours_ahead();
            }
            let mut tell = |share: f64| {
                let what = format!("{model} on {}", load.name);
                bar.tell((done + share * size(load)) / all, &what);
                interrupt.is_pressed()
            };
            let draw = draw.then_some(wanted.horizons.as_slice());
            let one = test_one(run, model, draw, &mut tell);
            tested.partial |= one.partial;
            models.push(one);
            done += size(load);
            if tested.partial {
                break;
            }
        }
        tested.loads.push(TestedLoad {
            name: load.name.clone(),
            models,
        });
        if tested.partial {
            break;
        }
    }
    bar.finish();
    tested
}

/// One run until its end, the first origin without a forecast, or until `tell`, which gets the
/// share done, says to stop.
fn test_one(
    mut run: BacktestRun<'_>,
    model: ModelSet,
    draw: Option<&[NonZeroUsize]>,
    tell: &mut dyn FnMut(f64) -> bool,
) -> TestedModel {
    let drawn = draw.unwrap_or_default().iter();
    let mut one = TestedModel {
        model,
        scores: Vec::new(),
        found: None,
        absent: None,
        partial: false,
        fit: Duration::ZERO,
        predict: Duration::ZERO,
        drawn: drawn
            .map(|&horizon| BacktestForecastLine::new(horizon))
            .collect(),
    };
    loop {
        let began = clock::instant();
        if !run.observe() {
            break;
        }
        if !run.is_origin() {
            continue;
        }
        if tell(run.progress()) {
            one.partial = true;
            break;
        }
        let mut fitting = Duration::ZERO;
        if run.is_fit_due() {
            let began = clock::instant();
            run.fit();
            fitting = clock::instant().duration_since(began);
        }
        let forecast = run.forecast();
        one.fit += fitting;
        let all = clock::instant().duration_since(began);
        one.predict += all.saturating_sub(fitting);
        match forecast {
            Ok(forecast) => {
                let origin = run.origin();
                let drawn = one.drawn.iter_mut();
                drawn.for_each(|drawn| drawn.take(origin, &forecast));
            }
            Err(absent) => {
                one.absent = Some(absent);
                return one;
            }
        }
    }
    one.scores = run.scores();
    one.found = run.summary();
    one
}

impl BacktestForecastLine {
    const fn new(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            values: Vec::new(),
        }
    }

    fn take(&mut self, origin: usize, forecast: &Forecast) {
        let Some(step) = forecast.steps.get(self.horizon.get() - 1) else {
            return;
        };
        self.values.resize(origin + self.horizon.get(), None);
        self.values.push(Some(BacktestForecast {
            mean: step.mean,
            interval80: step.interval80,
        }));
    }
}
