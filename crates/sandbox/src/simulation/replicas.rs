//! The replicas of each workload over time: of the scenario, or of its HorizontalPodAutoscaler
//! under the scenario's traffic. [`crate::target_replay`] computes them before placement, with the Pods'
//! start and the metrics' lag, so that all policies place the same Pods at the same times. The
//! later readiness of a Pod that waits for a node is ignored.

use evenkeel_forecast::ModelSet;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_units::random::RandomSource;
use evenkeel_units::words;
use jiff::SignedDuration;

use super::responses::Responses;
use super::scaled_workload::{ScaledRun, ScaledWorkload};
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target_replay::{FitFunctions, Floors, GRID, ReplayEvent, ReplayPoint, ReplayPolicy};

words! {
    /// For workloads with an HPA.
    pub enum ScalingMethod {
        Hpa = "hpa",
        /// Floors under the HPA by triple exponential smoothing with fixed factors.
        Tes = "tes",
        DsHpa = "ds-hpa",
        /// Floors by one model, fitted to the load's own past.
        Arima = ModelSet::Arima.as_str(),
        Gru = ModelSet::Gru.as_str(),
        ArimaGru = ModelSet::ArimaGru.as_str(),
        Gbdt = ModelSet::Gbdt.as_str(),
        /// Floors by `auto`, as shipped.
        Auto = "auto",
        /// The workload's portraits, or its HPA without any.
        Portraits = "portraits",
    }
    accepted: "hpa, tes, ds-hpa, arima, gru, arima-gru, gbdt, auto or portraits"
}

impl ScalingMethod {
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
            (Self::Arima, _) => floors(ModelSet::Arima),
            (Self::Gru, _) => floors(ModelSet::Gru),
            (Self::ArimaGru, _) => floors(ModelSet::ArimaGru),
            (Self::Gbdt, _) => floors(ModelSet::Gbdt),
            (Self::Auto, _) => floors(ModelSet::Auto),
        };
        scaled.by_hpa(policy, fits)
    }
}

/// Runs a workload above floors by `auto`, under the load of `seed`, and shows `observe` all inputs
/// of the floors. False for a workload without floors.
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

/// Times and the count from then on.
type Changes = Vec<(SignedDuration, u32)>;

/// Counts of all workloads over a run.
#[derive(Debug, Clone, Default)]
pub struct Replicas {
    /// By workload; the first change is its arrival.
    changes: Vec<Changes>,
    /// Sum over all workloads.
    pub cost: Cost,
    /// Changes of counts, after the first.
    pub scalings: usize,
    /// Response times of requests to scaled workloads.
    pub responses: Responses,
}

impl Replicas {
    /// `fits` makes the fits of the workloads.
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
    pub fn at(&self, index: usize, at: SignedDuration) -> (u32, Option<SignedDuration>) {
        let Some(changes) = self.changes.get(index) else {
            return (0, None);
        };
        let next = changes.partition_point(|(time, _)| *time <= at);
        let count = next.checked_sub(1).map_or(0, |last| changes[last].1);
        (count, changes.get(next).map(|(time, _)| *time))
    }
}

/// While its replicas are created one after another.
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
        let words = ScalingMethod::ALL.map(ScalingMethod::as_str);
        let (last, others) = words.split_last().unwrap();
        let listed = format!("{} or {last}", others.join(", "));
        assert_eq!(ScalingMethod::ACCEPTED, listed);
    }
}
