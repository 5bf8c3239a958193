//! The limit of one scale-out by the HPA's rules, and the rule that kept a decision from the count that
//! the load asks for.

use std::fmt;

use evenkeel_hpa as hpa;
use evenkeel_hpa::{Behavior, ScaleEvents, ScalingPolicy, Settings};
use jiff::Timestamp;

/// The most replicas that may follow on `current`, and the rule that says so; never below
/// `current`. They are the HPA's own rules, since a raised minimum must not be faster than the HPA
/// itself would be.
pub fn scale_up_limit(
    behavior: Option<&Behavior>,
    current: i32,
    events: &ScaleEvents,
    now: Timestamp,
) -> (i32, LimitedBy) {
    let Some(Behavior { scale_up, .. }) = behavior else {
        let limit = hpa::legacy_scale_up_limit(current, &Settings::default());
        return (limit, LimitedBy::DefaultScaleUp);
    };
    let (limit, policy) = hpa::scale_up_limit(scale_up, current, events, now);
    let by = policy.map_or(LimitedBy::ScaleUpDisabled, LimitedBy::ScaleUpPolicy);
    (limit.max(current), by)
}

/// The rule that held a decision back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// The user's `minReplicas`.
    MinReplicas(i32),
    /// The user's `maxReplicas`.
    MaxReplicas(i32),
    /// A policy of the HPA's `behavior.scaleUp`.
    ScaleUpPolicy(ScalingPolicy),
    /// `behavior.scaleUp.selectPolicy: Disabled`.
    ScaleUpDisabled,
    /// The HPA controller's own limit where there is no `behavior`.
    DefaultScaleUp,
    /// The pause after the last scale-out or scale-in by prediction.
    CoolDown {
        /// The end of the pause.
        until: Timestamp,
    },
    /// The stabilisation window of scaling down, in seconds.
    ScaleDownWindow { seconds: i64 },
    /// The policies of the HPA's `behavior.scaleDown`.
    ScaleDownPolicies,
    /// Another writer sets the replicas again and again, and Evenkeel sets none meanwhile.
    Contested {
        /// The end of the rest.
        until: Timestamp,
    },
    /// No fresh measurement of the load.
    MissingData,
    /// The load is estimated, since Pods that carry it are not measured for it yet.
    EstimatedLoad,
    /// A portrait that could ask for more has failed lately, so that the count is not lowered.
    FailedPortrait {
        /// The end of the time for which it is waited for.
        until: Timestamp,
    },
    /// Scaling in this direction is switched off by the field of this name.
    ScalingDisabled { field: &'static str },
    /// The time between two steps of a staged change.
    ChangeInterval {
        /// The moment of the next step.
        until: Timestamp,
    },
    /// The time for which a staged change is watched before it is finished.
    Observation {
        /// Its end.
        until: Timestamp,
    },
    /// The last step of a staged change, which has not come about.
    StepPending {
        /// Why not, in one word, where the ReplicaProfile says so.
        refused: Option<&'static str>,
    },
    /// A stability check that does not pass.
    StabilityCheck,
}

impl LimitedBy {
    /// The kind of limit, for conditions, Events and metrics.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::MinReplicas(_) => "MinReplicas",
            Self::MaxReplicas(_) => "MaxReplicas",
            Self::ScaleUpPolicy(_) => "ScaleUpPolicy",
            Self::ScaleUpDisabled => "ScaleUpDisabled",
            Self::DefaultScaleUp => "DefaultScaleUp",
            Self::CoolDown { .. } => "CoolDown",
            Self::ScaleDownWindow { .. } => "ScaleDownWindow",
            Self::ScaleDownPolicies => "ScaleDownPolicies",
            Self::Contested { .. } => "Contested",
            Self::MissingData => "MissingData",
            Self::EstimatedLoad => "EstimatedLoad",
            Self::FailedPortrait { .. } => "FailedPortrait",
            Self::ScalingDisabled { .. } => "ScalingDisabled",
            Self::ChangeInterval { .. } => "ChangeInterval",
            Self::Observation { .. } => "Observation",
            Self::StepPending {
                refused: Some(reason),
            } => reason,
            Self::StepPending { refused: None } => "StepPending",
            Self::StabilityCheck => "StabilityCheck",
        }
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinReplicas(min) => write!(f, "minReplicas {min}"),
            Self::MaxReplicas(max) => write!(f, "maxReplicas {max}"),
            Self::ScaleUpPolicy(policy) => write!(f, "scaleUp policy {policy}"),
            Self::ScaleUpDisabled => f.write_str("scaleUp selectPolicy Disabled"),
            Self::DefaultScaleUp => f.write_str("the HPA's default of twice the count or 4"),
            Self::CoolDown { until } => write!(f, "the cool-down until {until:.0}"),
            Self::ScaleDownWindow { seconds } => {
                write!(f, "the scaleDown window of {seconds} s")
            }
            Self::ScaleDownPolicies => f.write_str("the scaleDown policies"),
            Self::Contested { until } => {
                write!(
                    f,
                    "another controller that sets the replicas: Evenkeel does not set them until \
                     {until:.0}"
                )
            }
            Self::MissingData => f.write_str("missing data"),
            Self::EstimatedLoad => f.write_str("an estimated load"),
            Self::FailedPortrait { until } => {
                write!(
                    f,
                    "a failed portrait, for which Evenkeel waits until {until:.0}"
                )
            }
            Self::ScalingDisabled { field } => write!(f, "{field}"),
            Self::ChangeInterval { until } => write!(f, "the next step at {until:.0}"),
            Self::Observation { until } => write!(f, "the observation until {until:.0}"),
            Self::StepPending { refused: None } => {
                f.write_str("the last step, which is not complete yet")
            }
            Self::StepPending {
                refused: Some(reason),
            } => write!(f, "the ReplicaProfile (reason {reason})"),
            Self::StabilityCheck => f.write_str("a stability check"),
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_hpa::{BehaviorSpec, SelectPolicy};

    use super::*;

    fn behavior(select_policy: SelectPolicy) -> Behavior {
        let mut behavior = BehaviorSpec::default().defaulted();
        behavior.scale_up.select_policy = select_policy;
        behavior
    }

    #[test]
    fn the_rule_that_decides_is_named() {
        let (events, now) = (ScaleEvents::default(), Timestamp::UNIX_EPOCH);
        for (select, current, limit, by) in [
            (SelectPolicy::Max, 3, 7, "scaleUp policy Pods=4/15s"),
            (SelectPolicy::Max, 4, 8, "scaleUp policy Pods=4/15s"),
            (SelectPolicy::Max, 10, 20, "scaleUp policy Percent=100/15s"),
            (SelectPolicy::Min, 10, 14, "scaleUp policy Pods=4/15s"),
            (
                SelectPolicy::Disabled,
                10,
                10,
                "scaleUp selectPolicy Disabled",
            ),
        ] {
            let (found, found_by) = scale_up_limit(Some(&behavior(select)), current, &events, now);
            assert_eq!((found, found_by.to_string().as_str()), (limit, by));
        }
    }

    #[test]
    fn without_behavior_a_step_doubles_or_reaches_four() {
        let (events, now) = (ScaleEvents::default(), Timestamp::UNIX_EPOCH);
        for (current, limit) in [(0, 4), (1, 4), (3, 6), (50, 100), (i32::MAX, i32::MAX)] {
            assert_eq!(
                scale_up_limit(None, current, &events, now).0,
                limit,
                "{current}"
            );
        }
    }

    #[test]
    fn what_was_added_in_the_period_counts() {
        let mut events = ScaleEvents::default();
        let (behavior, now) = (behavior(SelectPolicy::Min), Timestamp::UNIX_EPOCH);
        events.record(Some(&behavior), 4, 7, now);
        assert_eq!(scale_up_limit(Some(&behavior), 7, &events, now).0, 8);
        let later = Timestamp::from_second(15).unwrap();
        assert_eq!(scale_up_limit(Some(&behavior), 7, &events, later).0, 11);
    }
}
