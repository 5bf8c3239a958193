//! The Pods of a workload as a decision takes them, in the order in which its controller would delete them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_metrics::pod::{PodFacts, PodPhase};
use evenkeel_objects::annotations::ONLINE;
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use evenkeel_placement::deletion_order::{ActivePodPhase, Victim, in_order};
use evenkeel_placement::removable_pod::RemovablePod;
use jiff::{SignedDuration, Timestamp};

use super::profile_objects::ProfileObjects;
use super::resource_restores::GiveBacks;
use crate::decision::{Budget, PodResources, ProfilePod};

/// The time in which the controller of budgets sees that a Pod is not ready any more.
const BUDGET_LAG: SignedDuration = SignedDuration::from_secs(10);

/// The time in which kubelet sees that the gate of a Pod is open.
const OPENS: SignedDuration = SignedDuration::from_secs(10);

/// A Pod of the workload.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// The Pod itself, where it has the readiness gate.
    pub(super) pod: Option<Arc<Pod>>,
    /// It as far as it may go in a scale-in.
    pub(super) removable: Option<RemovablePod>,
    pub(super) facts: ProfilePod,
    /// The cost of its deletion.
    cost: i32,
}

/// The Pods that are neither finished nor being deleted, those first that go first.
pub(super) fn members(
    profiled: &ProfileObjects,
    give_backs: &mut GiveBacks,
    now: Timestamp,
) -> Vec<Member> {
    give_backs.retain(profiled.gated.iter().map(|pod| &**pod));
    let is_ordinal = profiled.profile.kind() == Some(Kind::StatefulSet);
    let gated = profiled.gated.iter().filter_map(|pod| {
        let resources = give_backs.resources(pod, pod.state(), now);
        let mut member = gated(pod, resources, is_ordinal)?;
        member.facts.is_opening = is_opening(pod, now);
        Some(member)
    });
    let mut members: Vec<Member> = gated.collect();
    if !is_ordinal {
        members = by_deletion(members, now);
    }
    let others = profiled.ungated.iter().filter(|facts| {
        let has_ended = matches!(facts.phase, PodPhase::Succeeded | PodPhase::Failed);
        !facts.deleted && !has_ended
    });
    members.extend(others.map(|facts| ungated(facts, is_ordinal)));
    if is_ordinal {
        members.sort_by_key(|member| Reverse(member.facts.ordinal));
    } else {
        take_turns(&mut members);
    }
    members
}

/// Gives Pods their turns, the same where they cost the same.
fn take_turns(members: &mut [Member]) {
    let costs: BTreeSet<i32> = members.iter().map(|member| member.cost).collect();
    let turns: BTreeMap<i32, u32> = costs.into_iter().zip(0..).collect();
    for member in members {
        member.facts.turn = turns.get(&member.cost).copied().unwrap_or(0);
    }
}

fn gated(pod: &Arc<Pod>, resources: PodResources, is_ordinal: bool) -> Option<Member> {
    let removable = RemovablePod::of(pod)?;
    let is = |condition: &str| {
        let found = pod.status.condition(condition);
        found.filter(|found| found.status == "True")
    };
    let off = pod.status.condition(ONLINE);
    let off = off.filter(|found| found.status == "False");
    let state = pod.state();
    let facts = ProfilePod {
        state,
        is_gated: true,
        containers_ready: is("ContainersReady").is_some(),
        is_opening: false,
        ready_since: is("Ready").and_then(|ready| ready.last_transition_time),
        off_since: off
            .filter(|_| state.is_off())
            .and_then(|found| found.last_transition_time),
        resources,
        turn: 0,
        takes_mark: !is_ordinal && !removable.mark.is_users(),
        ordinal: ordinal(pod.name()).filter(|_| is_ordinal),
    };
    let cost = removable.mark.cost.as_deref();
    Some(Member {
        pod: Some(Arc::clone(pod)),
        cost: cost.and_then(|cost| cost.parse().ok()).unwrap_or(0),
        removable: Some(removable),
        facts,
    })
}

/// True where the gate of a Pod is about to open after it was shut, or has just been opened.
fn is_opening(pod: &Pod, now: Timestamp) -> bool {
    let gate = pod.status.condition(ONLINE);
    gate.is_some_and(|gate| {
        let since = gate.last_transition_time;
        let lately = since.is_some_and(|since| now.duration_since(since) < OPENS);
        gate.status == "False" || lately
    })
}

fn ungated(facts: &PodFacts, is_ordinal: bool) -> Member {
    let ready = facts
        .ready
        .filter(|ready| ready.status == ConditionStatus::True);
    Member {
        pod: None,
        removable: None,
        facts: ProfilePod {
            containers_ready: ready.is_some(),
            ready_since: ready.map(|ready| ready.last_transition_time),
            ordinal: ordinal(&facts.name).filter(|_| is_ordinal),
            ..ProfilePod::default()
        },
        cost: 0,
    }
}

/// The number at the end of the name of a StatefulSet's Pod.
fn ordinal(name: &str) -> Option<u32> {
    let (_, number) = name.rsplit_once('-')?;
    number.parse().ok()
}

/// Pods of a ReplicaSet in the order in which its controller deletes them.
fn by_deletion(members: Vec<Member>, now: Timestamp) -> Vec<Member> {
    let victims: Vec<_> = members.iter().map(|member| victim(member, now)).collect();
    let nodes: Vec<_> = victims.iter().map(|victim| victim.node.clone()).collect();
    let order = in_order(&victims, nodes);
    let mut places: Vec<Option<Member>> = members.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| places.get_mut(at)?.take())
        .collect()
}

fn victim(member: &Member, now: Timestamp) -> Victim<Arc<str>, String> {
    let pod = member.pod.as_deref();
    let restarts = |statuses: &[pod::ContainerStatus]| {
        let most = statuses.iter().map(|status| status.restart_count).max();
        i32::try_from(most.unwrap_or(0)).unwrap_or(i32::MAX)
    };
    let made = pod.and_then(|pod| pod.metadata.creation_timestamp);
    let age = |since: Option<Timestamp>| since.map(|since| now.duration_since(since));
    Victim {
        node: member
            .removable
            .as_ref()
            .and_then(|removable| removable.node.clone()),
        phase: match pod.map(|pod| pod.status.phase) {
            Some(pod::PodStatusPhase::Pending) => ActivePodPhase::Pending,
            Some(pod::PodStatusPhase::Running) => ActivePodPhase::Running,
            _ => ActivePodPhase::Unknown,
        },
        is_ready: member.facts.ready_since.is_some(),
        cost: member.cost,
        ready_for: age(member.facts.ready_since),
        restarts: pod.map_or([0, 0], |pod| {
            let status = &pod.status;
            [
                restarts(&status.container_statuses),
                restarts(&status.init_container_statuses),
            ]
        }),
        age: age(made),
        identity: pod.map(|pod| pod.uid().to_owned()).unwrap_or_default(),
    }
}

/// A budget as far as it covers Pods of the workload. What has been taken out of traffic lately its
/// controller may not have seen yet.
pub(super) fn budget(
    budget: &DisruptionBudget,
    members: &[Member],
    now: Timestamp,
) -> Option<Budget> {
    let covers: Vec<usize> = (0..members.len())
        .filter(|&at| {
            let pod = members[at].pod.as_deref();
            pod.is_some_and(|pod| budget.covers(&pod.labels))
        })
        .collect();
    let is_unseen = |at: &&usize| {
        let facts = &members[**at].facts;
        let lately = |since: Timestamp| now.duration_since(since) < BUDGET_LAG;
        facts.state.is_off() && facts.off_since.is_none_or(lately)
    };
    let count = |pods: usize| u32::try_from(pods).unwrap_or(u32::MAX);
    let unseen = count(covers.iter().filter(is_unseen).count());
    let is_ready = |at: &&usize| {
        let facts = &members[**at].facts;
        !facts.state.is_off() && facts.ready_since.is_some()
    };
    let ready = count(covers.iter().filter(is_ready).count());
    let allowed = budget.allowed().saturating_sub(unseen);
    let allowed = allowed.min(budget.room(ready, count(covers.len())));
    (!covers.is_empty()).then(|| Budget {
        name: budget.metadata.name.clone().unwrap_or_default(),
        allowed: i32::try_from(allowed).unwrap_or(i32::MAX),
        is_absolute: budget.is_absolute(),
        covers,
    })
}

/// The Pods by state, and how many of those online are ready.
pub(super) fn count(members: &[Member]) -> [i32; 4] {
    let of = |is_one: &dyn Fn(&ProfilePod) -> bool| {
        let found = members
            .iter()
            .filter(|member| is_one(&member.facts))
            .count();
        i32::try_from(found).unwrap_or(i32::MAX)
    };
    [
        of(&|pod| pod.state == PodState::Online),
        of(&|pod| pod.state == PodState::Online && pod.ready_since.is_some()),
        of(&|pod| pod.state == PodState::Cutoff),
        of(&|pod| pod.state == PodState::Standby),
    ]
}
