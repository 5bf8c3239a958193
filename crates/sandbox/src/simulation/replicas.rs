//! How many replicas each workload has at which time: as the scenario says, or as its HorizontalPodAutoscaler
//! asks for under the traffic of the scenario.
//!
//! Replicas are worked out before anything is placed, by [`crate::target`], which runs the HPA with the
//! Pods' start and the metrics' lag. So all policies place the same Pods at the same times, and what they
//! differ in is placement alone; that a Pod which waits for a node is ready later is left out of it.

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::responses::{Responses, ServedStep};
use crate::load;
use crate::scenario::simulation::Simulation;
use crate::scenario::{Scale, ScaleBy, Scenario, Startup, Traffic, Workload};
use crate::scrape::Timing;
use crate::target::{self, Edges, GRID, Knowledge, Policy, ReplayLoad, ReplayPoint, Target};
use evenkeel_core::forecast::{ModelSet, Series};
use evenkeel_core::scaling::frontier::Cost;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::{Bounds, Risk};
use evenkeel_core::units::{Ratio, Resource};

/// Who scales the workloads that have an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scaling {
    /// The HPA alone.
    Hpa,
    /// Floors under the HPA by triple exponential smoothing with fixed factors.
    Tes,
    /// Floors by DS-HPA.
    DsHpa,
    /// Floors by `auto`, as Evenkeel is shipped.
    Auto,
}

impl Scaling {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Hpa, Self::Tes, Self::DsHpa, Self::Auto];

    /// The name in flags and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hpa => "hpa",
            Self::Tes => "tes",
            Self::DsHpa => "ds-hpa",
            Self::Auto => "auto",
        }
    }

    /// How a target is replayed.
    fn policy(self, share: Ratio) -> Policy {
        let floors = |models| Policy::Evenkeel {
            models,
            risk: Risk::default(),
        };
        match self {
            Self::Hpa => Policy::Hpa { target: share },
            Self::Tes => floors(ModelSet::Tes),
            Self::DsHpa => floors(ModelSet::SHpa),
            Self::Auto => floors(ModelSet::Auto),
        }
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The times of changes with the count from then on.
type Changes = Vec<(SignedDuration, u32)>;

/// The replicas of all workloads over a run.
#[derive(Debug, Clone, Default)]
pub struct Replicas {
    /// By workload; the first change is its arrival.
    changes: Vec<Changes>,
    /// What passed under scaling, over all workloads.
    pub cost: Cost,
    /// How often a count changed, after the first.
    pub scalings: usize,
    /// How long the requests of scaled workloads took.
    pub responses: Responses,
}

impl Replicas {
    /// The counts of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario, scaling: Scaling) -> Self {
        let mut all = Self::default();
        for workload in &scenario.workloads {
            let scaled = Scaled::of(workload, scenario, scaling);
            let changes = match scaled {
                Some(scaled) => {
                    let cost = scaled.cost;
                    all.cost.replica_hours += cost.replica_hours;
                    all.cost.under_provisioned_seconds += cost.under_provisioned_seconds;
                    all.cost.overloaded_seconds += cost.overloaded_seconds;
                    all.scalings += scaled.changes.len().saturating_sub(1);
                    all.responses = all.responses.with(scaled.responses);
                    scaled.changes
                }
                None => created(workload, scenario.simulation.apart),
            };
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
fn created(workload: &Workload, apart: SignedDuration) -> Changes {
    if apart.is_zero() {
        let first = (workload.arrival, workload.replicas);
        return [first]
            .into_iter()
            .chain(workload.changes.clone())
            .collect();
    }
    let made = 1..=workload.replicas;
    let times = std::iter::successors(Some(workload.arrival), |at| at.checked_add(apart));
    times.zip(made).collect()
}

/// A workload that is scaled.
struct Scaled {
    changes: Changes,
    cost: Cost,
    responses: Responses,
}

impl Scaled {
    /// `None` for a workload that is not scaled by cpu, or has no requests.
    fn of(workload: &Workload, scenario: &Scenario, scaling: Scaling) -> Option<Self> {
        let Scale { by, .. } = workload.scale?;
        let ScaleBy::Cpu(share) = by else { return None };
        let traffic = workload.traffic.as_ref()?;
        let target = target(workload, share, &scenario.simulation)?;
        let load = series(workload, traffic, scenario)?;
        let begin = load.start().checked_add(scenario.past).ok()?;
        let load = ReplayLoad::new(load, begin).ok()?;
        let policy = scaling.policy(share);
        let replayed = target::replay(&target, policy, &load, &Knowledge::default(), true);
        let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
        let step = |point: &ReplayPoint| ServedStep {
            seconds: GRID.as_secs_f64(),
            offered: point.load.unwrap_or(0.0) / per_request,
            ready: point.ready,
            per_replica: traffic.per_replica,
        };
        Some(Self {
            changes: changes(workload.arrival, &replayed.points),
            cost: replayed.cost,
            responses: Responses::of(replayed.points.iter().map(step)),
        })
    }
}

fn changes(arrival: SignedDuration, points: &[ReplayPoint]) -> Changes {
    let mut changes = Changes::new();
    let mut at = arrival;
    for point in points {
        let count = u32::try_from(point.replicas).unwrap_or(0);
        if changes.last().is_none_or(|(_, last)| *last != count) {
            changes.push((at, count));
        }
        at = at.saturating_add(GRID);
    }
    changes
}

/// The workload as its HPA has it.
fn target(workload: &Workload, share: Ratio, simulation: &Simulation) -> Option<Target> {
    let Scale { min, max, .. } = workload.scale?;
    let bound = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let request = workload.demand[Resource::Cpu].as_f64();
    let capacity = PodCapacity::new(request, share).ok()?;
    let Startup {
        pull,
        start,
        warm_up,
    } = workload.startup;
    Some(Target {
        resource: Resource::Cpu,
        capacity,
        bounds: Bounds::new(bound(min), bound(max)).ok()?,
        start_up: pull.saturating_add(start).saturating_add(warm_up),
        metrics: Timing {
            interval: simulation.interval,
            window: simulation.window,
        },
        edges: Edges {
            warm_up: workload.usage.warm_up[Resource::Cpu].as_f64() / (request * share.get()),
            settling: SignedDuration::ZERO,
            ending: workload.shutdown,
        },
        initial: Some(bound(workload.replicas)),
    })
}

/// The cpu that the workload's requests ask for, in millicores on the grid of an HPA, from the begin of the
/// scenario's past on.
fn series(workload: &Workload, traffic: &Traffic, scenario: &Scenario) -> Option<Series> {
    let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
    let length = scenario
        .simulation
        .duration
        .saturating_sub(workload.arrival)
        .saturating_add(scenario.past);
    let begin = workload.arrival.saturating_sub(scenario.past);
    let steps = i32::try_from(length.as_secs() / GRID.as_secs()).ok()?;
    let value = |step: i32| {
        let at = begin.saturating_add(GRID * step);
        let in_trace = at.saturating_add(scenario.trace_offset);
        Some(load::serve(traffic, in_trace, u32::MAX).offered * per_request)
    };
    let values = (0..=steps).map(value).collect();
    Series::new(Timestamp::UNIX_EPOCH, GRID, values).ok()
}

/// A name that no way of scaling has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no way of scaling: accepted are hpa, tes, ds-hpa and auto")]
pub struct UnknownScaling {
    pub given: String,
}

impl UnknownScaling {
    /// A short name for it.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "UnknownScaling"
    }
}

impl FromStr for Scaling {
    type Err = UnknownScaling;

    fn from_str(text: &str) -> Result<Self, UnknownScaling> {
        let mut all = Self::ALL.into_iter();
        all.find(|scaling| scaling.as_str() == text)
            .ok_or_else(|| UnknownScaling {
                given: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "
name: shop
nodes:
  - {name: a, capacity: {cpu: 64, memory: 64Gi, networkIo: 10Gbps, diskIo: 1GB/s, disk: 500Gi}}
workloads:
  - name: web
    namespace: shop
    arrival: 1m
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {}, perRequest: {cpu: 5m}}
    startup: {pull: 0s, start: 30s, warmUp: 0s}
    traffic: {peak: 600, perReplica: 90}
    scale: {min: 2, max: 30, cpu: 60%}
  - name: fixed
    namespace: shop
    arrival: 2m
    replicas: 3
    demand: {cpu: 100m}
    usage: {idle: {cpu: 50m}}
    startup: {pull: 0s, start: 0s, warmUp: 0s}
simulation: {duration: 24h, apart: 1m}
";

    #[test]
    fn replicas_are_counted_from_their_arrival_and_by_time() {
        let scenario: Scenario = SHOP.parse().unwrap();
        let replicas = Replicas::of(&scenario, Scaling::Hpa);
        let minute = SignedDuration::from_mins;
        let fixed = |at| replicas.at(1, minute(at));
        assert_eq!(fixed(1), (0, Some(minute(2))));
        assert_eq!(fixed(2), (1, Some(minute(3))));
        assert_eq!(fixed(9), (3, None));
        assert_eq!(replicas.at(0, minute(0)).0, 0);
        assert_eq!(replicas.at(0, minute(1)).0, 2);
        assert_eq!(replicas.at(7, minute(1)), (0, None));
    }

    #[test]
    fn an_hpa_follows_the_traffic_within_its_bounds_and_who_waits_is_told() {
        let scenario: Scenario = SHOP.parse().unwrap();
        let replicas = Replicas::of(&scenario, Scaling::Hpa);
        let counts: Vec<u32> = replicas.changes[0]
            .iter()
            .map(|(_, count)| *count)
            .collect();
        assert!(
            counts.iter().all(|count| (2..=30).contains(count)),
            "{counts:?}"
        );
        assert!(replicas.scalings > 10 && replicas.scalings == counts.len() - 1);
        // Of a service time of 1/90 s, and about 60 % busy.
        let Responses {
            mean_seconds,
            worst_seconds,
            requests,
        } = replicas.responses;
        assert!((0.015..0.1).contains(&mean_seconds), "{mean_seconds}");
        assert!(worst_seconds > mean_seconds && requests > 1e6);
    }

    #[test]
    fn every_way_of_scaling_has_a_name_that_is_read_back() {
        for scaling in Scaling::ALL {
            assert_eq!(scaling.as_str().parse(), Ok(scaling));
        }
        assert!(
            "keda"
                .parse::<Scaling>()
                .unwrap_err()
                .to_string()
                .contains("ds-hpa")
        );
    }
}
