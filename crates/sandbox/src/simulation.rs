//! Policies of placement side by side, in virtual time: the same Pods, load and measurements for each, so
//! that they differ in where Pods go.
//!
//! A scenario and a seed decide a run wholly: two runs of one seed give the same figures on any machine.
//! [`policies`] says who is compared, [`Summary`] what is counted, and [`interval`] what many seeds say
//! together.

mod agenda;
pub mod frontier;
pub mod interval;
mod monitoring;
mod pods;
pub mod policies;
mod policy;
pub mod replicas;
pub mod responses;
mod run;
mod scaled;
mod scheduler;
mod subject;

use std::sync::Arc;

pub use crate::engine::summary::Summary;

use crate::scenario::{Scenario, Workload};
use crate::target::FitFunctions;
use evenkeel_core::units::Ratio;
use policies::{OwnSettings, PolicyName};
use replicas::{Replicas, Scaling};
use run::{Given, Run};

/// A scenario with everything in it that no policy and no seed changes.
pub struct Comparison {
    scenario: Scenario,
    scaling: Scaling,
    workloads: Vec<Arc<Workload>>,
    replicas: Replicas,
    own: OwnSettings,
    line: Ratio,
}

impl Comparison {
    /// A comparison on a scenario; `line` is the utilisation above which time is counted, and `fits` makes the fits of
    /// workloads.
    #[must_use]
    pub fn new(
        scenario: Scenario,
        scaling: Scaling,
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

    /// Who scales.
    #[must_use]
    pub const fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// The replicas that scaling led to.
    #[must_use]
    pub const fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// The figures of one run.
    #[must_use]
    pub fn run(&self, policy: PolicyName, seed: u64) -> Summary {
        self.begin(policy, seed).finish()
    }

    fn begin(&self, policy: PolicyName, seed: u64) -> Run<'_> {
        let given = Given {
            scenario: &self.scenario,
            workloads: &self.workloads,
            replicas: &self.replicas,
            line: self.line,
        };
        Run::new(given, policy.begin(&self.scenario, &self.own), seed)
    }
}

#[cfg(test)]
mod tests;
