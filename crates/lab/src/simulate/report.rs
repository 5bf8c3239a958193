//! The figures of a comparison, as programs read them.

use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::simulation::ScenarioComparison;
use evenkeel_sandbox::simulation::confidence_interval::MeanEstimate;
use evenkeel_sandbox::simulation::policies::PolicyName;
use evenkeel_sandbox::simulation::replicas::ScalingMethod;
use evenkeel_sandbox::simulation::responses::Responses;
use evenkeel_units::{Resource, count_as_f64};
use serde::Serialize;

use crate::replay::difference::ReplayDifference;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SimulateReport {
    pub(super) scenario: String,
    pub(super) nodes: usize,
    pub(super) duration_seconds: f64,
    pub(super) seeds: Vec<u64>,
    /// The headroom line, as a share.
    pub(super) line: f64,
    pub(super) background: ScenarioBackgroundReport,
    /// A record beside its replays; `None` for a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replay: Option<ReplayDifference>,
    /// The figures of the ways of scaling; empty if nothing is scaled.
    pub(super) scalings: Vec<ScalingReport>,
    pub(super) policies: Vec<PolicyReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct ScenarioBackgroundReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    pub(super) reported: Vec<String>,
    pub(super) assumed: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScalingReport {
    pub(super) scaling: &'static str,
    pub(super) changes: usize,
    pub(super) replica_hours: f64,
    pub(super) under_provisioned_seconds: f64,
    pub(super) overloaded_seconds: f64,
    pub(super) responses: Responses,
}

/// The figures of one policy over all seeds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicyReport {
    pub(super) policy: &'static str,
    /// The way of scaling during the run.
    pub(super) scaling: &'static str,
    pub(super) resources: Vec<ResourceReport>,
    /// Seconds with any node over the line.
    pub(super) seconds_over_line: MeanEstimate,
    /// Pods that had to wait because no node would take them.
    pub(super) refused: MeanEstimate,
    /// Those of them that waited to the end.
    pub(super) still_refused: MeanEstimate,
    /// The longest wait, in seconds.
    pub(super) longest_wait_seconds: MeanEstimate,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceReport {
    pub(super) resource: &'static str,
    /// Mean over time of the standard deviation of the nodes' utilisation, in points of a percent.
    pub(super) spread: MeanEstimate,
    /// The highest utilisation of any node, in percent.
    pub(super) peak: MeanEstimate,
    /// Hours above the line, added over the nodes.
    pub(super) node_hours_over_line: MeanEstimate,
}

impl SimulateReport {
    pub(super) fn of(
        comparisons: &[ScenarioComparison],
        policies: Vec<PolicyReport>,
        seeds: &[u64],
        line: f64,
    ) -> Self {
        let scenario = comparisons[0].scenario();
        let scalings = comparisons.iter().filter_map(ScalingReport::of);
        Self {
            scenario: scenario.name.clone(),
            nodes: scenario.nodes.len(),
            duration_seconds: scenario.simulation.duration.as_secs_f64(),
            seeds: seeds.to_vec(),
            line,
            background: ScenarioBackgroundReport::of(scenario),
            replay: None,
            scalings: scalings.collect(),
            policies,
        }
    }
}

impl ScenarioBackgroundReport {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let background = scenario.simulation.background.clone();
        Self {
            source: background.source,
            reported: background.reported,
            assumed: background.assumed,
        }
    }
}

impl ScalingReport {
    /// `None` where nothing is scaled.
    fn of(comparison: &ScenarioComparison) -> Option<Self> {
        let replicas = comparison.replicas();
        let cost = replicas.cost;
        (cost.replica_hours > 0.0).then(|| Self {
            scaling: comparison.scaling().as_str(),
            changes: replicas.scalings,
            replica_hours: cost.replica_hours,
            under_provisioned_seconds: cost.under_provisioned_seconds,
            overloaded_seconds: cost.overloaded_seconds,
            responses: replicas.responses,
        })
    }
}

impl PolicyReport {
    /// `None` without a run.
    pub(super) fn of(
        policy: PolicyName,
        scaling: ScalingMethod,
        runs: &[RunSummary],
    ) -> Option<Self> {
        let over = |of: &dyn Fn(&RunSummary) -> f64| {
            let values: Vec<f64> = runs.iter().map(of).collect();
            MeanEstimate::of(&values)
        };
        let resource = |(at, resource): (usize, Resource)| {
            // Every run lists all resources in their order.
            Some(ResourceReport {
                resource: resource.as_str(),
                spread: over(&|run| run.resources[at].spread * 100.0)?,
                peak: over(&|run| run.resources[at].peak * 100.0)?,
                node_hours_over_line: over(&|run| {
                    run.resources[at].node_seconds_over_line / 3600.0
                })?,
            })
        };
        let resources = Resource::ALL.into_iter().enumerate().map(resource);
        Some(Self {
            policy: policy.as_str(),
            scaling: scaling.as_str(),
            resources: resources.collect::<Option<_>>()?,
            seconds_over_line: over(&|run| run.seconds_over_line)?,
            refused: over(&|run| count_as_f64(run.refused))?,
            still_refused: over(&|run| count_as_f64(run.still_refused))?,
            longest_wait_seconds: over(&|run| run.longest_refused_seconds)?,
        })
    }
}
