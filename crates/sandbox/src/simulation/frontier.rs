//! Compares ways of scaling on the workloads of a scenario, without placement: portraits, each kind
//! alone and several together, and the plain HPA at its own target and at lower ones. All have the
//! same loads, seed by seed. [`evenkeel_scaling::counterfactual::pareto_frontier`] compares costs with the plain HPA
//! at equal replica-hours.

use std::fmt;

use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_units::Ratio;
use evenkeel_units::random::RandomSource;

use super::responses::Responses;
use super::scaled_workload::{ScaledWorkload, changes};
use crate::portraits::{Portraits, ProviderKind};
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target_replay::{FitFunctions, ReplayPolicy};

/// Targets of the plain HPA in percent of its own. They go lower than for floors, because a
/// calendar may keep twice the needed replicas.
const RIVALS: [u8; 10] = [100, 95, 90, 85, 80, 75, 67, 60, 50, 40];

/// Kinds of portraits, alone and together.
const TOGETHER: [&[ProviderKind]; 6] = [
    &[ProviderKind::Reactive],
    &[ProviderKind::Predictive],
    &[ProviderKind::Cron],
    &[ProviderKind::Predictive, ProviderKind::Reactive],
    &[ProviderKind::Cron, ProviderKind::Reactive],
    &[
        ProviderKind::Cron,
        ProviderKind::Predictive,
        ProviderKind::Reactive,
    ],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `percent` is of its own target.
    Hpa { percent: u8 },
    /// Portraits of these kinds.
    Portraits(&'static [ProviderKind]),
}

/// One workload under one way of scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingScore {
    pub cost: Cost,
    pub changes: usize,
    pub responses: Responses,
    /// Requests beyond the capacity of all ready replicas.
    pub unserved: f64,
}

impl Way {
    /// The plain HPA first, by falling targets.
    pub fn all() -> Vec<Self> {
        let rivals = RIVALS.map(|percent| Self::Hpa { percent });
        let portraits = TOGETHER.map(Self::Portraits);
        rivals.into_iter().chain(portraits).collect()
    }

    pub const fn is_rival(self) -> bool {
        matches!(self, Self::Hpa { .. })
    }

    /// `None` for a workload without some of these portraits.
    pub fn scored(
        self,
        workload: &ScenarioWorkload,
        scenario: &Scenario,
        seed: u64,
        fits: FitFunctions<'_>,
    ) -> Option<ScalingScore> {
        let portraits = workload.portraits.as_ref()?;
        let meant = match self {
            Self::Hpa { .. } => None,
            Self::Portraits(kinds) => Some(portraits.only(kinds)?),
        };
        let scaled = ScaledWorkload::of(workload, scenario, Some(RandomSource::new(seed)))?;
        Some(self.run(&scaled, meant.as_ref(), fits))
    }

    fn run(
        self,
        scaled: &ScaledWorkload,
        portraits: Option<&Portraits>,
        fits: FitFunctions<'_>,
    ) -> ScalingScore {
        let plain = |target| scaled.by_hpa(ReplayPolicy::Hpa { target }, fits);
        let run = match (self, portraits) {
            (Self::Portraits(_), Some(portraits)) => scaled.by_portraits(portraits, fits),
            (Self::Portraits(_), None) | (Self::Hpa { percent: 100 }, _) => plain(scaled.share),
            (Self::Hpa { percent }, _) => plain(lower(scaled.share, percent)),
        };
        ScalingScore {
            changes: changes(&run.points),
            cost: run.cost,
            responses: run.responses,
            unserved: run.unserved,
        }
    }
}

impl fmt::Display for Way {
    /// `plain HPA at 80% of its target`, or `cron + reactive`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hpa { percent: 100 } => f.write_str("plain HPA at its target"),
            Self::Hpa { percent } => write!(f, "plain HPA at {percent}% of its target"),
            Self::Portraits(kinds) => {
                for (place, kind) in kinds.iter().enumerate() {
                    let joint = if place == 0 { "" } else { " + " };
                    write!(f, "{joint}{kind}")?;
                }
                Ok(())
            }
        }
    }
}

/// Rounded to a whole percentage, as an HPA's target is.
fn lower(own: Ratio, percent: u8) -> Ratio {
    let share = (own.get() * f64::from(percent)).round().max(1.0) / 100.0;
    Ratio::share(share).unwrap_or(own)
}

#[cfg(test)]
mod tests;
