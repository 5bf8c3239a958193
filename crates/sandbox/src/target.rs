//! One target under a load that is given: how many replicas a plain HPA would have, and how many
//! with a floor that Evenkeel raises ahead of the load.
//!
//! Both sides have the same load, the same HPA, Pods that take the same time to be ready, and
//! metrics that lag as an exporter's do; they differ in the floor only. The floor comes from
//! [`evenkeel_core::scaling::tracker`], which the service runs too, and the HPA looks at it one tick
//! after it was decided. The load is shared by the Pods that are ready, whatever they request.

mod forecasting;
mod replicas;
mod settings;
mod tick;

pub use replicas::Cost;
pub use settings::{Edges, Expected, Forecasts, GRID, Target};

use jiff::Timestamp;

use evenkeel_core::forecast::{ModelSet, Series};
use evenkeel_core::scaling::horizon::Horizon;
use evenkeel_core::units::count_as_f64;
use forecasting::FloorForecaster;
use replicas::ScaledPods;
use tick::TickObservation;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub at: Timestamp,
    /// The load; `None` in a gap.
    pub load: Option<f64>,
    /// The forecast that was made for now.
    pub forecast: Option<Expected>,
    /// The replicas that Evenkeel's floor and the HPA led to.
    pub replicas: i32,
    /// The floor: the `minReplicas`.
    pub floor: i32,
    /// The replicas of the HPA alone.
    pub plain: i32,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub points: Vec<Point>,
    /// What passed between a load and the capacity for it, at the end.
    pub horizon: Horizon,
    pub evenkeel: Cost,
    pub plain: Cost,
    /// How good the forecasts were, over the whole run.
    pub forecasts: Forecasts,
}

/// Runs both sides through `load`, whose steps are those of [`GRID`], and tells `progress` the
/// share that is done now and then.
#[must_use]
pub fn run(
    target: &Target,
    models: ModelSet,
    load: &Series,
    progress: &mut dyn FnMut(f64),
) -> Outcome {
    let initial = target.initial(load);
    let (mut evenkeel, mut plain) = (
        ScaledPods::new(target, initial),
        ScaledPods::new(target, initial),
    );
    let mut forecaster = FloorForecaster::new(target, models);
    let mut floor = target.bounds.min();
    let mut points = Vec::with_capacity(load.values().len());
    for (now, value) in ticks(load, progress) {
        let at = now.duration_since(load.start());
        let reactive = evenkeel.sync(at, value, floor);
        plain.sync(at, value, target.bounds.min());
        points.push(Point {
            at: now,
            load: value,
            forecast: forecaster.expected(now),
            replicas: evenkeel.replicas(),
            floor,
            plain: plain.replicas(),
        });
        floor = forecaster.decide(&TickObservation {
            now,
            measured: evenkeel.measured(at, now),
            current: evenkeel.replicas(),
            reactive,
        });
        evenkeel.pass(at, value);
        plain.pass(at, value);
    }
    Outcome {
        points,
        horizon: forecaster.horizon(),
        evenkeel: evenkeel.cost(),
        plain: plain.cost(),
        forecasts: forecaster.forecasts(),
    }
}

/// The replicas of a plain HPA under `load` at each of its steps, and what they came to.
#[must_use]
pub fn plain(target: &Target, load: &Series) -> (Vec<i32>, Cost) {
    let mut plain = ScaledPods::new(target, target.initial(load));
    let mut replicas = Vec::with_capacity(load.values().len());
    for (now, value) in ticks(load, &mut |_| ()) {
        let at = now.duration_since(load.start());
        plain.sync(at, value, target.bounds.min());
        replicas.push(plain.replicas());
        plain.pass(at, value);
    }
    (replicas, plain.cost())
}

/// The costs of replicas that were observed under `load`, step for step; one that is missing is as
/// the one before.
#[must_use]
pub fn observed(target: &Target, load: &Series, replicas: &[Option<i32>]) -> Cost {
    let mut side = ScaledPods::new(target, target.initial(load));
    let counts = replicas.iter().copied().chain(std::iter::repeat(None));
    for ((now, value), count) in ticks(load, &mut |_| ()).zip(counts) {
        let at = now.duration_since(load.start());
        if let Some(count) = count {
            side.scale_to(count.max(0), at);
        }
        side.pass(at, value);
    }
    side.cost()
}

/// The steps of a load with their times.
fn ticks<'a>(
    load: &'a Series,
    progress: &'a mut dyn FnMut(f64),
) -> impl Iterator<Item = (Timestamp, Option<f64>)> + 'a {
    let all = count_as_f64(load.values().len());
    let mut next = load.start();
    load.values()
        .iter()
        .enumerate()
        .map(move |(index, &value)| {
            if index % 1000 == 0 {
                progress(count_as_f64(index) / all);
            }
            let now = next;
            next = now.checked_add(GRID).unwrap_or(Timestamp::MAX);
            (now, value)
        })
}

#[cfg(test)]
mod disturbances;
#[cfg(test)]
mod tests;
