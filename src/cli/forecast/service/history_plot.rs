//! From the service's answers to a plot: the past on the grid, a simulated plain HPA, and both
//! costs.

use jiff::{SignedDuration, Timestamp};

use super::target_query::{TargetHistoryAnswer, TargetHistoryQuery};
use crate::api::history::HistoryPoint;
use crate::api::scaling::{ForecastTrust, LoadStatus, ScalingStatus};
use crate::cli::forecast::report::{Costs, ForecastOf, Plot, PlotAccuracy, PlotPoint, base_unit};
use evenkeel_core::forecast::{GlobalPeaks, OwnPeaks, RegularSeries};
use evenkeel_core::scaling::ReplicaBounds;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::pareto_frontier::Cost;
use evenkeel_core::units::{Ratio, count_as_f64};
use evenkeel_sandbox::scrape_timing::Timing;
use evenkeel_sandbox::target::{self, Edges, GRID, ReplayTarget};

/// Most steps between the first point and the last: half a year.
const MOST_STEPS: usize = 1_000_000;

pub(super) fn compose(
    query: &TargetHistoryQuery<'_>,
    answer: TargetHistoryAnswer,
) -> Result<Plot, String> {
    let TargetHistoryAnswer {
        target: status,
        resource,
        history,
    } = answer;
    let mut loads = status.loads.iter();
    let load = loads.find(|load| *load.resource == *resource.as_str());
    let load = load.ok_or_else(|| format!("the target does not scale by {resource}"))?;
    let horizon = status
        .horizon_seconds
        .ok_or("nothing has been decided yet")?;
    let horizon = SignedDuration::from_secs(horizon);
    let simulated = ReplayTarget {
        resource,
        capacity: capacity(load)?,
        bounds: bounds(&status)?,
        start_up: query.start_up.unwrap_or_else(|| start_up(&status, horizon)),
        metrics: timing(&status),
        edges: Edges::default(),
        initial: history.points.iter().find_map(|point| point.replicas),
    };
    let past = GridHistory::align(&history.points)?;
    let (plain_hpa, plain_cost) = target::plain(&simulated, &past.load);
    let points = past.beside(&plain_hpa);
    Ok(Plot {
        source: format!("{}/{}", query.namespace, query.name),
        resource,
        unit: base_unit(resource).to_owned(),
        step_seconds: GRID.as_secs(),
        request: load.request,
        target: load.target,
        min: simulated.bounds.min(),
        max: simulated.bounds.max(),
        start_up_seconds: simulated.start_up.as_secs(),
        horizon_seconds: horizon.as_secs(),
        model: load.forecast.as_ref().map(|told| told.model.to_string()),
        from: past.load.start(),
        to: past.load.end(),
        costs: Costs {
            evenkeel: past.cost(&simulated).into(),
            plain_hpa: plain_cost.into(),
        },
        forecast: accuracy(&points, horizon, load),
        notes: Vec::new(),
        points,
    })
}

/// The time that the target's Pods take to start. A service that does not tell the parts of its
/// horizon has added no more to it than a tick.
fn start_up(status: &ScalingStatus, horizon: SignedDuration) -> SignedDuration {
    status.horizon_parts.map_or_else(
        || horizon.saturating_sub(GRID),
        |parts| SignedDuration::from_secs(parts.start_up + parts.node_start_up),
    )
}

/// How late the HPA sees a load. The service tells it for its own time; one that does not tell its
/// rate window tells a load that lags already.
fn timing(status: &ScalingStatus) -> Timing {
    let parts = status.horizon_parts;
    let window = parts.map_or(GRID, |parts| {
        SignedDuration::from_secs(parts.half_window) * 2
    });
    Timing {
        interval: GRID,
        window: window.max(GRID),
    }
}

fn capacity(load: &LoadStatus) -> Result<PodCapacity, String> {
    let share = Ratio::new(load.target).map_err(|error| error.to_string())?;
    PodCapacity::new(load.request, share).map_err(|error| error.to_string())
}

fn bounds(status: &ScalingStatus) -> Result<ReplicaBounds, String> {
    let max = status.max.ok_or("the target has no bounds")?;
    ReplicaBounds::new(status.min.unwrap_or(1), max).map_err(|error| error.to_string())
}

struct GridHistory {
    load: RegularSeries,
    /// One for each step of the load; `None` for a step that the service left out.
    points: Vec<Option<HistoryPoint>>,
}

impl GridHistory {
    /// Puts points on the grid, from the first to the last.
    fn align(points: &[HistoryPoint]) -> Result<Self, String> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err("the target has no history yet".to_owned());
        };
        let place = |at: Timestamp| {
            let steps = at.duration_since(first.at).as_secs() / GRID.as_secs();
            usize::try_from(steps).map_err(|_| "its points go back in time".to_owned())
        };
        let count = place(last.at)? + 1;
        if count > MOST_STEPS {
            return Err("its points are years apart".to_owned());
        }
        let mut on_grid: Vec<Option<HistoryPoint>> = vec![None; count];
        for point in points {
            let slot = on_grid.get_mut(place(point.at)?);
            *slot.ok_or("its points go back in time")? = Some(*point);
        }
        let loads = on_grid.iter().map(|point| point.as_ref()?.load);
        let load = RegularSeries::new(first.at, GRID, loads.collect());
        Ok(Self {
            load: load.map_err(|error| error.to_string())?,
            points: on_grid,
        })
    }

    /// Each step beside the replicas that a plain HPA would have had.
    fn beside(&self, plain_hpa: &[i32]) -> Vec<PlotPoint> {
        let mut at = self.load.start();
        let steps = self
            .points
            .iter()
            .zip(plain_hpa)
            .map(|(point, &plain_hpa)| {
                let now = at;
                at = now.checked_add(GRID).unwrap_or(Timestamp::MAX);
                let forecast = point.and_then(|point| point.forecast);
                PlotPoint {
                    at: now,
                    load: point.and_then(|point| point.load),
                    forecast: forecast.map(|band| band.mean),
                    lower80: forecast.map(|band| band.lower80),
                    upper80: forecast.map(|band| band.upper80),
                    current: point.and_then(|point| point.replicas),
                    floor: point.and_then(|point| point.floor),
                    plain_hpa,
                }
            });
        steps.collect()
    }

    fn cost(&self, target: &ReplayTarget) -> Cost {
        let replicas = self.points.iter().map(|point| point.as_ref()?.replicas);
        let replicas: Vec<Option<i32>> = replicas.collect();
        target::observed(target, &self.load, &replicas)
    }
}

/// A forecast that was due, scored against the load and against the load one horizon before.
struct PlotForecastScore {
    error: f64,
    naive_error: f64,
    inside: bool,
}

fn accuracy(points: &[PlotPoint], horizon: SignedDuration, load: &LoadStatus) -> PlotAccuracy {
    let trust = load.trust.as_ref();
    let told = load.forecast.as_ref();
    let of = match told.map(|told| told.model.as_ref()) {
        Some(GlobalPeaks::NAME | OwnPeaks::NAME) => ForecastOf::Largest,
        _ => ForecastOf::Load,
    };
    let ahead = (horizon.as_secs() + GRID.as_secs() - 1) / GRID.as_secs();
    let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
    let due = points.iter().enumerate().skip(ahead).zip(points);
    let scored: Vec<PlotForecastScore> = due
        .filter_map(|((index, point), before)| {
            let since = match of {
                ForecastOf::Load => index,
                ForecastOf::Largest => index - ahead.saturating_sub(1).min(index),
            };
            let loads = points[since..=index].iter().map(|point| point.load);
            let largest = loads
                .collect::<Option<Vec<f64>>>()?
                .into_iter()
                .reduce(f64::max);
            let (actual, forecast, naive) = (largest?, point.forecast?, before.load?);
            Some(PlotForecastScore {
                error: (actual - forecast).abs(),
                naive_error: (actual - naive).abs(),
                inside: point.lower80? <= actual && actual <= point.upper80?,
            })
        })
        .collect();
    let count = count_as_f64(scored.len());
    let mean = |sum: f64| (count > 0.0).then(|| sum / count);
    let inside = scored.iter().filter(|scored| scored.inside).count();
    PlotAccuracy {
        of,
        scored: u32::try_from(scored.len()).unwrap_or(u32::MAX),
        mae: mean(scored.iter().map(|scored| scored.error).sum()),
        naive_mae: mean(scored.iter().map(|scored| scored.naive_error).sum()),
        coverage80: mean(count_as_f64(inside)),
        trusted_share: None,
        trust: trust.map_or_else(|| "no forecast".to_owned(), verdict),
    }
}

/// The verdict on a model in words, with the word itself once.
fn verdict(trust: &ForecastTrust) -> String {
    let word = if trust.trusted {
        "trusted"
    } else {
        "not trusted"
    };
    if trust.reason.starts_with(word) {
        trust.reason.clone()
    } else {
        format!("{word} ({})", trust.reason)
    }
}
