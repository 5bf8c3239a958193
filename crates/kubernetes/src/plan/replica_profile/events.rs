//! The Events of a profile: the states of its Pods, the replicas of its workload, and its problems.
//!
//! A change is planned again until the cluster shows it, but an Event reports it once. The memory holds
//! the key of each Event for as long as its change is planned.

use std::collections::BTreeSet;

use super::pods::Member;
use super::profile_objects::{ProfileContext, ProfileMemory, ProfileObjects};
use super::status::{APPLIED, ENSURED, ProfileDecision};
use crate::condition::{Condition, ConditionStatus};
use crate::kinds::Kind;
use crate::plan::event::{EventContent, EventSeverity, RegardingObject};
use crate::plan::write::{Purpose, Write};
use crate::replica_profile::ReplicaProfileStatus;
use evenkeel_core::scaling::replica_profile::{PodState, ProfilePlan};

/// The most Pods that an Event names.
const NAMED: usize = 10;

/// The result of a round of a profile, from which its Events are made.
pub(super) struct ProfileRoundReport<'a, 'd> {
    pub(super) profiled: &'d ProfileObjects,
    pub(super) members: &'d [Member],
    pub(super) decided: ProfileDecision<'a, 'd>,
    pub(super) status: &'d ReplicaProfileStatus,
}

/// One thing to tell.
struct ProfileEvent {
    severity: EventSeverity,
    reason: &'static str,
    action: &'static str,
    note: String,
    /// Its keys in the memory while it is planned.
    keys: Vec<String>,
}

impl ProfileRoundReport<'_, '_> {
    pub(super) fn events(
        &self,
        memory: &mut ProfileMemory,
        context: &ProfileContext<'_>,
    ) -> Vec<Write> {
        let mut all = self.stands_against();
        if let Ok((accepted, plan)) = self.decided {
            all.extend(
                PodState::ALL
                    .into_iter()
                    .filter_map(|to| self.states(plan, to, memory)),
            );
            all.extend(self.replicas(accepted.workload.replicas, plan));
        }
        let metadata = &self.profiled.profile.object.metadata;
        let regarding = RegardingObject::of(Kind::ReplicaProfile, metadata);
        let is_new = |told: &&ProfileEvent| told.keys.iter().any(|key| !memory.told.contains(key));
        let events = all.iter().filter(is_new).map(|told| {
            let event = EventContent {
                purpose: Purpose::PodStateEvent,
                severity: told.severity,
                reason: told.reason,
                action: told.action,
                note: told.note.as_str().into(),
            };
            event.at(&regarding, context.reporter, context.now)
        });
        let events = events.collect();
        let keys: BTreeSet<String> = all.into_iter().flat_map(|told| told.keys).collect();
        let planned = self.planned();
        memory.told.retain(|key| planned.contains(key));
        memory.told.extend(keys);
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
    fn stands_against(&self) -> Vec<ProfileEvent> {
        let before = self.profiled.profile.object.status.as_ref();
        let of = |status: &ReplicaProfileStatus, kind: &str| -> Option<Condition> {
            let mut conditions = status.conditions.iter();
            conditions.find(|one| one.kind == kind).cloned()
        };
        let mut told: Vec<ProfileEvent> = Vec::new();
        for (kind, reason) in [
            (APPLIED, "ProfileNotApplied"),
            (ENSURED, "ProfileNotEnsured"),
        ] {
            let Some(now) = of(self.status, kind).filter(is_against) else {
                continue;
            };
            let was = before
                .and_then(|before| of(before, kind))
                .filter(is_against);
            let is_same = was.is_some_and(|was| was.reason == now.reason);
            // The same reason in both conditions is one thing.
            let is_told = told.iter().any(|other| other.note == now.message);
            if is_same || is_told {
                continue;
            }
            let keys = vec![format!("{kind} {}", now.reason)];
            told.push(ProfileEvent {
                severity: EventSeverity::Warning,
                reason,
                action: "Refusing",
                note: now.message,
                keys,
            });
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
        (!pods.is_empty()).then(|| ProfileEvent {
            severity: EventSeverity::Normal,
            reason,
            action,
            note: format!("{listed}: {what}"),
            keys: pods.iter().map(|pod| key(pod.uid(), to)).collect(),
        })
    }

    fn replicas(&self, from: i32, plan: &ProfilePlan) -> Option<ProfileEvent> {
        let to = plan.replicas;
        let target = &self.profiled.profile.object.spec.scale_target_ref;
        (from != to).then(|| ProfileEvent {
            severity: EventSeverity::Normal,
            reason: "ReplicasSet",
            action: "Scaling",
            note: format!("{target} from {from} to {to} replicas"),
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
