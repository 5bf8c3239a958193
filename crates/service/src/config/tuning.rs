//! `tuning`: how far the Pods of workloads are tuned that do not say it themselves, and how fast.

use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_tuning::decision::Elasticity;
use jiff::SignedDuration;

use super::check::Checker;
use super::section::section;
use super::value::Number;
use crate::controller::tuning::Settings;

section! {
    /// `tuning` as it is written.
    TuningSection {
        mode: YamlText = Settings::default().mode.as_str().into(),
        // It takes the right to patch and to resize Pods.
        resize: bool = false,
        interval: YamlText = Settings::default().interval.into(),
        elasticity: Number = Number(Elasticity::default().get()),
        withdraw_after: YamlText = Settings::default().withdraw_after.into(),
        after_scaling: YamlText = Settings::default().after_scaling.into(),
    }
}

/// Five samples of a minute have to be new between two turns of a node.
const LEAST_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

impl TuningSection {
    pub(super) fn check(&self, check: &mut Checker) -> Settings {
        let Self {
            mode,
            resize,
            interval,
            elasticity,
            withdraw_after,
            after_scaling,
        } = self;
        let given = interval;
        let interval = check.duration("tuning.interval", given);
        if interval.is_positive() && interval < LEAST_INTERVAL {
            let accepted = "five minutes or more, such as 10m";
            check.refuse_value("tuning.interval", given.as_ref(), accepted);
        }
        let elasticity = Elasticity::new(elasticity.0);
        Settings {
            mode: check.take("tuning.mode", mode.as_ref().parse(), TuningMode::default()),
            resizes: *resize,
            interval,
            elasticity: check.take("tuning.elasticity", elasticity, Elasticity::default()),
            withdraw_after: check.duration("tuning.withdrawAfter", withdraw_after),
            after_scaling: check.duration("tuning.afterScaling", after_scaling),
        }
    }
}
