//! The Events of a profile: the states of its Pods, the replicas of its workload, and its problems.
//!
//! A change is planned again until the cluster shows it, but an Event reports it once. The memory holds
//! the key of each Event for as long as its change is planned.

use std::borrow::Cow;
use std::collections::BTreeSet;

use evenkeel_api::replica_profile::ReplicaProfileStatus;
use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_objects::plan::event::{EventContent, EventSeverity};
use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_objects::plan::write::Purpose;
use evenkeel_objects::pod_state::PodState;

use super::pods::Member;
use super::profile_objects::{ProfileMemory, ProfileObjects};
use super::status::{APPLIED, ENSURED, ProfileDecision};
use crate::decision::ProfilePlan;

/// The most Pods that an Event names.
const NAMED: usize = 10;

/// The result of a round of a profile, from which its Events are made.
pub(super) struct ProfileRoundReport<'a, 'd> {
    pub(super) profiled: &'d ProfileObjects,
    pub(super) members: &'d [Member],
    pub(super) decided: ProfileDecision<'a, 'd>,
    /// The status of the round before.
    pub(super) before: Option<&'d ReplicaProfileStatus>,
    pub(super) status: &'d ReplicaProfileStatus,
}

/// An Event with its keys in the memory while it is planned.
struct ProfileEvent {
    event: EventContent<'static>,
    keys: Vec<String>,
}

const fn event(
    severity: EventSeverity,
    reason: &'static str,
    action: &'static str,
    note: String,
) -> EventContent<'static> {
    EventContent {
        purpose: Purpose::PodStateEvent,
        severity,
        reason,
        action,
        note: Cow::Owned(note),
    }
}

impl ProfileRoundReport<'_, '_> {
    pub(super) fn events(&self, memory: &mut ProfileMemory) -> Vec<EventContent<'static>> {
        let mut events = self.stands_against();
        let mut all = Vec::new();
        if let Ok((accepted, plan)) = self.decided {
            let states = PodState::ALL.into_iter();
            all.extend(states.filter_map(|to| self.states(plan, to, memory)));
            all.extend(self.replicas(accepted.workload.replicas, plan));
        }
        let before = std::mem::take(&mut memory.told);
        for ProfileEvent { event, keys } in all {
            if keys.iter().any(|key| !before.contains(key)) {
                events.push(event);
            }
            memory.told.extend(keys);
        }
        let planned = self.planned();
        memory
            .told
            .extend(before.into_iter().filter(|key| planned.contains(key)));
        events
    }

    /// The keys of all changes of Pods that are planned, told or not.
    fn planned(&self) -> BTreeSet<String> {
        let Ok((_, plan)) = self.decided else {
            return BTreeSet::new();
        };
        let named = plan.changes.iter().filter_map(|change| {
            let pod = self.members.get(change.pod)?.pod.as_deref()?;
            Some(key(pod.uid(), change.to))
        });
        named.collect()
    }

    /// The problems of the profile or its Pods that are new since the status before.
    fn stands_against(&self) -> Vec<EventContent<'static>> {
        let mut told: Vec<EventContent<'static>> = Vec::new();
        for (kind, reason) in [
            (APPLIED, "ProfileNotApplied"),
            (ENSURED, "ProfileNotEnsured"),
        ] {
            let against = |status: &ReplicaProfileStatus| -> Option<Condition> {
                status.condition(kind).cloned().filter(is_against)
            };
            let Some(now) = against(self.status) else {
                continue;
            };
            let is_same = self
                .before
                .and_then(against)
                .is_some_and(|was| was.reason == now.reason);
            // The same reason in both conditions is one thing.
            let is_told = told.iter().any(|other| other.note == now.message);
            if !is_same && !is_told {
                told.push(event(
                    EventSeverity::Warning,
                    reason,
                    "Refusing",
                    now.message,
                ));
            }
        }
        told
    }

    /// The Pods that change into a state and were not told of.
    fn states(
        &self,
        plan: &ProfilePlan,
        to: PodState,
        memory: &ProfileMemory,
    ) -> Option<ProfileEvent> {
        let changes = plan.changes.iter().filter(|change| change.to == to);
        let pods = changes.filter_map(|change| self.members.get(change.pod)?.pod.as_deref());
        let pods: Vec<_> = pods
            .filter(|pod| !memory.told.contains(&key(pod.uid(), to)))
            .collect();
        let names: Vec<&str> = pods.iter().map(|pod| pod.name()).collect();
        let listed = names.get(..NAMED).map_or_else(
            || names.join(", "),
            |first| match names.len() - first.len() {
                0 => first.join(", "),
                more => format!("{} and {more} more", first.join(", ")),
            },
        );
        let (reason, action, what) = match to {
            PodState::Online => ("PodsOnline", "BringingOnline", "take traffic"),
            PodState::Cutoff => ("PodsCutOff", "CuttingOff", "run and take no traffic"),
            PodState::Standby => ("PodsStandby", "StandingBy", "are on standby"),
        };
        let note = format!("{listed}: {what}");
        (!pods.is_empty()).then(|| ProfileEvent {
            event: event(EventSeverity::Normal, reason, action, note),
            keys: pods.iter().map(|pod| key(pod.uid(), to)).collect(),
        })
    }

    fn replicas(&self, from: i32, plan: &ProfilePlan) -> Option<ProfileEvent> {
        let to = plan.replicas;
        let target = &self.profiled.profile.object.spec.scale_target_ref;
        let note = format!("{target} from {from} to {to} replicas");
        (from != to).then(|| ProfileEvent {
            event: event(EventSeverity::Normal, "ReplicasSet", "Scaling", note),
            keys: vec![format!("{from} to {to}")],
        })
    }
}

/// True for a condition that tells of something that does not pass by itself.
fn is_against(condition: &Condition) -> bool {
    condition.status == ConditionStatus::False && condition.reason != "Progressing"
}

fn key(uid: &str, to: PodState) -> String {
    format!("{uid} {}", to.as_str())
}
