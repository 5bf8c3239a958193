//! Ways of scaling beside each other on the workloads of a scenario, without placing anything: portraits, each kind
//! alone and several together, and their honest rival, the plain HPA at its own target and at lower ones.
//!
//! All ways have the same loads, seed by seed. What they cost is held against the plain HPA at equal replica-hours by
//! [`evenkeel_core::scaling::frontier`].

use std::fmt;

use super::responses::Responses;
use super::scaled_workload::{ScaledWorkload, changes};
use crate::portraits::{Portraits, ProviderKind};
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::target::{FitFunctions, ReplayPolicy};
use evenkeel_core::random::RandomSource;
use evenkeel_core::scaling::pareto_frontier::Cost;
use evenkeel_core::units::Ratio;

/// The targets of the plain HPA in percent of its own. They reach further down than those that floors are held
/// against, since a calendar may keep twice the replicas that are needed.
const RIVALS: [u8; 10] = [100, 95, 90, 85, 80, 75, 67, 60, 50, 40];

/// The kinds of portraits that are compared, alone and together.
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

/// A way of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The plain HPA at so many percent of its own target.
    Hpa { percent: u8 },
    /// The portraits of these kinds.
    Portraits(&'static [ProviderKind]),
}

/// One workload under one way of scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingScore {
    pub cost: Cost,
    /// How often the count changed.
    pub changes: usize,
    pub responses: Responses,
    /// Requests that came while all ready replicas together could not serve as many.
    pub unserved: f64,
}

impl Way {
    /// All that are compared: those of the plain HPA first, by falling targets.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rivals = RIVALS.map(|percent| Self::Hpa { percent });
        let portraits = TOGETHER.map(Self::Portraits);
        rivals.into_iter().chain(portraits).collect()
    }

    /// True for the plain HPA.
    #[must_use]
    pub const fn is_rival(self) -> bool {
        matches!(self, Self::Hpa { .. })
    }

    /// A workload that portraits may scale; `None` where it lacks some of these.
    #[must_use]
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

/// So many percent of a target, as the whole percentage that an HPA's is.
fn lower(own: Ratio, percent: u8) -> Ratio {
    let share = (own.get() * f64::from(percent)).round().max(1.0) / 100.0;
    Ratio::share(share).unwrap_or(own)
}

#[cfg(test)]
mod tests;
