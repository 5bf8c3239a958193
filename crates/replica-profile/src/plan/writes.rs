//! The writes on single Pods: the label of their state, and the cost that makes those that are to go go first.

use std::collections::BTreeSet;

use evenkeel_objects::annotations::POD_STATE;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use evenkeel_placement::deletion_cost::DeletionBasis;
use evenkeel_placement::plan::deletion_cost;
use evenkeel_placement::removable_pod::{Cost, RemovablePod};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::pods::Member;
use super::resource_restores::GiveBacks;
use super::standby;
use crate::decision::{PodResources, ProfilePod};

/// The cost of a Pod that is not ready. It goes before all others, because it serves no traffic.
const UNREADY: i32 = -2_100_000_000;

/// The cost of a Pod that has been out of traffic since [`SINCE`]; each second later costs one more. So the cost
/// follows from the Pod alone and stays when other Pods go. It is lower than any cost that balances nodes.
const OFF: i32 = -2_000_000_000;

/// The seconds from 1970 to 2025, before which no Pod was out of traffic.
const SINCE: i64 = 1_735_689_600;

/// The cost of a Pod that is to go; none while nothing shows that it is out of traffic.
fn cost(pod: &ProfilePod) -> Option<Cost> {
    let cost = if pod.state.is_off() {
        let seconds = pod.off_since?.as_second().saturating_sub(SINCE);
        OFF + i32::try_from(seconds.clamp(0, 1_900_000_000)).ok()?
    } else {
        UNREADY
    };
    let ground = DeletionBasis::CutOff;
    Some(Cost { cost, ground })
}

/// The write that gives a Pod its state; `None` where its label says so.
pub(super) fn state(pod: &Pod, to: PodState) -> Option<Write> {
    let found = pod.labels.get(POD_STATE);
    let wanted = to.is_off().then(|| to.as_str());
    if found.map(String::as_str) == wanted {
        return None;
    }
    let label = ["metadata", "labels", POD_STATE];
    let mut patch = ConditionalPatch::of(&pod.metadata);
    if pod.labels.is_empty() {
        patch.expect(&label[..2], Value::Null);
        patch.change(&label[..2], false, json!({}));
    } else {
        patch.expect(&label, json!(found));
    }
    patch.change(&label, found.is_some(), json!(wanted));
    Some(Write::new(
        Purpose::PodState,
        ObjectRef::in_namespace(Kind::Pod, pod.namespace(), pod.name()),
        WriteOperation::Conditional(patch),
    ))
}

/// The writes of the costs of those that are to go, and of those that are not any more.
pub(super) fn marks(members: &[Member], victims: &[usize]) -> Vec<Write> {
    let victims: BTreeSet<usize> = victims.iter().copied().collect();
    let mut writes = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let Some(removable) = &member.removable else {
            continue;
        };
        let is_victim = victims.contains(&at);
        let cost = is_victim.then(|| cost(&member.facts)).flatten();
        let given = removable.mark.given();
        let own = given.filter(|given| given.ground == DeletionBasis::CutOff);
        if cost == own {
            continue;
        }
        writes.extend(deletion_cost::write(
            removable,
            cost.as_ref(),
            Purpose::DeletionCost,
        ));
    }
    writes
}

/// The writes that take a Pod's state and its cost away, where no profile holds it. One that stands by has its
/// resources back first, unless they are not given for a while: then it takes traffic all the same.
pub fn release(pod: &Pod, give_backs: &mut GiveBacks, now: Timestamp) -> Vec<Write> {
    let waits = give_backs.resources(pod, PodState::Online, now) == PodResources::Lowered;
    released(pod, Purpose::PodState, !waits, now)
}

/// The same where nothing may be waited for.
pub fn bring_online(pod: &Pod, purpose: Purpose, now: Timestamp) -> Vec<Write> {
    released(pod, purpose, true, now)
}

fn released(pod: &Pod, purpose: Purpose, is_online: bool, now: Timestamp) -> Vec<Write> {
    let resized = standby::write(pod, PodState::Online, None, now);
    let online = state(pod, PodState::Online).filter(|_| is_online);
    let online = resized.into_iter().chain(online);
    let online = online.map(|write| Write { purpose, ..write });
    let removable = RemovablePod::of(pod);
    let cost = removable.and_then(|removable| {
        let given = removable.mark.given()?;
        (given.ground == DeletionBasis::CutOff)
            .then(|| deletion_cost::write(&removable, None, purpose))?
    });
    online.chain(cost).collect()
}
