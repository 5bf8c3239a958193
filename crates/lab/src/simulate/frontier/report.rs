//! The figures of ways of scaling, as programs read them.

use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::simulation::confidence_interval::MeanEstimate;
use evenkeel_sandbox::simulation::frontier::{ScalingScore, Way};
use evenkeel_scaling::counterfactual::pareto_frontier::{
    Cost, CostRatios, ParetoFrontier, mean_ratios,
};
use evenkeel_units::count_as_f64;
use serde::Serialize;

use crate::simulate::report::ScenarioBackgroundReport;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ways {
    pub(super) scenario: String,
    pub(super) duration_seconds: f64,
    pub(super) seeds: Vec<u64>,
    pub(super) background: ScenarioBackgroundReport,
    pub(super) groups: Vec<FrontierGroup>,
}

/// The workloads of one namespace, or all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrontierGroup {
    pub(super) name: String,
    pub(super) workloads: usize,
    pub(super) ways: Vec<WayReport>,
}

/// A way of scaling: sums over the workloads, and what seeds make of them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WayReport {
    pub(super) way: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) percent_of_target: Option<u8>,
    /// The workloads that have these portraits.
    pub(super) workloads: usize,
    pub(super) changes: MeanEstimate,
    pub(super) replica_hours: MeanEstimate,
    pub(super) under_provisioned_seconds: MeanEstimate,
    pub(super) overloaded_seconds: MeanEstimate,
    /// The share of requests that came while all ready replicas together could not serve as many.
    pub(super) unserved_share: MeanEstimate,
    pub(super) mean_response_seconds: MeanEstimate,
    /// Portraits beside the plain HPA with as many replica-hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at_equal_replica_hours: Option<RelativeSeconds>,
}

/// Seconds relative to the plain HPA at equal replica-hours: geometric means over workloads and
/// seeds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelativeSeconds {
    /// `null` where there is nothing to hold any run against.
    pub(super) under_provisioned: Option<f64>,
    pub(super) overloaded: Option<f64>,
    /// The lowest and the highest of `underProvisioned` of any seed.
    pub(super) lowest: Option<f64>,
    pub(super) highest: Option<f64>,
    /// Runs that are held against the plain HPA.
    pub(super) compared: usize,
    /// Runs that cost more than the plain HPA at its lowest target, of which nothing can be said.
    pub(super) more: usize,
}

/// The runs of one workload, by way and by seed.
type Runs<'a> = &'a [Option<ScalingScore>];

impl Ways {
    pub(super) fn of(scenario: &Scenario, seeds: &[u64], groups: Vec<FrontierGroup>) -> Self {
        Self {
            scenario: scenario.name.clone(),
            duration_seconds: scenario.simulation.duration.as_secs_f64(),
            seeds: seeds.to_vec(),
            background: ScenarioBackgroundReport::of(scenario),
            groups,
        }
    }
}

impl FrontierGroup {
    pub(super) fn of(name: &str, ways: &[Way], seeds: usize, runs: &[Runs<'_>]) -> Self {
        let reports = ways.iter().enumerate().filter_map(|(place, way)| {
            let of_way = runs.iter().map(|runs| &runs[place * seeds..][..seeds]);
            let of_way: Vec<Runs<'_>> = of_way.collect();
            let mut report = WayReport::of(*way, seeds, &of_way)?;
            if !way.is_rival() {
                let rivals: Vec<usize> = (0..ways.len())
                    .filter(|&place| ways[place].is_rival())
                    .collect();
                report.at_equal_replica_hours =
                    Some(RelativeSeconds::of(runs, &of_way, &rivals, seeds));
            }
            Some(report)
        });
        Self {
            name: name.to_owned(),
            workloads: runs.len(),
            ways: reports.collect(),
        }
    }
}

impl WayReport {
    /// `None` where no workload has these portraits.
    fn of(way: Way, seeds: usize, runs: &[Runs<'_>]) -> Option<Self> {
        let over = |of: &dyn Fn(&[ScalingScore]) -> f64| {
            let values = (0..seeds).map(|seed| {
                let at_seed = runs.iter().filter_map(|runs| runs[seed]);
                of(&at_seed.collect::<Vec<_>>())
            });
            MeanEstimate::of(&values.collect::<Vec<_>>())
        };
        let sum = |of: fn(&ScalingScore) -> f64| over(&move |runs| runs.iter().map(of).sum());
        let workloads = runs.iter().filter(|runs| runs.iter().any(Option::is_some));
        let workloads = Some(workloads.count()).filter(|count| *count > 0)?;
        let requests = |runs: &[ScalingScore]| -> f64 {
            let all = runs.iter().map(|run| run.responses.requests);
            all.sum::<f64>().max(1.0)
        };
        let percent_of_target = match way {
            Way::Hpa { percent } => Some(percent),
            Way::Portraits(_) => None,
        };
        Some(Self {
            way: way.to_string(),
            percent_of_target,
            workloads,
            changes: sum(|run| count_as_f64(run.changes))?,
            replica_hours: sum(|run| run.cost.replica_hours)?,
            under_provisioned_seconds: sum(|run| run.cost.under_provisioned_seconds)?,
            overloaded_seconds: sum(|run| run.cost.overloaded_seconds)?,
            unserved_share: over(&|runs| {
                runs.iter().map(|run| run.unserved).sum::<f64>() / requests(runs)
            })?,
            mean_response_seconds: over(&|runs| {
                let weighted = runs
                    .iter()
                    .map(|run| run.responses.mean_seconds * run.responses.requests);
                weighted.sum::<f64>() / requests(runs)
            })?,
            at_equal_replica_hours: None,
        })
    }
}

impl RelativeSeconds {
    /// The runs of a way beside those of the rivals on the same workload and seed.
    fn of(runs: &[Runs<'_>], of_way: &[Runs<'_>], rivals: &[usize], seeds: usize) -> Self {
        let (mut all, mut of_seeds, mut more) = (Vec::new(), Vec::new(), 0);
        for seed in 0..seeds {
            let mut ratios = Vec::new();
            for (workload, own) in runs.iter().zip(of_way) {
                let costs = rivals.iter().map(|rival| workload[rival * seeds + seed]);
                let costs: Vec<Cost> = costs.flatten().map(|run| run.cost).collect();
                let Some((own, frontier)) = own[seed].zip(ParetoFrontier::new(costs)) else {
                    continue;
                };
                match frontier.compare(&own.cost).ratios {
                    Some(ratio) => ratios.push(ratio),
                    None => more += 1,
                }
            }
            of_seeds.extend(mean_ratios(&ratios));
            all.append(&mut ratios);
        }
        let under = of_seeds.iter().map(|seed| seed.under_provisioned);
        let mean = mean_ratios(&all);
        let part = |of: fn(&CostRatios) -> f64| mean.as_ref().map(of);
        Self {
            under_provisioned: part(|mean| mean.under_provisioned),
            overloaded: part(|mean| mean.overloaded),
            lowest: under.clone().min_by(f64::total_cmp),
            highest: under.max_by(f64::total_cmp),
            compared: all.len(),
            more,
        }
    }
}
