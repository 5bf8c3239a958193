//! Compares placement policies in virtual time. Each policy gets the same Pods, load and
//! measurements, so that only the placement of Pods differs.
//!
//! A scenario and a seed decide a run: two runs of one seed give the same figures on any machine.
//! [`policies`] lists the policies, [`RunSummary`] has the figures, and [`confidence_interval`]
//! combines the runs of many seeds.

pub mod confidence_interval;
mod event_queue;
pub mod frontier;
mod monitoring;
mod pods;
pub mod policies;
mod policy;
mod policy_pods;
pub mod replicas;
pub mod responses;
mod run;
mod scaled_workload;
mod scheduler;

use std::sync::Arc;

pub use crate::engine::summary::RunSummary;

use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target::FitFunctions;
use evenkeel_core::units::Ratio;
use policies::{OwnSettings, PolicyName};
use replicas::{Replicas, ScalingMethod};
use run::{SimulationInput, SimulationRun};

/// A scenario with everything in it that no policy and no seed changes.
pub struct ScenarioComparison {
    scenario: Scenario,
    scaling: ScalingMethod,
    workloads: Vec<Arc<ScenarioWorkload>>,
    replicas: Replicas,
    own: OwnSettings,
    line: Ratio,
}

impl ScenarioComparison {
    /// A comparison on a scenario; `line` is the utilisation above which time is counted, and `fits` makes the fits of
    /// workloads.
    #[must_use]
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

    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The way of scaling.
    #[must_use]
    pub const fn scaling(&self) -> ScalingMethod {
        self.scaling
    }

    /// The replicas that scaling led to.
    #[must_use]
    pub const fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// The figures of one run.
    #[must_use]
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
