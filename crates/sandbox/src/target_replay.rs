//! One target under a given load: the replicas of a plain HPA, and those with a floor that Evenkeel
//! raises ahead of the load. Both sides have the same load, HPA, start of Pods and lag of metrics.
//! The floor comes from [`evenkeel_scaling::tracker`], which the service runs too, and the
//! HPA sees it one tick after its decision. The ready Pods share the load, whatever they request.

mod coarse_history;
mod cost_parts;
mod forecast_inputs;
mod forecasting;
mod hpa_run;
mod noise;
mod observed_pods;
mod observed_replay;
mod portrait_scaling;
mod replay;
mod replay_policy;
mod replicas;
mod seasonal_rule;
mod settings;
mod tick;

pub use cost_parts::PART;
pub use forecast_inputs::{DailyFit, FitFunctions, FitModel, Knowledge, LearnOwn, minutes_of};
pub use noise::with_noise;
pub use observed_replay::{ObservedTick, ReplayEvent};
pub use replay::{ReplayError, ReplayLoad, ReplayOutcome, ReplayPoint, replay, replay_portraits};
pub(crate) use replay::{ReplayInput, replay_observed};
pub use replay_policy::ReplayPolicy;
pub use seasonal_rule::{Season, SeasonalRule};
pub use settings::{Edges, Floors, Forecasts, GRID, IntervalForecast, ReplayTarget};

use evenkeel_forecast::{ModelSet, RegularSeries};
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_units::count_as_f64;
use forecasting::Forecaster;
use hpa_run::{ReplayTick, ReplayTickState, Side};
use jiff::Timestamp;
use replicas::ScaledPods;
use settings::Start;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetRunPoint {
    pub at: Timestamp,
    /// `None` in a gap.
    pub load: Option<f64>,
    /// Made earlier for this time.
    pub forecast: Option<IntervalForecast>,
    /// By Evenkeel's floor and the HPA.
    pub replicas: i32,
    /// `minReplicas`.
    pub floor: i32,
    /// Replicas of the HPA alone.
    pub plain: i32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TargetRunOutcome {
    pub points: Vec<TargetRunPoint>,
    /// At the end of the run.
    pub horizon: Horizon,
    pub evenkeel: Cost,
    pub plain: Cost,
    /// Accuracy over the whole run.
    pub forecasts: Forecasts,
}

/// Runs both sides through `load`, which has the steps of [`GRID`]. Calls `progress` with the
/// finished share.
pub fn run(
    target: &ReplayTarget,
    models: ModelSet,
    load: &RegularSeries,
    progress: &mut dyn FnMut(f64),
) -> TargetRunOutcome {
    let own = target.capacity.target();
    let mut forecaster = Forecaster::floors(target, Floors::by(models));
    let mut plain = Side::new(target, load, own, Start::Settled);
    let mut evenkeel = Side::new(target, load, own, Start::Settled);
    let mut points = Vec::with_capacity(load.values().len());
    for tick in ticks(load, progress) {
        let ReplayTickState {
            replicas,
            floor,
            forecast,
            ..
        } = evenkeel.tick(&tick, Some(&mut forecaster));
        points.push(TargetRunPoint {
            at: tick.now,
            load: tick.load,
            forecast,
            replicas,
            floor,
            plain: plain.tick(&tick, None).replicas,
        });
    }
    TargetRunOutcome {
        points,
        horizon: forecaster.horizon(),
        evenkeel: evenkeel.cost(),
        plain: plain.cost(),
        forecasts: forecaster.forecasts(),
    }
}

/// The replicas of a plain HPA under `load` at each of its steps, and what they came to.
#[cfg(test)]
fn plain(target: &ReplayTarget, load: &RegularSeries) -> (Vec<i32>, Cost) {
    let mut plain = Side::new(target, load, target.capacity.target(), Start::Settled);
    let mut quiet = |_| ();
    let all = ticks(load, &mut quiet);
    let replicas = all.map(|tick| plain.tick(&tick, None).replicas).collect();
    (replicas, plain.cost())
}

/// Costs of observed replicas under `load`, step for step; a missing count is as the one before.
pub fn observed(target: &ReplayTarget, load: &RegularSeries, replicas: &[Option<i32>]) -> Cost {
    let mut side = ScaledPods::new(target, load, target.capacity.target(), Start::Settled);
    let counts = replicas.iter().copied().chain(std::iter::repeat(None));
    for (tick, count) in ticks(load, &mut |_| ()).zip(counts) {
        if let Some(count) = count {
            side.scale_to(count.max(0), tick.at);
        }
        side.pass(tick.at, tick.load);
    }
    side.cost()
}

fn ticks<'a>(
    load: &'a RegularSeries,
    progress: &'a mut dyn FnMut(f64),
) -> impl Iterator<Item = ReplayTick> + 'a {
    let all = count_as_f64(load.values().len());
    let mut next = load.start();
    load.values()
        .iter()
        .enumerate()
        .map(move |(index, &load_then)| {
            if index % 1000 == 0 {
                progress(count_as_f64(index) / all);
            }
            let now = next;
            next = now.checked_add(GRID).unwrap_or(Timestamp::MAX);
            ReplayTick {
                now,
                at: now.duration_since(load.start()),
                load: load_then,
            }
        })
}

#[cfg(test)]
mod tests;
