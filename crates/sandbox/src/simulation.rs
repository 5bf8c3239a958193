//! Compares placement policies in virtual time: each gets the same Pods, load and measurements, so
//! that only the placement differs. A scenario and a seed decide a run, on any machine.
//! [`policies`] lists the policies, [`RunSummary`] has the figures, and [`confidence_interval`]
//! combines the runs of many seeds.

pub mod confidence_interval;
mod event_queue;
pub mod frontier;
mod monitoring;
mod own_settings;
mod pods;
pub mod policies;
mod policy;
mod policy_pods;
pub mod recorded_cost;
pub mod replicas;
pub mod responses;
mod run;
mod scaled_workload;
mod scheduler;

use std::sync::Arc;

use evenkeel_units::Ratio;
use policies::{OwnSettings, PolicyName};
use replicas::{Replicas, ScalingMethod};
use run::{SimulationInput, SimulationRun};

use crate::engine::summary::RunSummary;
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target_replay::FitFunctions;

/// A scenario with all that policies and seeds do not change.
pub struct ScenarioComparison {
    scenario: Scenario,
    scaling: ScalingMethod,
    workloads: Vec<Arc<ScenarioWorkload>>,
    replicas: Replicas,
    own: OwnSettings,
    line: Ratio,
}

impl ScenarioComparison {
    /// `line` is the utilisation above which time is counted, and `fits` makes the fits of
    /// workloads.
    pub fn new(
        scenario: Scenario,
        scaling: ScalingMethod,
        own: OwnSettings,
        line: Ratio,
        fits: FitFunctions<'_>,
    ) -> Self {
        let workloads = scenario.workloads.iter().cloned().map(Arc::new).collect();
        Self {
            replicas: Replicas::of(&scenario, scaling, fits),
            scaling,
            workloads,
            scenario,
            own,
            line,
        }
    }

    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    pub const fn scaling(&self) -> ScalingMethod {
        self.scaling
    }

    pub const fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    pub fn run(&self, policy: PolicyName, seed: u64) -> RunSummary {
        self.begin(policy, seed).finish()
    }

    fn begin(&self, policy: PolicyName, seed: u64) -> SimulationRun<'_> {
        let given = SimulationInput {
            scenario: &self.scenario,
            workloads: &self.workloads,
            replicas: &self.replicas,
            line: self.line,
        };
        SimulationRun::new(given, policy.begin(&self.scenario, &self.own), seed)
    }
}

#[cfg(test)]
mod tests;
