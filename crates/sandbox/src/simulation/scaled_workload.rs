//! A scaled workload: its Pods, and the load of its requests on all of them together.

use std::sync::Arc;

use evenkeel_forecast::RegularSeries;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_scaling::tracker::fit_times::daily_hour;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Ratio, Resource};
use jiff::{SignedDuration, Timestamp};

use super::responses::{Responses, ServedStep};
use crate::portraits::Portraits;
use crate::scenario::simulation::Simulation;
use crate::scenario::{ScaleBy, Scenario, ScenarioHpa, ScenarioWorkload, Startup, Surge, Traffic};
use crate::target_replay::{
    DailyFit, Edges, FitFunctions, GRID, Knowledge, ReplayEvent, ReplayInput, ReplayLoad,
    ReplayOutcome, ReplayPoint, ReplayPolicy, ReplayTarget, with_noise,
};
use crate::{load, target_replay};

pub(super) struct ScaledWorkload {
    pub(super) target: ReplayTarget,
    /// The HPA's own target.
    pub(super) share: Ratio,
    pub(super) portraits: Option<Arc<Portraits>>,
    load: ReplayLoad,
    /// Hour of the day at which the service fits its trees.
    fit_hour: i64,
    /// Millicores per request per second.
    per_request: f64,
    /// Most that one replica serves per second.
    per_replica: f64,
}

/// Under one way of scaling.
pub(super) struct ScaledRun {
    pub(super) points: Vec<ReplayPoint>,
    pub(super) cost: Cost,
    pub(super) responses: Responses,
    /// Requests beyond the capacity of all ready replicas.
    pub(super) unserved: f64,
}

impl ScaledWorkload {
    /// `None` for a workload without scaling by cpu or without requests. A `seed` varies its surges
    /// and its load.
    pub(super) fn of(
        workload: &ScenarioWorkload,
        scenario: &Scenario,
        seed: Option<RandomSource>,
    ) -> Option<Self> {
        let ScaleBy::Cpu(share) = workload.scale?.by else {
            return None;
        };
        let traffic = workload.traffic.as_ref()?;
        let target = target(workload, &scenario.simulation)?;
        let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
        let stream = seed.map(|seed| seed.stream(&workload.namespace).stream(&workload.name));
        let load = match stream {
            Some(stream) => {
                let moved = moved(traffic, stream);
                let load = series(workload, &moved, scenario)?;
                with_noise(load, traffic.noise, stream.stream("noise"))
            }
            None => series(workload, traffic, scenario)?,
        };
        let begin = load.start().checked_add(scenario.past).ok()?;
        Some(Self {
            target,
            share,
            portraits: workload.portraits.clone(),
            load: ReplayLoad::new(load, begin).ok()?.created(),
            fit_hour: daily_hour(&workload.namespace, "Deployment", &workload.name),
            per_request,
            per_replica: traffic.per_replica,
        })
    }

    /// Under an HPA, above floors or not, with the service's fits.
    pub(super) fn by_hpa(&self, policy: ReplayPolicy, fits: FitFunctions<'_>) -> ScaledRun {
        self.observed(policy, fits, &mut |_| ())
    }

    /// Shows `observe` all inputs of the floors.
    pub(super) fn observed(
        &self,
        policy: ReplayPolicy,
        fits: FitFunctions<'_>,
        observe: &mut dyn FnMut(ReplayEvent<'_>),
    ) -> ScaledRun {
        let input = ReplayInput {
            target: &self.target,
            load: &self.load,
            knowledge: &self.knowledge(fits),
            with_points: true,
        };
        self.run(target_replay::replay_observed(policy, input, observe))
    }

    pub(super) fn by_portraits(&self, portraits: &Portraits, fits: FitFunctions<'_>) -> ScaledRun {
        let knowledge = self.knowledge(fits);
        self.run(target_replay::replay_portraits(
            &self.target,
            portraits,
            &self.load,
            &knowledge,
        ))
    }

    fn knowledge<'a>(&self, fits: FitFunctions<'a>) -> Knowledge<'a> {
        let hour = self.fit_hour;
        Knowledge {
            own: Some(DailyFit { hour, fits }),
            ..Knowledge::default()
        }
    }

    fn run(&self, replayed: ReplayOutcome) -> ScaledRun {
        let ReplayOutcome { cost, points, .. } = replayed;
        let step = |point: &ReplayPoint| ServedStep {
            seconds: GRID.as_secs_f64(),
            offered: point.load.unwrap_or(0.0) / self.per_request,
            ready: point.ready,
            per_replica: self.per_replica,
        };
        ScaledRun {
            cost,
            responses: Responses::of(points.iter().map(step)),
            unserved: points.iter().map(|point| step(point).unserved()).sum(),
            points,
        }
    }
}

/// Changes of the count, after the first.
pub(super) fn changes(points: &[ReplayPoint]) -> usize {
    let pairs = points.windows(2);
    pairs
        .filter(|pair| pair[0].replicas != pair[1].replicas)
        .count()
}

fn moved(traffic: &Traffic, seed: RandomSource) -> Traffic {
    let surges = traffic.surges.iter().enumerate();
    let surges = surges.map(|(place, surge): (usize, &Surge)| {
        let place = format!("surge {place}");
        surge.moved(seed.stream(&place))
    });
    Traffic {
        surges: surges.collect(),
        ..traffic.clone()
    }
}

fn target(workload: &ScenarioWorkload, simulation: &Simulation) -> Option<ReplayTarget> {
    let ScenarioHpa { min, max, .. } = workload.scale?;
    let bound = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let (_, capacity) = workload.capacity()?;
    let carried = capacity.request() * capacity.target();
    let Startup {
        pull,
        start,
        warm_up,
    } = workload.startup;
    Some(ReplayTarget {
        resource: Resource::Cpu,
        capacity,
        bounds: ReplicaBounds::new(bound(min), bound(max)).ok()?,
        start_up: pull.saturating_add(start).saturating_add(warm_up),
        metrics: simulation.timing(),
        edges: Edges {
            warm_up: workload.usage.warm_up[Resource::Cpu].as_f64() / carried,
            settling: SignedDuration::ZERO,
            ending: workload.shutdown,
        },
        initial: Some(bound(workload.replicas)),
    })
}

/// Millicores that the workload's requests need, on the grid of an HPA, from the begin of the
/// scenario's past on.
fn series(
    workload: &ScenarioWorkload,
    traffic: &Traffic,
    scenario: &Scenario,
) -> Option<RegularSeries> {
    let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
    let Scenario { past, .. } = *scenario;
    let length = scenario
        .simulation
        .duration
        .saturating_sub(workload.arrival)
        .saturating_add(past);
    let begin = workload.arrival.saturating_sub(past);
    let steps = i32::try_from(length.as_secs() / GRID.as_secs()).ok()?;
    let value = |step: i32| {
        let at = begin.saturating_add(GRID * step);
        let in_trace = at.saturating_add(scenario.trace_offset);
        Some(load::serve(traffic, in_trace, u32::MAX).offered * per_request)
    };
    let values = (0..=steps).map(value).collect();
    let start = midnight(past)?.checked_add(begin).ok()?;
    RegularSeries::new(start, GRID, values).ok()
}

/// Calendar begin of a run: a midnight with room for its past.
fn midnight(past: SignedDuration) -> Option<Timestamp> {
    let day = SignedDuration::from_hours(24).as_secs();
    let days = (past.as_secs() + day - 1) / day;
    Timestamp::from_second(days * day).ok()
}
