//! The write of the count of an IHPA: through `scale`, or by a ReplicaProfile of its own where Pods are to wait out
//! of traffic before they are deleted.
//!
//! The profile has the name of the IHPA and is owned by it, so that it goes with it and every Pod is online then. Of
//! two that set the count there is never one: `scale` is written once the profile has gone.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfileSpec};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::scaling_mode::ScalingMode;
use serde_json::Value;

use super::direct_mode;
use crate::specs::ihpa::CheckedIhpa;
use crate::targets::portraits::ProfileRole;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::TickReport;

/// The fields of the spec that the IHPA says; all others are the user's.
const FIELDS: [&str; 6] = [
    "scaleTargetRef",
    "onlineReplicas",
    "cutoffReplicas",
    "standbyReplicas",
    "paused",
    "behavior",
];

/// The fields that a patch is decided on.
const DECIDED_ON: [&str; 3] = ["onlineReplicas", "cutoffReplicas", "standbyReplicas"];

/// The writes that bring the count in line with what was decided.
pub(super) fn writes(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
) -> Vec<Write> {
    let Some(ihpa) = observed.ihpa.as_deref() else {
        return Vec::new();
    };
    let own = observed.profiles.own(ihpa);
    let by_scale = || direct_mode::write(observed, resolved, report);
    if resolved.mode != ScalingMode::Direct {
        return own.and_then(delete).into_iter().collect();
    }
    let target = resolved.target.as_ref();
    let Some(portraits) = target.and_then(|target| target.portraits.as_deref()) else {
        let is_paused = resolved.problems.contains(&TargetProblem::Paused);
        let own = own.filter(|_| is_paused);
        return own.and_then(pause).into_iter().collect();
    };
    // It leaves the user's 0 alone as well, until there is a replica again.
    if portraits.rests_at_zero {
        return Vec::new();
    }
    match (portraits.profile, own) {
        (ProfileRole::SetsCount, own) => {
            let counts = report.and_then(|report| report.portrayed.as_deref());
            let counts = counts.map(|portrayed| portrayed.staged.counts);
            let wanted = counts.map(|counts| wanted(ihpa, counts));
            let write = wanted.and_then(|wanted| match own {
                Some(own) => update(own, &wanted),
                None => create(ihpa, &wanted),
            });
            write.into_iter().collect()
        }
        (ProfileRole::None, Some(own)) => delete(own).into_iter().collect(),
        (ProfileRole::None, None) => by_scale().into_iter().collect(),
        // No replica acts on the profile. It is removed, so that no later one sets an old count from it.
        (ProfileRole::NotFollowed, own) => {
            own.and_then(delete).into_iter().chain(by_scale()).collect()
        }
    }
}

/// The spec that says so many Pods.
fn wanted(ihpa: &CheckedIhpa, counts: ReplicaCounts) -> ReplicaProfileSpec {
    let spec = &ihpa.object.spec;
    let behavior = spec.behavior.as_ref();
    ReplicaProfileSpec {
        scale_target_ref: spec.scale_target_ref.clone(),
        online_replicas: Some(counts.online),
        cutoff_replicas: Some(counts.cutoff),
        standby_replicas: Some(counts.standby),
        paused: None,
        allowed_scaling_direction: None,
        behavior: behavior.and_then(|behavior| behavior.replica_profile.clone()),
    }
}

fn create(ihpa: &CheckedIhpa, spec: &ReplicaProfileSpec) -> Option<Write> {
    let metadata = &ihpa.object.metadata;
    let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    let body = ihpa.object.owned(Kind::ReplicaProfile, name, spec);
    Some(write(namespace, name, WriteOperation::Create(body)))
}

/// The fields that are others, on the counts that were read.
fn update(own: &CheckedReplicaProfile, spec: &ReplicaProfileSpec) -> Option<Write> {
    let found = serde_json::to_value(&own.object.spec).ok()?;
    let wanted = serde_json::to_value(spec).ok()?;
    let mut patch = ConditionalPatch::of(&own.object.metadata);
    for field in DECIDED_ON {
        patch.expect(&["spec", field], field_of(&found, field));
    }
    for field in FIELDS {
        let (before, after) = (field_of(&found, field), field_of(&wanted, field));
        if before != after {
            patch.change(&["spec", field], !before.is_null(), after);
        }
    }
    conditional(own, patch)
}

/// The user wants nothing to be changed, the profile included.
fn pause(own: &CheckedReplicaProfile) -> Option<Write> {
    let before = own.object.spec.paused;
    let mut patch = ConditionalPatch::of(&own.object.metadata);
    if before != Some(true) {
        patch.change(&["spec", "paused"], before.is_some(), Value::Bool(true));
    }
    conditional(own, patch)
}

/// Every Pod is online once it is gone, and the count stays.
fn delete(own: &CheckedReplicaProfile) -> Option<Write> {
    let uid = own.object.metadata.uid.clone()?;
    let (namespace, name) = (own.object.namespace(), own.object.name());
    Some(write(namespace, name, WriteOperation::Delete { uid }))
}

fn conditional(own: &CheckedReplicaProfile, patch: ConditionalPatch) -> Option<Write> {
    if patch.is_empty() {
        return None;
    }
    let (namespace, name) = (own.object.namespace(), own.object.name());
    Some(write(namespace, name, WriteOperation::Conditional(patch)))
}

fn write(namespace: &str, name: &str, operation: WriteOperation) -> Write {
    let target = ObjectRef::in_namespace(Kind::ReplicaProfile, namespace, name);
    Write::new(Purpose::ScalingReplicas, target, operation)
}

fn field_of(spec: &Value, field: &str) -> Value {
    spec.get(field).cloned().unwrap_or_default()
}
