//! The settings of tuning.

use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::decision::Elasticity;
use evenkeel_tuning::plan::TunedWorkload;
use evenkeel_tuning::resize::ResizeRules;
use jiff::SignedDuration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The mode of workloads for which neither owner nor namespace sets one.
    pub mode: TuningMode,
    /// False where this installation may not resize Pods: then mode on does what recommend does.
    pub resizes: bool,
    /// The time between two turns of a node.
    pub interval: SignedDuration,
    pub elasticity: Elasticity,
    /// The time after which a resize that kubelet has not done is withdrawn.
    pub withdraw_after: SignedDuration,
    /// The time for which a workload is left alone after it was scaled.
    pub after_scaling: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: TuningMode::Recommend,
            resizes: false,
            interval: SignedDuration::from_mins(10),
            elasticity: Elasticity::default(),
            withdraw_after: SignedDuration::from_mins(10),
            after_scaling: SignedDuration::from_mins(5),
        }
    }
}

impl Settings {
    /// The mode of a workload: none is resized if this installation may not resize.
    pub(super) fn mode_of(&self, workload: &TunedWorkload) -> TuningMode {
        match workload.mode {
            TuningMode::On if !self.resizes => TuningMode::Recommend,
            mode => mode,
        }
    }
}

/// The rules for a workload: its owner may let containers start anew.
pub(super) fn rules_of(rules: ResizeRules, workload: &TunedWorkload) -> ResizeRules {
    ResizeRules {
        may_restart: workload.policy.may_restart,
        ..rules
    }
}
