//! How many replicas each workload has at which time: as the scenario says, or as its HorizontalPodAutoscaler
//! asks for under the traffic of the scenario.
//!
//! Replicas are worked out before anything is placed, by [`crate::target`], which runs HPA and portraits with the
//! Pods' start and the metrics' lag. So all policies place the same Pods at the same times, and what they
//! differ in is placement alone; that a Pod which waits for a node is ready later is left out of it.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;

use super::responses::Responses;
use super::scaled_workload::{ScaledRun, ScaledWorkload};
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target::{FitFunctions, Floors, GRID, ReplayEvent, ReplayPoint, ReplayPolicy};
use evenkeel_core::forecast::ModelSet;
use evenkeel_core::random::RandomSource;
use evenkeel_core::scaling::pareto_frontier::Cost;

/// The way of scaling the workloads that have an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScalingMethod {
    /// The HPA alone.
    Hpa,
    /// Floors under the HPA by triple exponential smoothing with fixed factors.
    Tes,
    /// Floors by DS-HPA.
    DsHpa,
    /// Floors by `auto`, as Evenkeel is shipped.
    Auto,
    /// The portraits of the workload, and its HPA where it has none.
    Portraits,
}

impl ScalingMethod {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Hpa,
        Self::Tes,
        Self::DsHpa,
        Self::Auto,
        Self::Portraits,
    ];

    /// The name in flags and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hpa => "hpa",
            Self::Tes => "tes",
            Self::DsHpa => "ds-hpa",
            Self::Auto => "auto",
            Self::Portraits => "portraits",
        }
    }

    /// A workload under this way of scaling.
    fn run(self, scaled: &ScaledWorkload, fits: FitFunctions<'_>) -> ScaledRun {
        let floors = |models| ReplayPolicy::Evenkeel(Floors::by(models));
        let plain = ReplayPolicy::Hpa {
            target: scaled.share,
        };
        let policy = match (self, &scaled.portraits) {
            (Self::Portraits, Some(portraits)) => return scaled.by_portraits(portraits, fits),
            (Self::Hpa, _) | (Self::Portraits, None) => plain,
            (Self::Tes, _) => floors(ModelSet::Tes),
            (Self::DsHpa, _) => floors(ModelSet::SHpa),
            (Self::Auto, _) => floors(ModelSet::Auto),
        };
        scaled.by_hpa(policy, fits)
    }
}

impl fmt::Display for ScalingMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Runs a workload of a scenario above floors by `auto`, under the load that `seed` makes, and shows `observe` all that
/// decides them. False for a workload that has none.
pub fn observe_floors(
    (scenario, workload): (&Scenario, &ScenarioWorkload),
    seed: u64,
    fits: FitFunctions<'_>,
    observe: &mut dyn FnMut(ReplayEvent<'_>),
) -> bool {
    let scaled = ScaledWorkload::of(workload, scenario, Some(RandomSource::new(seed)));
    let observed = scaled.map(|scaled| {
        let policy = ReplayPolicy::Evenkeel(Floors::by(ModelSet::Auto));
        scaled.observed(policy, fits, observe)
    });
    observed.is_some()
}

/// The times of changes with the count from then on.
type Changes = Vec<(SignedDuration, u32)>;

/// The replicas of all workloads over a run.
#[derive(Debug, Clone, Default)]
pub struct Replicas {
    /// By workload; the first change is its arrival.
    changes: Vec<Changes>,
    /// The costs of scaling, over all workloads.
    pub cost: Cost,
    /// How often a count changed, after the first.
    pub scalings: usize,
    /// How long the requests of scaled workloads took.
    pub responses: Responses,
}

impl Replicas {
    /// The counts of a scenario; `fits` makes the fits of its workloads.
    #[must_use]
    pub fn of(scenario: &Scenario, scaling: ScalingMethod, fits: FitFunctions<'_>) -> Self {
        let mut all = Self::default();
        for workload in &scenario.workloads {
            let changes = match ScaledWorkload::of(workload, scenario, None) {
                Some(scaled) => {
                    let ScaledRun {
                        points,
                        cost,
                        responses,
                        unserved: _,
                    } = scaling.run(&scaled, fits);
                    let changes = changes(workload.arrival, &points);
                    all.cost.replica_hours += cost.replica_hours;
                    all.cost.under_provisioned_seconds += cost.under_provisioned_seconds;
                    all.cost.overloaded_seconds += cost.overloaded_seconds;
                    all.scalings += changes.len().saturating_sub(1);
                    all.responses = all.responses.with(responses);
                    changes
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
fn created(workload: &ScenarioWorkload, apart: SignedDuration) -> Changes {
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

/// A name that no way of scaling has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a scaling method; accepted: hpa, tes, ds-hpa, auto and portraits")]
pub struct UnknownScaling {
    pub given: String,
}

impl FromStr for ScalingMethod {
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
        let replicas = Replicas::of(&scenario, ScalingMethod::Hpa, FitFunctions::NONE);
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
        let replicas = Replicas::of(&scenario, ScalingMethod::Hpa, FitFunctions::NONE);
        let counts: Vec<u32> = replicas.changes[0]
            .iter()
            .map(|(_, count)| *count)
            .collect();
        assert!(
            counts.iter().all(|count| (2..=30).contains(count)),
            "{counts:?}"
        );
        assert!(replicas.scalings > 10 && replicas.scalings == counts.len() - 1);
        // The service time is 1/90 s, and the replicas are about 60 % busy.
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
        for scaling in ScalingMethod::ALL {
            assert_eq!(scaling.as_str().parse(), Ok(scaling));
        }
        assert!(
            "keda"
                .parse::<ScalingMethod>()
                .unwrap_err()
                .to_string()
                .contains("ds-hpa")
        );
    }
}
