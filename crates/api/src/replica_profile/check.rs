//! From the spec of a ReplicaProfile to its rules, or to what is wrong with it and where.
//!
//! The schema refuses all of it at the API server, where it is of this version.

use evenkeel_objects::truncate::excerpt;
use jiff::SignedDuration;

use super::spec::{
    LONGEST_DRAIN, PodSorter, PodTrafficController, ProfileBehavior, READINESS_GATE,
    ReplicaProfileSpec, WORKLOAD_DEFAULT,
};
use crate::replica_counts::ReplicaCounts;
use crate::replica_profile::direction::Direction;
use crate::replica_profile::profile_rules::ProfileRules;

/// The time for which a Pod takes no traffic before it is deleted, where the spec does not say: proxies and
/// clients hear of an endpoint that is gone within seconds.
const DRAIN: i64 = 30;

/// The most of a value that is quoted.
const LONGEST_QUOTE: usize = 64;

/// A spec that is not accepted, with the path of what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaProfileError {
    #[error("spec.{field}: {given} replicas; accepted: 0 or more")]
    Negative { field: &'static str, given: i32 },
    #[error("spec.allowedScalingDirection: {0}; accepted: Both, Neither, Up or Down")]
    Direction(String),
    #[error("spec.behavior.{0}")]
    Behavior(ProfileBehaviorError),
    #[error("spec: more replicas together than a workload can have")]
    TooMany,
}

/// A behaviour that is not accepted, with the place of what is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileBehaviorError {
    #[error("{field}.type: {given}; accepted: {accepted}")]
    Type {
        field: &'static str,
        given: String,
        accepted: &'static str,
    },
    #[error("drainSeconds: {0}; accepted: 0 to {LONGEST_DRAIN}")]
    Drain(i64),
}

impl ProfileBehaviorError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Type { .. } => "Behavior",
            Self::Drain(_) => "DrainSeconds",
        }
    }
}

impl ReplicaProfileError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Negative { .. } | Self::TooMany => "Replicas",
            Self::Direction(_) => "AllowedScalingDirection",
            Self::Behavior(error) => error.reason(),
        }
    }
}

/// The rules of a spec.
///
/// # Errors
/// The first thing in it that is not accepted.
pub fn check(spec: &ReplicaProfileSpec) -> Result<ProfileRules, ReplicaProfileError> {
    let ReplicaProfileSpec {
        scale_target_ref: _,
        online_replicas,
        cutoff_replicas,
        standby_replicas,
        paused,
        allowed_scaling_direction,
        behavior,
    } = spec;
    let wanted = ReplicaCounts {
        online: count("onlineReplicas", *online_replicas)?,
        cutoff: count("cutoffReplicas", *cutoff_replicas)?,
        standby: count("standbyReplicas", *standby_replicas)?,
    };
    let each = [wanted.online, wanted.cutoff, wanted.standby];
    if each.map(i64::from).iter().sum::<i64>() > i64::from(i32::MAX) {
        return Err(ReplicaProfileError::TooMany);
    }
    let direction = allowed_scaling_direction.as_deref();
    let direction = direction.map_or(Ok(Direction::default()), |name| {
        let unknown = || ReplicaProfileError::Direction(excerpt(name, LONGEST_QUOTE));
        Direction::named(name).ok_or_else(unknown)
    })?;
    Ok(ProfileRules {
        wanted,
        paused: paused.unwrap_or(false),
        direction,
        drain: drain(behavior.as_ref()).map_err(ReplicaProfileError::Behavior)?,
    })
}

fn count(field: &'static str, given: Option<i32>) -> Result<i32, ReplicaProfileError> {
    match given.unwrap_or(0) {
        given if given < 0 => Err(ReplicaProfileError::Negative { field, given }),
        given => Ok(given),
    }
}

/// The time for which a Pod takes no traffic before it is deleted.
///
/// # Errors
/// The first thing in a behaviour that is not accepted.
pub fn drain(behavior: Option<&ProfileBehavior>) -> Result<SignedDuration, ProfileBehaviorError> {
    let Some(behavior) = behavior else {
        return Ok(SignedDuration::from_secs(DRAIN));
    };
    let ProfileBehavior {
        pod_sorter,
        pod_traffic_controller,
        drain_seconds,
    } = behavior;
    if let Some(PodSorter { kind }) = pod_sorter {
        is("podSorter", kind.as_deref(), WORKLOAD_DEFAULT)?;
    }
    if let Some(PodTrafficController { kind }) = pod_traffic_controller {
        is("podTrafficController", kind.as_deref(), READINESS_GATE)?;
    }
    let seconds = drain_seconds.unwrap_or(DRAIN);
    if !(0..=LONGEST_DRAIN).contains(&seconds) {
        return Err(ProfileBehaviorError::Drain(seconds));
    }
    Ok(SignedDuration::from_secs(seconds))
}

fn is(
    field: &'static str,
    given: Option<&str>,
    accepted: &'static str,
) -> Result<(), ProfileBehaviorError> {
    match given {
        Some(given) if given != accepted => Err(ProfileBehaviorError::Type {
            field,
            given: excerpt(given, LONGEST_QUOTE),
            accepted,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(spec: Value) -> Result<ProfileRules, ReplicaProfileError> {
        check(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn what_is_not_said_is_nothing_and_the_default() {
        let rules = checked(
            json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "onlineReplicas": 3}),
        )
        .unwrap();
        let wanted = ReplicaCounts {
            online: 3,
            cutoff: 0,
            standby: 0,
        };
        assert_eq!(
            rules,
            ProfileRules {
                wanted,
                paused: false,
                direction: Direction::Both,
                drain: SignedDuration::from_secs(30),
            }
        );
        let rules = checked(json!({"paused": true, "allowedScalingDirection": "Up",
            "behavior": {"drainSeconds": 0, "podSorter": {"type": "WorkloadDefault"},
                "podTrafficController": {"type": "ReadinessGate"}}}))
        .unwrap();
        assert_eq!(
            (rules.paused, rules.direction, rules.drain.as_secs()),
            (true, Direction::Up, 0)
        );
    }

    #[test]
    fn what_is_not_accepted_is_named_with_what_is() {
        for (spec, reason, told) in [
            (
                json!({"cutoffReplicas": -1}),
                "Replicas",
                "spec.cutoffReplicas: -1 replicas; accepted: 0 or more",
            ),
            (
                json!({"onlineReplicas": i32::MAX, "standbyReplicas": 1}),
                "Replicas",
                "spec: more replicas together than a workload can have",
            ),
            (
                json!({"allowedScalingDirection": "up"}),
                "AllowedScalingDirection",
                "spec.allowedScalingDirection: up; accepted: Both, Neither, Up or Down",
            ),
            (
                json!({"behavior": {"podSorter": {"type": "External"}}}),
                "Behavior",
                "spec.behavior.podSorter.type: External; accepted: WorkloadDefault",
            ),
            (
                json!({"behavior": {"podTrafficController": {"type": "External"}}}),
                "Behavior",
                "spec.behavior.podTrafficController.type: External; accepted: ReadinessGate",
            ),
            (
                json!({"behavior": {"drainSeconds": 90_000}}),
                "DrainSeconds",
                "spec.behavior.drainSeconds: 90000; accepted: 0 to 86400",
            ),
        ] {
            let error = checked(spec.clone()).unwrap_err();
            assert_eq!(
                (error.reason(), error.to_string().as_str()),
                (reason, told),
                "{spec}"
            );
        }
    }
}
