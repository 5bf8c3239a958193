//! Deletion costs on the Pods of ReplicaSets that are scaled in: [`choose`] chooses the Pods that
//! go first, and [`Rounds`] decides how long a choice stands. A patch tests both annotations of its
//! decision, so it never overwrites another writer's cost. An Event reports a choice once the Pods
//! show it.

mod constraints;
mod pod_choice;
mod rounds;

use std::sync::Arc;

use evenkeel_objects::annotations::{DELETION_COST, POD_DELETION_COST};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use jiff::Timestamp;

use crate::removable_pod::{Cost, RemovablePod};

pub use constraints::{NamespacePods, NodeLabels};
pub use pod_choice::{DeletionCostRefusal, Situation, choose, count_to_mark, looks};
pub use rounds::{DeletionCostChoice, DueCostWrites, Rounds};

/// The write that gives a Pod its cost, or removes Evenkeel's; `None` if nothing changes, or if the
/// cost is the user's.
pub fn write(pod: &RemovablePod, cost: Option<&Cost>, purpose: Purpose) -> Option<Write> {
    let found = &pod.mark;
    let is_users = found.is_users();
    let wanted = found.with(cost.filter(|_| !is_users));
    let changes_cost = !is_users && found.cost != wanted.cost;
    let changes_own = found.own != wanted.own;
    if !changes_cost && !changes_own {
        return None;
    }
    let mut patch = ConditionalPatch::of(&pod.metadata());
    patch.expect_annotation(POD_DELETION_COST, found.cost.as_deref());
    patch.expect_annotation(DELETION_COST, found.own.as_deref());
    if changes_cost {
        patch.annotate(POD_DELETION_COST, found.cost.is_some(), wanted.cost);
    }
    if changes_own {
        patch.annotate(DELETION_COST, found.own.is_some(), wanted.own);
    }
    Some(Write::new(
        purpose,
        object(pod),
        WriteOperation::Conditional(patch),
    ))
}

/// The writes that take every cost of Evenkeel's away.
pub fn clear(pods: &[Arc<RemovablePod>], purpose: Purpose) -> Vec<Write> {
    let clear = |pod: &Arc<RemovablePod>| write(pod, None, purpose);
    pods.iter().filter_map(clear).collect()
}

pub fn object(pod: &RemovablePod) -> ObjectRef {
    ObjectRef::in_namespace(Kind::Pod, &*pod.common.namespace, &*pod.name)
}

/// The ReplicaSet of a Pod, as Events are about it.
fn regarding(pod: &RemovablePod) -> Option<RegardingObject> {
    let set = pod.common.replica_set.as_ref()?;
    Some(RegardingObject {
        kind: Kind::ReplicaSet,
        namespace: Some(pod.common.namespace.clone()),
        name: set.name.clone(),
        uid: set.key.uid().to_owned(),
    })
}

/// The Event that reports why a Pod's ReplicaSet is left alone; the same Event for the same reason.
pub fn left_alone(
    pod: &RemovablePod,
    why: &DeletionCostRefusal,
    reporter: &str,
    now: Timestamp,
) -> Option<Write> {
    let regarding = regarding(pod)?;
    let note = why.to_string();
    let event = EventContent {
        purpose: Purpose::DeletionCostEvent,
        severity: EventSeverity::Normal,
        reason: "ScaleInLeftAlone",
        action: "LeavingAlone",
        note: note.into(),
    };
    let seed = format!("{} {}", regarding.uid, why.reason());
    Some(event.once(&regarding, &seed, reporter, now))
}

#[cfg(test)]
mod tests;
