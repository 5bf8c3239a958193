//! The status of a profile after a round.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_api::replica_profile::ReplicaProfileStatus;
use evenkeel_api::replica_profile::refusal::ProfileRefusal;
use evenkeel_objects::condition::{Condition, settle};
use jiff::Timestamp;

use super::pods;
use super::pods::Member;
use super::problem::{AcceptedProfile, ProfileProblem};
use super::profile_objects::ProfileObjects;
use crate::decision::ProfilePlan;

/// The condition that the profile is followed.
pub(super) const APPLIED: &str = ReplicaProfileStatus::APPLIED;
/// The condition that the Pods are as it wants them.
pub(super) const ENSURED: &str = ReplicaProfileStatus::ENSURED;

/// The decision, or the reason why there is none.
pub(super) type ProfileDecision<'a, 'd> =
    Result<&'d (AcceptedProfile<'a>, ProfilePlan), &'d ProfileProblem>;

pub(super) fn status(
    profiled: &ProfileObjects,
    members: &[Member],
    decided: ProfileDecision<'_, '_>,
    before: Option<&ReplicaProfileStatus>,
    now: Timestamp,
) -> ReplicaProfileStatus {
    let object = &profiled.profile.object;
    let [online, ready, cutoff, standby] = pods::count(members);
    let found = ReplicaCounts {
        online,
        cutoff,
        standby,
    };
    let mut conditions = vec![applied(profiled, decided), ensured(decided, found, ready)];
    let before = before.map_or(&[][..], |before| before.conditions.as_slice());
    settle(&mut conditions, before, object.metadata.generation, now);
    ReplicaProfileStatus {
        observed_generation: object.metadata.generation,
        online_replicas: Some(online),
        ready_replicas: Some(ready),
        cutoff_replicas: Some(cutoff),
        standby_replicas: Some(standby),
        conditions,
    }
}

fn applied(profiled: &ProfileObjects, decided: ProfileDecision<'_, '_>) -> Condition {
    match decided {
        Err(problem) => Condition::new(APPLIED, false, problem.reason(), problem.to_string()),
        Ok((_, plan)) => {
            if let Some(refusal @ (ProfileRefusal::Paused | ProfileRefusal::Direction { .. })) =
                plan.refusals.first()
            {
                Condition::new(APPLIED, false, refusal.reason(), refusal.to_string())
            } else {
                let target = &profiled.profile.object.spec.scale_target_ref;
                let message = format!("the Pods and the replicas of {target} follow the profile");
                Condition::new(APPLIED, true, "Followed", message)
            }
        }
    }
}

fn ensured(decided: ProfileDecision<'_, '_>, found: ReplicaCounts, ready: i32) -> Condition {
    let (accepted, plan) = match decided {
        Ok((accepted, plan)) => (accepted, plan),
        Err(problem) => {
            return Condition::new(ENSURED, false, problem.reason(), problem.to_string());
        }
    };
    let wanted = accepted.rules.wanted;
    let count = accepted.workload.replicas;
    if found == wanted && ready >= wanted.online && count == wanted.total() {
        return Condition::new(ENSURED, true, "AsWanted", found.to_string());
    }
    let told: Vec<String> = plan.refusals.iter().map(ToString::to_string).collect();
    let state = format!("{found} ({ready} ready) of {count} replicas; requested: {wanted}");
    let (reason, message) = match plan.refusals.first() {
        Some(first) => (first.reason(), format!("{state}: {}", told.join("; "))),
        None => ("Progressing", state),
    };
    Condition::new(ENSURED, false, reason, message)
}
