//! The compared policies: kube-scheduler as shipped, load-aware plugins of other projects by their
//! documented formulas and defaults (each with its source), the strategy of the thesis, and
//! Evenkeel's own extender and score labels. Inputs that no scenario has (DaemonSets, priority
//! bands, annotations) are left out.

mod clbp;
mod crane;
mod evenkeel;
mod evenkeel_labels;
mod koordinator;
mod load_variation;
mod target_load_packing;
mod usage_round;

use std::str::FromStr;

use evenkeel_units::words;

pub use super::own_settings::OwnSettings;
use super::policy::{DefaultScheduler, LoadPolicy};
use crate::scenario::Scenario;

words! {
    /// A policy by name.
    pub enum PolicyName {
        Default = "default",
        Crane = "crane",
        TargetLoadPacking = "target-load-packing",
        LoadVariation = "load-variation-risk",
        Koordinator = "koordinator",
        Clbp = "clbp",
        Evenkeel = "evenkeel",
        EvenkeelLabels = "evenkeel-labels",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a policy; accepted: {}", accepted())]
pub struct UnknownPolicy {
    pub given: String,
}

impl PolicyName {
    pub fn begin(self, scenario: &Scenario, own: &OwnSettings) -> Box<dyn LoadPolicy> {
        let nodes = &scenario.nodes;
        match self {
            Self::Default => Box::new(DefaultScheduler),
            Self::Crane => Box::new(crane::Crane::new(nodes)),
            Self::TargetLoadPacking => Box::new(target_load_packing::TargetLoadPacking::new(nodes)),
            Self::LoadVariation => Box::new(load_variation::LoadVariation::new(nodes)),
            Self::Koordinator => Box::new(koordinator::Koordinator::new(nodes)),
            Self::Clbp => Box::new(clbp::Clbp::new(nodes, &own.policy)),
            Self::Evenkeel => Box::new(evenkeel::Evenkeel::new(scenario, own)),
            Self::EvenkeelLabels => Box::new(evenkeel_labels::EvenkeelLabels::new(scenario, own)),
        }
    }
}

impl FromStr for PolicyName {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        Self::named(text).ok_or_else(|| UnknownPolicy {
            given: text.to_owned(),
        })
    }
}

fn accepted() -> String {
    PolicyName::ALL.map(PolicyName::as_str).join(", ")
}
