//! The part of a workload's status in mode direct that later decisions need: after a restart, or from another
//! replica.

use evenkeel_hpa as hpa;
use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_objects::meta::Meta;
use evenkeel_objects::scaling_mode::ScalingMode;

use super::TargetStatus;
use crate::targets::hpa_input::LastStatus;
use crate::targets::target_objects::TargetObjects;

/// The last status of a target's workload, or of its IHPA.
pub fn told(observed: &TargetObjects) -> LastStatus {
    if let Some(ihpa) = &observed.ihpa {
        let status = ihpa.object.status.clone().unwrap_or_default();
        let desired = status.desired.map(|desired| desired.online_replicas);
        return of_conditions(desired, status.conditions);
    }
    let workload = observed.workload.as_deref();
    let status = workload.and_then(|workload| TargetStatus::held_by(&workload.metadata));
    status.map(of).unwrap_or_default()
}

/// True where the status on a workload says that mode direct removed its last replica. Evenkeel then has to
/// wake it again.
pub fn sleeps(metadata: &Meta) -> bool {
    let status = TargetStatus::held_by(metadata);
    let asleep = |condition: &hpa::HpaCondition| {
        let is_true = condition.status == ConditionStatus::True;
        condition.condition_type == hpa::ConditionType::ScaledToZero && is_true
    };
    status.is_some_and(|status| {
        let is_direct = status.mode == ScalingMode::Direct.as_str();
        is_direct && of(status).status.conditions.iter().any(asleep)
    })
}

fn of(status: TargetStatus) -> LastStatus {
    let is_direct = status.mode == ScalingMode::Direct.as_str();
    of_conditions(status.replicas.filter(|_| is_direct), status.conditions)
}

fn of_conditions(replicas: Option<i32>, conditions: Vec<Condition>) -> LastStatus {
    let condition = |condition: Condition| hpa::HpaCondition {
        condition_type: condition.kind.as_str().into(),
        status: (condition.status == ConditionStatus::True).into(),
        reason: condition.reason.into(),
        message: condition.message.into(),
        last_transition_time: Some(condition.last_transition_time),
        observed_generation: condition.observed_generation,
    };
    let own = conditions.into_iter().map(condition);
    let mut conditions: Vec<_> = own
        .filter(|condition| !matches!(condition.condition_type, hpa::ConditionType::Other(_)))
        .collect();
    conditions.extend(put_to_sleep(replicas, &conditions));
    LastStatus {
        replicas,
        status: hpa::HpaStatus {
            desired_replicas: replicas.unwrap_or_default(),
            conditions,
            ..hpa::HpaStatus::default()
        },
    }
}

/// The condition of a target that a decision on its metrics has just scaled to 0. The status reports it only
/// after that has been seen. No decision is made about a count of 0 that the user has set.
fn put_to_sleep(replicas: Option<i32>, told: &[hpa::HpaCondition]) -> Option<hpa::HpaCondition> {
    let of = |condition_type| {
        let mut told = told.iter();
        told.find(|one| one.condition_type == condition_type)
    };
    let active = of(hpa::ConditionType::ScalingActive)?;
    let decided = replicas == Some(0) && active.status == ConditionStatus::True;
    let is_told = of(hpa::ConditionType::ScaledToZero).is_some();
    (decided && !is_told).then(|| hpa::HpaCondition {
        condition_type: hpa::ConditionType::ScaledToZero,
        ..active.clone()
    })
}
