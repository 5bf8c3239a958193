//! ReplicaProfiles: the writes that bring a workload and its Pods in line with a profile, and the Events and
//! the status about it.
//!
//! The label of a Pod alone holds its state. Every replica derives the condition that takes the Pod out of
//! traffic from the label ([`super::online_condition`]). The Pods of a deleted profile are found by it.
//! A new leader loses only the start times of waits.

mod events;
mod pods;
mod problem;
mod profile_objects;
mod resource_restores;
mod standby;
mod status;
mod writes;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::scale::set_replicas;
use evenkeel_objects::plan::status_writer::StatusSubject;
use evenkeel_objects::plan::write::Write;
use evenkeel_objects::workload::Workload;
use evenkeel_tuning::tuning_policy::TuningPolicy;
use jiff::Timestamp;
use pods::Member;

use crate::decision::{DisruptionLimits, ProfileInput, ProfilePlan, decide};
pub use problem::ProfileProblem;
pub use profile_objects::{ProfileContext, ProfileMemory, ProfileObjects};
pub use resource_restores::GiveBacks;
use standby::StandbyReduction;
pub use writes::{bring_online, release};

/// The result of a round for one profile.
#[derive(Debug, Default)]
pub struct ProfileOutcome {
    pub writes: Vec<Write>,
    /// The kind of what stands against the profile, for metrics.
    pub problem: Option<&'static str>,
    /// True where the Pods of the workload are this profile's to change.
    pub holds_pods: bool,
}

/// Plans one round of a profile.
pub fn plan(
    profiled: &ProfileObjects,
    memory: &mut ProfileMemory,
    context: &ProfileContext<'_>,
) -> ProfileOutcome {
    let members = pods::members(profiled, &mut memory.give_backs, context.now);
    let decided = problem::accepted(profiled, context).map(|accepted| {
        let limits = limits(profiled, accepted.workload, &members, context.now);
        let pods: Vec<_> = members.iter().map(|member| member.facts.clone()).collect();
        let situation = ProfileInput {
            replicas: accepted.workload.replicas,
            pods: &pods,
            limits: &limits,
            is_rolling: profiled.is_rolling,
            progress: accepted.workload.progress,
            min_ready: accepted.workload.rollout.min_ready,
            waits_since: memory.waits_since,
            now: context.now,
        };
        let plan = decide(accepted.rules, &situation);
        (accepted, plan)
    });
    let waits = decided.as_ref().is_ok_and(|(_, plan)| plan.waits);
    memory.waits_since = waits.then(|| memory.waits_since.unwrap_or(context.now));
    let object = &profiled.profile.object;
    let on = StatusSubject {
        kind: Kind::ReplicaProfile,
        metadata: &object.metadata,
        held: object.status.as_ref(),
    };
    let before = memory.written.take_before(&on, context.now);
    let decision = decided.as_ref();
    let status = status::status(profiled, &members, decision, before.as_ref(), context.now);
    let mut outcome = ProfileOutcome {
        problem: decided.as_ref().err().map(ProfileProblem::reason),
        holds_pods: decided
            .as_ref()
            .map_or_else(ProfileProblem::keeps_pods, |_| true),
        ..ProfileOutcome::default()
    };
    if let Ok((accepted, plan)) = &decided {
        outcome.writes = changes(accepted.workload, &members, plan);
        let resizes = resizes(profiled, accepted.workload, context.now);
        outcome.writes.extend(resizes);
    }
    let told = events::ProfileRoundReport {
        profiled,
        members: &members,
        decided: decided.as_ref(),
        before: before.as_ref(),
        status: &status,
    };
    let events = told.events(memory);
    let context = PlanContext {
        now: context.now,
        reporter: context.reporter,
    };
    let told = memory.written.plan(&on, status, &events, &context);
    outcome.writes.extend(told);
    outcome
}

/// The writes on Pods and workload.
fn changes(workload: &Workload, members: &[Member], plan: &ProfilePlan) -> Vec<Write> {
    let states = plan.changes.iter().filter_map(|change| {
        let pod = members.get(change.pod)?.pod.as_deref()?;
        writes::state(pod, change.to)
    });
    let mut all: Vec<Write> = states.collect();
    if workload.kind != Kind::StatefulSet {
        all.extend(writes::marks(members, &plan.victims));
    }
    let metadata = &workload.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = metadata.name.as_deref().unwrap_or_default();
    let object = ObjectRef::in_namespace(workload.kind, namespace, name);
    all.extend(set_replicas(
        object,
        metadata,
        workload.replicas,
        plan.replicas,
    ));
    all
}

/// The writes that bring the resources of Pods in line with their states.
fn resizes(profiled: &ProfileObjects, workload: &Workload, now: Timestamp) -> Vec<Write> {
    let (policy, _) = TuningPolicy::parse(&workload.metadata.annotations);
    let pods = profiled.gated.iter();
    let writes = pods.filter_map(|pod| {
        // Where the owner's bounds cannot be read, it stands by with what it has.
        let used = profiled
            .used
            .get(pod.uid())
            .filter(|_| !policy.are_bounds_unknown);
        let lowering = used.map(|used| StandbyReduction {
            used,
            policy: &policy,
        });
        standby::write(pod, pod.state(), lowering, now)
    });
    writes.collect()
}

/// The limits on Pods out of traffic, as they stand.
fn limits(
    profiled: &ProfileObjects,
    workload: &Workload,
    members: &[Member],
    now: Timestamp,
) -> DisruptionLimits {
    let most = workload.rollout.max_unavailable(workload.replicas);
    let budgets = profiled.budgets.iter();
    DisruptionLimits {
        max_unavailable: most.map(|most| i32::try_from(most).unwrap_or(i32::MAX)),
        is_ordered: workload.rollout.is_ordered,
        budgets: budgets
            .filter_map(|budget| pods::budget(budget, members, now))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
