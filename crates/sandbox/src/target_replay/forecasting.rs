//! Decides each tick's floor from a forecast, or the count by portraits that may forecast, and
//! scores the forecasts. It uses the service's own state of a target. `auto` and `s-hpa` are the
//! models of `predict: auto` and `predict: ds-hpa`; other models are for comparison.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_forecast::{Distrust, ModelAssets, ModelSet, ModelTrust, RegularSeries, Resolution};
use evenkeel_hpa::Tolerances;
use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use evenkeel_scaling::load::horizon::{Horizon, Lead};
use evenkeel_scaling::load::observation::LoadSample;
use evenkeel_scaling::load::sum::Certainty;
use evenkeel_scaling::recommend::policy::TargetPolicy;
use evenkeel_scaling::targets::settings::Settings;
use evenkeel_scaling::tracker::{FitEnd, FitTask, LoadTracker, ScaledSignal, TickInput};
use jiff::Timestamp;

use super::forecast_inputs::{DailyFit, Knowledge};
use super::observed_replay::ReplayEvent;
use super::settings::{Floors, Forecasts, GRID, IntervalForecast, ReplayTarget};
use super::tick::{PortraitStep, TickDecision, TickObservation};
use super::{coarse_history, forecast_inputs};
use crate::portraits::Portraits;

pub(super) struct Forecaster {
    policy: TargetPolicy,
    signals: [ScaledSignal; 1],
    tracker: LoadTracker,
    /// `None` without forecasts.
    models: Option<ModelSet>,
    shared: ModelAssets,
    last: Option<TickDecision>,
    /// Not judged yet, in the order of their due times.
    issued: VecDeque<IssuedForecast>,
    /// The last certain load.
    taken: Option<LoadSample>,
    /// Certain loads, as far back as forecasts wait for their time.
    recent: VecDeque<(Timestamp, f64)>,
    tally: Tally,
}

/// With the load that it was made on.
#[derive(Debug, Clone, Copy)]
struct IssuedForecast {
    /// Time of that load.
    made: Timestamp,
    due: Timestamp,
    expected: IntervalForecast,
    naive: f64,
}

/// Over a run.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    scored: u32,
    error: f64,
    naive: f64,
    inside: f64,
    measured: f64,
    trusted: f64,
}

impl Forecaster {
    pub(super) fn floors(target: &ReplayTarget, floors: Floors) -> Self {
        let policy = TargetPolicy {
            scale_down: floors.scale_down,
            ..policy(target, ScalingMode::Floor, floors.risk)
        };
        Self::new(target, Some(floors.models), policy)
    }

    /// Decides counts by portraits, which may forecast.
    pub(super) fn portraits(target: &ReplayTarget, portraits: &Portraits) -> Self {
        let predictive = portraits.predictive().map(|(_, settings)| settings);
        let risk = predictive.and_then(|settings| settings.risk);
        let scale_down = predictive.and_then(|settings| settings.scale_down);
        let reactive = portraits.reactive().map(|(_, settings)| settings);
        let policy = TargetPolicy {
            behavior: reactive.and_then(|settings| settings.behavior.clone()),
            scale_down: scale_down.unwrap_or_default(),
            ..policy(target, ScalingMode::Direct, risk.unwrap_or_default())
        };
        let models = predictive.and_then(|settings| settings.predict.models());
        Self::new(target, models, policy)
    }

    fn new(target: &ReplayTarget, models: Option<ModelSet>, policy: TargetPolicy) -> Self {
        Self {
            policy,
            signals: [ScaledSignal {
                signal: Signal::from(target.resource),
                capacity: target.capacity,
                scope: ValueScope::Whole,
                is_forecast: true,
                only_here: false,
            }],
            tracker: LoadTracker::default(),
            models,
            shared: ModelAssets::default(),
            last: None,
            issued: VecDeque::new(),
            taken: None,
            recent: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    /// With the known weights of `global`.
    pub(super) fn with(mut self, knowledge: &Knowledge<'_>) -> Self {
        self.shared.peaks = Arc::clone(&knowledge.global);
        self
    }

    /// Makes the due fits, each on the past up to its time, like the service between two ticks.
    pub(super) fn fit_due(
        &mut self,
        now: Timestamp,
        own: DailyFit<'_>,
        past: impl Fn(Timestamp) -> Option<RegularSeries>,
    ) {
        let DailyFit { hour, fits } = own;
        let [ScaledSignal { signal, .. }] = &self.signals;
        let due = self.tracker.fits_due(hour, now);
        let due: Vec<_> = due.map(|fit| (fit.window, fit.lesson, fit.end)).collect();
        for (window, lesson, end) in due {
            self.tracker.fitting(signal, hour, now);
            let past = past(end).map(|past| forecast_inputs::bridged(&past));
            let end = past.and_then(|past| match &lesson {
                FitTask::Trees(pods) => {
                    (fits.trees)(&past, window, pods).map(|learnt| FitEnd::Learnt(Box::new(learnt)))
                }
                FitTask::Model(models) => (fits.model)(&past, window, *models)
                    .ok()
                    .map(|model| FitEnd::Model(Box::new(model))),
            });
            let end = end.unwrap_or(FitEnd::TooShort);
            self.tracker.fitted(signal, end, now);
        }
    }

    /// Learns from the past before the first tick at `now`, like the service from a database at its
    /// start; `observe` sees each part.
    pub(super) fn learn(
        &mut self,
        past: &RegularSeries,
        now: Timestamp,
        observe: &mut dyn FnMut(ReplayEvent<'_>),
    ) {
        for resolution in Resolution::ALL {
            let [ScaledSignal { signal, .. }] = &self.signals;
            let means = coarse_history::means(past, resolution.step(), now);
            let points: Vec<_> = means.iter().flat_map(coarse_history::points).collect();
            self.tracker
                .refill(signal, resolution, points.iter().copied(), now);
            observe(ReplayEvent::Past {
                resolution,
                points: &points,
                now,
            });
        }
    }

    /// For the tick at `now`; call it before [`Self::decide`].
    pub(super) fn expected(&self, now: Timestamp) -> Option<IntervalForecast> {
        let mut issued = self.issued.iter();
        let due = issued.find(|issued| is_of(issued.due, now));
        due.map(|issued| issued.expected)
    }

    /// At the last tick.
    pub(super) fn horizon(&self) -> Horizon {
        self.last.map(|answer| answer.horizon).unwrap_or_default()
    }

    pub(super) fn decide(&mut self, seen: &TickObservation<'_>) -> TickDecision {
        let answer = self.tick(seen);
        let before = self.taken.map(|taken| taken.load.sum);
        let measured = seen.measured.map(|sample| LoadSample {
            load: sample.load.after(before),
            ..sample
        });
        let certain = measured.filter(|sample| {
            let is_certain = sample.load.certainty == Certainty::Certain;
            is_certain && self.taken.is_none_or(|taken| taken.at < sample.at)
        });
        if let Some(sample) = certain {
            self.taken = Some(sample);
            let due = self.due(sample.at);
            self.recent.push_back((sample.at, sample.load.sum));
            let actual = due.map_or(sample.load.sum, |due| self.came_of(&due));
            self.tally.count(actual, due, answer.trust);
        }
        let issued = answer.ahead.zip(self.taken);
        self.issued
            .extend(issued.map(|((due, step), taken)| IssuedForecast {
                made: taken.at,
                due,
                expected: IntervalForecast {
                    mean: step.mean,
                    interval80: step.interval80,
                },
                naive: taken.load.sum,
            }));
        self.last = Some(answer);
        answer
    }

    /// The load for the comparison; for `auto` the largest since the forecast was made.
    fn came_of(&mut self, due: &IssuedForecast) -> f64 {
        let is_over = |&(at, _): &(Timestamp, f64)| at <= due.made;
        while self.recent.front().is_some_and(is_over) {
            self.recent.pop_front();
        }
        let last = self.recent.back().map(|(_, load)| *load);
        let largest = self.recent.iter().map(|(_, load)| *load).reduce(f64::max);
        let came = if self.models == Some(ModelSet::Auto) {
            largest
        } else {
            last
        };
        came.unwrap_or(due.naive)
    }

    /// The forecast for `at`; earlier ones are dropped.
    fn due(&mut self, at: Timestamp) -> Option<IssuedForecast> {
        while let Some(first) = self.issued.front() {
            if is_of(first.due, at) {
                return self.issued.pop_front();
            }
            if first.due > at {
                return None;
            }
            self.issued.pop_front();
        }
        None
    }

    fn tick(&mut self, seen: &TickObservation<'_>) -> TickDecision {
        let is_forecast = self.models.is_some();
        if let Some(sample) = seen.measured.as_ref().filter(|_| is_forecast) {
            let [ScaledSignal { signal, .. }] = &self.signals;
            // Only invalid loads are refused, and a load has been checked.
            let _ = self.tracker.measure(signal, sample, seen.now);
        }
        let input = TickInput {
            traffic: None,
            now: seen.now,
            current: seen.current,
            ready: seen.ready,
            reaction: seen.reaction,
            models: self.models,
            signals: if is_forecast { &self.signals } else { &[] },
            recorded: None,
            portraits: seen.portraits,
            shared: &self.shared,
        };
        self.policy.lead = Lead::of(seen.starts, GRID);
        let report = self.tracker.tick(&self.policy, &input);
        let due = seen.now.checked_add(report.horizon.ahead());
        let model = report.loads.first().and_then(|load| load.model);
        let unproven = ModelTrust::Untrusted(Distrust::Unproven { scored: 0 });
        let step = report.portrayed.as_ref().map(|portrayed| PortraitStep {
            counts: portrayed.staged.counts,
            change: portrayed.staged.change,
        });
        TickDecision {
            replicas: report.decision.replicas,
            step,
            ahead: due.ok().zip(model.and_then(|model| model.at_horizon)),
            horizon: report.horizon,
            model: model.map_or("none", |model| model.name),
            trust: model.map_or(unproven, |model| model.trust),
            accuracy: model.map(|model| model.accuracy),
        }
    }

    pub(super) fn forecasts(&self) -> Forecasts {
        let tally = self.tally;
        let mean = |sum: f64| sum / f64::from(tally.scored.max(1));
        let unproven = ModelTrust::Untrusted(Distrust::Unproven { scored: 0 });
        Forecasts {
            model: self.last.map(|answer| answer.model),
            scored: tally.scored,
            mae: mean(tally.error),
            naive_mae: mean(tally.naive),
            coverage80: mean(tally.inside),
            trusted_share: tally.trusted / tally.measured.max(1.0),
            recent: self.last.and_then(|answer| answer.accuracy),
            trust: self.last.map_or(unproven, |answer| answer.trust),
        }
    }
}

impl Tally {
    /// Compares a tick's forecast with its measurement.
    fn count(&mut self, actual: f64, due: Option<IssuedForecast>, trust: ModelTrust) {
        let one = |is: bool| if is { 1.0 } else { 0.0 };
        self.measured += 1.0;
        self.trusted += one(trust.is_trusted());
        if let Some(IssuedForecast {
            expected, naive, ..
        }) = due
        {
            self.scored += 1;
            self.error += (actual - expected.mean).abs();
            self.naive += (actual - naive).abs();
            self.inside += one(expected.interval80.contains(actual));
        }
    }
}

/// `at` is the step of the grid nearest to `due`.
fn is_of(due: Timestamp, at: Timestamp) -> bool {
    due.duration_since(at).abs() * 2 <= GRID
}

fn policy(target: &ReplayTarget, mode: ScalingMode, risk: Risk) -> TargetPolicy {
    TargetPolicy {
        mode,
        bounds: target.bounds,
        behavior: None,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        lead: Lead::of(&[target.start_time()], GRID),
        max_age: Settings::default().max_age,
        risk,
    }
}
