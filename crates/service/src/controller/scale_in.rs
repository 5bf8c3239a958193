//! Deletion costs before a scale-in, by the leader. At each tick the scaling loop reports the
//! workloads about to lose Pods, and hands over the write for it. A round here chooses the Pods
//! that go first, and releases the write when the Pods show the costs, when a cost could not be
//! written, or after ten seconds. A round's budget leaves the rest to the next, so one tenant's
//! many workloads delay no others and costs fill no queue.

mod memory;
mod round_budget;
mod tick_scale_ins;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::deletion_cost::DeletionBasis;
use evenkeel_placement::plan::deletion_cost;
use evenkeel_placement::plan::deletion_cost::{
    DeletionCostChoice, DeletionCostRefusal, DueCostWrites, Rounds, Situation, choose, clear,
    count_to_mark, looks,
};
use evenkeel_placement::removable_pod::RemovablePod;
use evenkeel_placement::snapshot::OptIn;
use evenkeel_scaling::writes::scale_in::{PendingScaleIn, ScaleInWrite};
use jiff::Timestamp;

use super::metrics::ControllerMetrics;
use super::switch::Writes;
use crate::cluster::ClusterState;

pub(super) use memory::ScaleInMemory;
use memory::{HeldLowering, UpcomingScaleIn, has_waited};
use round_budget::{MARKS, ScaleInBudget};
pub use tick_scale_ins::ScaleIns;

/// The most costs that are taken away in a round.
const CLEARS: usize = 100;

pub(super) struct Costs {
    pub(super) cluster: ClusterState,
    pub(super) policy: Arc<SchedulingPolicy>,
    /// `None` where no costs are given.
    pub(super) scale_ins: Option<ScaleIns>,
    pub(super) reporter: String,
    pub(super) metrics: ControllerMetrics,
}

#[derive(Debug, Default)]
pub(super) struct DeletionCostPlan {
    pub(super) writes: Vec<Write>,
    /// The writes that wait for costs no longer, see [`ScaleInMemory::let_go`].
    pub(super) freed: Vec<HeldLowering>,
}

impl Costs {
    /// The writes of one round; `failed` are the objects with failed writes since the last.
    pub(super) fn plan(
        &self,
        memory: &mut ScaleInMemory,
        failed: &HashSet<ObjectRef>,
        now: Timestamp,
    ) -> DeletionCostPlan {
        let mut marked = self.cluster.removable().marked();
        self.metrics.marked_pods(marked.len());
        // Those that are to go by a ReplicaProfile are its own to mark.
        marked.retain(|pod| {
            let given = pod.mark.given();
            given.is_none_or(|given| given.ground != DeletionBasis::CutOff)
        });
        let Some(scale_ins) = &self.scale_ins else {
            let mut writes = clear(&marked, Purpose::DeletionCost);
            at_most(CLEARS, &mut writes, failed);
            return DeletionCostPlan {
                writes,
                freed: Vec::new(),
            };
        };
        let mut writes = Vec::new();
        if let Some(expected) = scale_ins.take(now) {
            writes.extend(self.take(memory, expected, now));
        }
        memory.rounds.pass(now);
        let mut cleared = self.give_way(&mut memory.rounds, &marked);
        cleared.extend(memory.rounds.clear(&marked, now));
        at_most(CLEARS, &mut cleared, failed);
        let awaited = self.follow(&mut memory.rounds, failed, now);
        writes.extend(self.choose_next(memory, awaited, now));
        self.metrics.waiting_scale_ins(memory.coming.len());
        writes.extend(self.marks(&mut memory.rounds, now));
        writes.extend(cleared);
        let ScaleInMemory { rounds, held, .. } = memory;
        let is_free = |held: &mut HeldLowering| {
            let is_settled =
                |set: &ControllerKey| rounds.is_settled(set, &self.cluster.removable().of_set(set));
            has_waited(held.since, now) || held.replica_set.as_ref().is_none_or(is_settled)
        };
        DeletionCostPlan {
            writes,
            freed: held.extract_if(.., is_free).collect(),
        }
    }

    fn take(
        &self,
        memory: &mut ScaleInMemory,
        expected: Vec<PendingScaleIn>,
        now: Timestamp,
    ) -> Vec<Write> {
        let mut before = memory.renew();
        let mut told = Vec::new();
        for mut scale_in in expected {
            let lowering = scale_in.lowering.as_mut();
            let since = lowering.and_then(|lowering| before.renew(lowering));
            let since = since.unwrap_or(now);
            match self.replica_set(&scale_in) {
                Ok(replica_set) => {
                    memory.rounds.want(&replica_set, now);
                    let is_due = memory.rounds.is_due(&replica_set, now);
                    let coming = UpcomingScaleIn {
                        scale_in,
                        replica_set,
                        since,
                    };
                    if is_due {
                        memory.coming.push(coming);
                    } else {
                        hold(&mut memory.held, coming, true);
                    }
                }
                Err(why) => {
                    let replica_set = ControllerKey::default();
                    let coming = UpcomingScaleIn {
                        scale_in,
                        replica_set,
                        since,
                    };
                    told.extend(self.leave_alone(memory, coming, &why, now));
                }
            }
        }
        memory.take_turns();
        told
    }

    fn replica_set(&self, scale_in: &PendingScaleIn) -> Result<ControllerKey, DeletionCostRefusal> {
        let controllers = self.cluster.scaling().controllers_of(&scale_in.target);
        let mut controllers = controllers.into_iter();
        let set = controllers
            .next()
            .ok_or(DeletionCostRefusal::NoReplicaSet)?;
        if controllers.next().is_some() {
            return Err(DeletionCostRefusal::Rollout);
        }
        if self.cluster.removable().of_set(&set).is_empty() {
            return Err(DeletionCostRefusal::NoReplicaSet);
        }
        Ok(set)
    }

    /// Ends the choices for ReplicaSets with a user's cost, or in namespaces no longer opted in.
    /// Returns the writes that remove the costs there.
    fn give_way(&self, rounds: &mut Rounds, marked: &RemovablePodList) -> Vec<Write> {
        let of_marked = marked
            .iter()
            .filter_map(|pod| pod.common.replica_set.as_ref());
        let of_marked = of_marked.map(|set| &set.key);
        let sets: BTreeSet<ControllerKey> = rounds.sets().chain(of_marked).cloned().collect();
        let snapshot = self.cluster.snapshot();
        let mut writes = Vec::new();
        for set in sets {
            let pods = self.cluster.removable().of_set(&set);
            let is_others = |pod: &Arc<RemovablePod>| {
                pod.mark.is_users() || snapshot.opt_in(&pod.common.namespace) == OptIn::Out
            };
            if pods.iter().any(is_others) {
                rounds.forget(&set);
                writes.extend(clear(&pods, Purpose::DeletionCost));
            }
        }
        writes
    }

    /// Records the costs that could not be written, and returns the number still awaited. Costs
    /// that another writer keeps removing are awaited for as long as a scale-in waits.
    fn follow(&self, rounds: &mut Rounds, failed: &HashSet<ObjectRef>, now: Timestamp) -> usize {
        let mut awaited = 0;
        for set in names(rounds) {
            let pods = self.cluster.removable().of_set(&set);
            rounds.fail(&set, &pods, failed);
            let chosen = rounds.chosen_at(&set);
            if chosen.is_some_and(|at| !has_waited(at, now)) {
                awaited += rounds.writes(&set, &pods).awaited.len();
            }
        }
        awaited
    }

    /// Chooses the first Pods to go in the next scale-ins in turn, within a round's budget.
    fn choose_next(
        &self,
        memory: &mut ScaleInMemory,
        awaited: usize,
        now: Timestamp,
    ) -> Vec<Write> {
        let mut room = ScaleInBudget::new(awaited);
        let mut told = Vec::new();
        for coming in std::mem::take(&mut memory.coming) {
            if has_waited(coming.since, now) {
                told.extend(self.leave_alone(memory, coming, &DeletionCostRefusal::Busy, now));
                continue;
            }
            if !room.is_left() {
                memory.coming.push(coming);
                continue;
            }
            let pods = self.cluster.removable().of_set(&coming.replica_set);
            match self.choose(&coming.scale_in, &pods, &mut room) {
                Ok(chosen) => {
                    let set = &coming.replica_set;
                    self.metrics.balanced_scale_in();
                    memory.rounds.begin(set, chosen, now);
                    let marks = memory.rounds.writes(set, &pods).awaited.len();
                    room.marks = room.marks.saturating_sub(marks);
                    hold(&mut memory.held, coming, true);
                }
                Err(why) => {
                    memory.rounds.forget(&coming.replica_set);
                    told.extend(self.leave_alone(memory, coming, &why, now));
                }
            }
        }
        told
    }

    fn choose(
        &self,
        scale_in: &PendingScaleIn,
        pods: &RemovablePodList,
        room: &mut ScaleInBudget,
    ) -> Result<DeletionCostChoice, DeletionCostRefusal> {
        let snapshot = self.cluster.snapshot();
        if snapshot.blind().is_some() {
            return Err(DeletionCostRefusal::Unmeasured);
        }
        let (from, to) = (scale_in.from, scale_in.to);
        let removed = usize::try_from(from.saturating_sub(to)).unwrap_or(0);
        let count = count_to_mark(removed, pods.len());
        let namespace = scale_in.target.namespace();
        let counted = std::cell::Cell::new(0);
        let around = || {
            let mut known = room.around.borrow_mut();
            let read = || Arc::new(self.cluster.removable().within(namespace));
            let pods = known.entry(namespace.to_owned()).or_insert_with(read);
            counted.set(pods.len());
            Arc::clone(pods)
        };
        let situation = Situation {
            nodes: &snapshot.nodes,
            labels: &self.cluster.removable().node_labels(),
            policy: &self.policy,
            namespace: &scale_in.namespace_policy,
            usage: &|uid| self.cluster.part_of_load(uid),
            around: &around,
        };
        let costs = choose(pods, count, &situation);
        let nodes = snapshot.nodes.iter().count();
        let looked = looks(count, pods.len(), nodes, counted.get());
        room.sets -= 1;
        room.looks = room.looks.saturating_sub(looked);
        Ok(DeletionCostChoice {
            costs: costs?,
            from,
            to,
        })
    }

    /// The writes that apply the standing choices, retries of failed ones as far as there is room,
    /// and the Events of completed ones.
    fn marks(&self, rounds: &mut Rounds, now: Timestamp) -> Vec<Write> {
        let (mut marks, mut retries, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for set in names(rounds) {
            let pods = self.cluster.removable().of_set(&set);
            let DueCostWrites { awaited, again } = rounds.writes(&set, &pods);
            marks.extend(awaited);
            let room = MARKS.saturating_sub(retries.len());
            retries.extend(again.into_iter().take(room));
            told.extend(rounds.told(&set, &pods, &self.reporter, now));
        }
        retries.truncate(MARKS.saturating_sub(marks.len()));
        marks.into_iter().chain(retries).chain(told).collect()
    }

    /// Lets a scale-in go on without costs; returns the Event with the reason, if the user caused
    /// it.
    fn leave_alone(
        &self,
        memory: &mut ScaleInMemory,
        coming: UpcomingScaleIn,
        why: &DeletionCostRefusal,
        now: Timestamp,
    ) -> Option<Write> {
        self.metrics.unbalanced_scale_in(why.reason());
        let set = coming.replica_set.clone();
        hold(&mut memory.held, coming, false);
        let is_users = matches!(
            why,
            DeletionCostRefusal::UsersCost(_) | DeletionCostRefusal::Constraints
        );
        let pods = if is_users {
            self.cluster.removable().of_set(&set)
        } else {
            Vec::new()
        };
        deletion_cost::left_alone(pods.first()?, why, &self.reporter, now)
    }
}

type RemovablePodList = Vec<Arc<RemovablePod>>;

/// Holds the write of a scale-in, if any, until the Pods of its ReplicaSet show their costs or
/// until the next look.
fn hold(held: &mut Vec<HeldLowering>, coming: UpcomingScaleIn, waits: bool) {
    let UpcomingScaleIn {
        scale_in,
        replica_set,
        since,
    } = coming;
    held.extend(scale_in.lowering.map(|lowering| HeldLowering {
        lowering,
        replica_set: Some(replica_set).filter(|_| waits),
        since,
    }));
}

/// The ReplicaSets with a choice that stands.
fn names(rounds: &Rounds) -> Vec<ControllerKey> {
    rounds.sets().cloned().collect()
}

/// Keeps no more than so many writes, one of an object, and those that have just failed last.
fn at_most(count: usize, writes: &mut Vec<Write>, failed: &HashSet<ObjectRef>) {
    let place = |write: &Write| failed.contains(&write.target);
    writes.sort_by(|one, other| {
        let by_failure = place(one).cmp(&place(other));
        by_failure.then_with(|| one.target.cmp(&other.target))
    });
    writes.dedup_by(|one, other| one.target == other.target);
    writes.truncate(count);
}

/// The writes that remove all costs under `writes: restore`.
pub(super) fn restored(writes: Writes, cluster: &ClusterState) -> Vec<Write> {
    match writes {
        Writes::Restore => clear(&cluster.removable().marked(), Purpose::Restore),
        Writes::Enabled | Writes::Disabled => Vec::new(),
    }
}

/// Releases the writes that wait for costs, for a time in which no costs can be given.
pub(super) fn release(
    scale_ins: Option<&ScaleIns>,
    memory: &mut ScaleInMemory,
    now: Timestamp,
) -> Vec<Write> {
    let expected = scale_ins.and_then(|scale_ins| scale_ins.take(now));
    let expected = expected.into_iter().flatten();
    let expected = expected.filter_map(|one| one.lowering);
    let expected = expected.flat_map(ScaleInWrite::into_writes);
    let waiting = std::mem::take(memory).into_writes();
    waiting.chain(expected).collect()
}

#[cfg(test)]
pub(super) mod tests;
