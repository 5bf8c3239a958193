//! The steps of changes.

use evenkeel_api::ihpa::spec::{GrayStrategy, IhpaBehavior, ScalingBehavior};
use evenkeel_api::replica_profile::drain;
use jiff::SignedDuration;

use super::error::{IhpaError, IhpaSpecFault, at};
use crate::staged_change::{
    ScaleDownStages, ScaleDownTarget, ScaleDownWay, ScaleUpBehavior, StagedBehavior, StepPace,
    StepSize,
};

/// The longest interval and the longest observation, in seconds: a day.
const LONGEST: i64 = 86_400;

pub(super) fn check(behavior: Option<&IhpaBehavior>) -> Result<StagedBehavior, IhpaError> {
    let Some(IhpaBehavior {
        scale_up,
        scale_down,
        replica_profile,
    }) = behavior
    else {
        return Ok(StagedBehavior::default());
    };
    let checked = drain(replica_profile.as_ref()).map_err(IhpaSpecFault::Profile);
    at("spec.behavior.replicaProfile", checked)?;
    Ok(StagedBehavior {
        up: up(scale_up.as_ref())?,
        down: down(scale_down.as_ref())?,
    })
}

fn up(behavior: Option<&ScalingBehavior>) -> Result<ScaleUpBehavior, IhpaError> {
    let path = "spec.behavior.scaleUp.grayStrategy";
    let (disabled, strategy) = parts(behavior);
    let stages = strategy.map(|strategy| {
        if strategy.gray_state != "Online" {
            let problem = IhpaSpecFault::word(&strategy.gray_state, "Online");
            return at(format!("{path}.grayState"), Err(problem));
        }
        pace(path, strategy)
    });
    Ok(ScaleUpBehavior {
        disabled,
        stages: stages.transpose()?,
    })
}

fn down(behavior: Option<&ScalingBehavior>) -> Result<ScaleDownWay, IhpaError> {
    let path = "spec.behavior.scaleDown.grayStrategy";
    let (disabled, strategy) = parts(behavior);
    let stages = strategy.map(|strategy| {
        let park = match strategy.gray_state.as_str() {
            "Cutoff" => ScaleDownTarget::Cutoff,
            "Standby" => ScaleDownTarget::Standby,
            "Deleted" => ScaleDownTarget::Deleted,
            given => {
                let problem = IhpaSpecFault::word(given, "Cutoff, Standby or Deleted");
                return at(format!("{path}.grayState"), Err(problem));
            }
        };
        let pace = pace(path, strategy)?;
        Ok(ScaleDownStages { pace, park })
    });
    Ok(ScaleDownWay {
        disabled,
        stages: stages.transpose()?,
    })
}

fn parts(behavior: Option<&ScalingBehavior>) -> (bool, Option<&GrayStrategy>) {
    let disabled = behavior.and_then(|behavior| behavior.disabled);
    let strategy = behavior.and_then(|behavior| behavior.gray_strategy.as_ref());
    (disabled.unwrap_or(false), strategy)
}

fn pace(path: &str, strategy: &GrayStrategy) -> Result<StepPace, IhpaError> {
    let GrayStrategy {
        gray_state: _,
        change_percent,
        change_count,
        change_interval_seconds,
        observation_seconds,
    } = strategy;
    let size = match (change_percent, change_count) {
        (Some(percent), None) => {
            let percent = IhpaSpecFault::number(i64::from(*percent), 1, 100);
            let percent = at(format!("{path}.changePercent"), percent)?;
            StepSize::Percent(u8::try_from(percent).unwrap_or(100))
        }
        (None, Some(count)) => {
            let most = i64::from(i32::MAX);
            let checked = IhpaSpecFault::number(i64::from(*count), 1, most).map(|_| *count);
            StepSize::Count(at(format!("{path}.changeCount"), checked)?)
        }
        _ => {
            let problem = IhpaSpecFault::Missing("either changePercent or changeCount");
            return at(path, Err(problem));
        }
    };
    let seconds = |field: &str, given: i64, least| {
        let checked = IhpaSpecFault::number(given, least, LONGEST);
        at(format!("{path}.{field}"), checked).map(SignedDuration::from_secs)
    };
    Ok(StepPace {
        size,
        interval: seconds("changeIntervalSeconds", *change_interval_seconds, 1)?,
        observation: seconds("observationSeconds", observation_seconds.unwrap_or(0), 0)?,
    })
}
