//! How many replicas each workload has at which time: as the scenario says, or as its HorizontalPodAutoscaler
//! asks for under the traffic of the scenario.
//!
//! Replicas are worked out before anything is placed, by [`crate::target`], which runs the HPA with the
//! Pods' start and the metrics' lag. So all policies place the same Pods at the same times, and what they
//! differ in is placement alone; that a Pod which waits for a node is ready later is left out of it.

use jiff::{SignedDuration, Timestamp};

use crate::load;
use crate::scenario::simulation::Simulation;
use crate::scenario::{Scale, ScaleBy, Scenario, Workload};
use crate::scrape::Timing;
use crate::target::{self, Edges, GRID, Target};
use evenkeel_core::forecast::{ModelSet, Series};
use evenkeel_core::scaling::Bounds;
use evenkeel_core::scaling::frontier::Cost;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::units::{Ratio, Resource};

/// Who scales the workloads that have an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// The HPA alone.
    Hpa,
    /// The HPA above Evenkeel's floors by `auto`.
    Ahead,
}

/// The replicas of all workloads over a run.
#[derive(Debug, Clone, Default)]
pub struct Replicas {
    /// By workload, the times of changes with the count from then on; the first is its arrival.
    changes: Vec<Vec<(SignedDuration, u32)>>,
    /// What passed under scaling, over all workloads.
    pub cost: Cost,
    /// How often a count changed, after the first.
    pub scalings: usize,
}

impl Replicas {
    /// The counts of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario, scaling: Scaling) -> Self {
        let mut all = Self::default();
        for workload in &scenario.workloads {
            let mut changes = created(workload, scenario.simulation.apart);
            if let Some((counts, cost)) = scaled(workload, scenario, scaling) {
                all.cost.replica_hours += cost.replica_hours;
                all.cost.under_provisioned_seconds += cost.under_provisioned_seconds;
                all.cost.overloaded_seconds += cost.overloaded_seconds;
                all.scalings += counts.len().saturating_sub(1);
                changes = counts;
            }
            all.changes.push(changes);
        }
        all
    }

    /// The count of a workload at a time, and the time of its next change.
    #[must_use]
    pub fn at(&self, index: usize, at: SignedDuration) -> (u32, Option<SignedDuration>) {
        let Some(changes) = self.changes.get(index) else {
            return (0, None);
        };
        let next = changes.partition_point(|(time, _)| *time <= at);
        let count = next.checked_sub(1).map_or(0, |last| changes[last].1);
        (count, changes.get(next).map(|(time, _)| *time))
    }
}

/// The counts of a workload while its replicas are made, one after another.
fn created(workload: &Workload, apart: SignedDuration) -> Vec<(SignedDuration, u32)> {
    if apart.is_zero() {
        return vec![(workload.arrival, workload.replicas)];
    }
    let made = 1..=workload.replicas;
    let times = std::iter::successors(Some(workload.arrival), |at| at.checked_add(apart));
    times.zip(made).collect()
}

/// The counts of a workload that is scaled by cpu, from its arrival on; `None` for any other.
fn scaled(
    workload: &Workload,
    scenario: &Scenario,
    scaling: Scaling,
) -> Option<(Vec<(SignedDuration, u32)>, Cost)> {
    let target = target(workload, &scenario.simulation)?;
    let load = series(workload, scenario)?;
    let (counts, cost) = match scaling {
        Scaling::Hpa => target::plain(&target, &load),
        Scaling::Ahead => {
            let outcome = target::run(&target, ModelSet::default(), &load, &mut |_| ());
            let points = outcome.points.iter();
            let counts = points.map(|point| point.replicas).collect();
            (counts, outcome.evenkeel)
        }
    };
    let mut changes: Vec<(SignedDuration, u32)> = Vec::new();
    let mut at = workload.arrival;
    for count in counts {
        let count = u32::try_from(count).unwrap_or(0);
        if changes.last().is_none_or(|(_, last)| *last != count) {
            changes.push((at, count));
        }
        at = at.saturating_add(GRID);
    }
    Some((changes, cost))
}

/// The workload as its HPA has it; `None` where it is not scaled by cpu.
fn target(workload: &Workload, simulation: &Simulation) -> Option<Target> {
    let Scale { min, max, by } = workload.scale?;
    let ScaleBy::Cpu(share) = by else { return None };
    let bound = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let request = workload.demand[Resource::Cpu].as_f64();
    let carried = request * share.get();
    let warm_up = workload.usage.warm_up[Resource::Cpu].as_f64() / carried;
    let startup = &workload.startup;
    Some(Target {
        resource: Resource::Cpu,
        capacity: PodCapacity::new(request, share).ok()?,
        bounds: Bounds::new(bound(min), bound(max)).ok()?,
        start_up: startup
            .pull
            .saturating_add(startup.start)
            .saturating_add(startup.warm_up),
        metrics: Timing {
            interval: simulation.interval,
            window: simulation.window,
        },
        edges: Edges {
            warm_up: Ratio::new(warm_up).ok()?.get(),
            settling: SignedDuration::ZERO,
            ending: workload.shutdown,
        },
        initial: Some(bound(workload.replicas)),
    })
}

/// The cpu that the workload's requests ask for over the run, in millicores on the grid of an HPA.
fn series(workload: &Workload, scenario: &Scenario) -> Option<Series> {
    let traffic = workload.traffic.as_ref()?;
    let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
    let length = scenario
        .simulation
        .duration
        .saturating_sub(workload.arrival);
    let steps = i32::try_from(length.as_secs() / GRID.as_secs()).ok()?;
    let value = |step: i32| {
        let at = workload.arrival.saturating_add(GRID * step);
        let in_trace = at.saturating_add(scenario.trace_offset);
        Some(load::serve(traffic, in_trace, u32::MAX).offered * per_request)
    };
    let values = (0..=steps).map(value).collect();
    Series::new(Timestamp::UNIX_EPOCH, GRID, values).ok()
}
