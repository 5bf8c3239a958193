//! Costs of deletion before a scale-in, by the leader.
//!
//! The scaling loop tells at each tick which workloads are about to lose Pods, and hands over the write
//! that brings it about. A round here says which Pods go first, and lets the write go once the Pods
//! show it, once a cost could not be written, or after [`HOLD`]: a scale-in waits for no longer.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::metrics::Metrics;
use super::switch::Writes;
use crate::cluster::ClusterState;
use evenkeel_core::placement::Policy;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::deletion_cost::{
    self, Chosen, Situation, Unchosen, choose, clear, count_to_mark,
};
use evenkeel_kubernetes::plan::scaling::ScaleIn;
use evenkeel_kubernetes::plan::{Purpose, Write};
use evenkeel_kubernetes::removable_pod::RemovablePod;

/// The longest that a scale-in waits for costs: less than the time between two ticks of an HPA.
const HOLD: SignedDuration = SignedDuration::from_secs(10);

/// The scale-ins of the newest tick, until a round takes them; clones share them.
#[derive(Debug, Clone, Default)]
pub struct ScaleIns(Arc<Mutex<Option<Vec<ScaleIn>>>>);

impl ScaleIns {
    /// Takes the scale-ins of a tick in the place of those before.
    pub fn expect(&self, scale_ins: Vec<ScaleIn>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(scale_ins);
    }

    /// Those of a tick that no round has taken.
    fn take(&self) -> Option<Vec<ScaleIn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a leader remembers of scale-ins from round to round.
#[derive(Debug, Default)]
pub(super) struct Memory {
    rounds: deletion_cost::Rounds,
    held: Vec<Held>,
}

/// A write that waits for costs.
#[derive(Debug)]
struct Held {
    write: Write,
    /// The ReplicaSet whose Pods are to show them.
    replica_set: Arc<str>,
    since: Timestamp,
    /// The Pods whose cost could not be written.
    failed: HashSet<ObjectRef>,
}

/// What rounds of costs read.
pub(super) struct Costs<'a> {
    pub(super) cluster: &'a ClusterState,
    pub(super) policy: &'a Policy,
    /// `None` where no costs are given.
    pub(super) scale_ins: Option<&'a ScaleIns>,
    /// This replica's name in Events.
    pub(super) reporter: &'a str,
    pub(super) metrics: &'a Metrics,
}

impl Costs<'_> {
    /// The writes of one round; `failed` are the objects whose writes have not been made since the last.
    pub(super) fn plan(
        &self,
        memory: &mut Memory,
        failed: &HashSet<ObjectRef>,
        now: Timestamp,
    ) -> Vec<Write> {
        let marked = self.cluster.marked_pods();
        self.metrics.marked_pods(marked.len());
        let Some(scale_ins) = self.scale_ins else {
            return clear(&marked, Purpose::DeletionCost);
        };
        let mut writes = Vec::new();
        if let Some(expected) = scale_ins.take() {
            // What is not wanted any more is made no more either.
            let before = std::mem::take(&mut memory.held);
            for scale_in in expected {
                writes.extend(self.begin(memory, scale_in, &before, now));
            }
        }
        let Memory { rounds, held } = memory;
        rounds.pass(now);
        let sets: Vec<String> = rounds.sets().map(str::to_owned).collect();
        for set in sets {
            let pods = self.cluster.removable_of(&set);
            writes.extend(rounds.writes(&set, &pods));
            writes.extend(rounds.told(&set, &pods, self.reporter, now));
        }
        writes.extend(rounds.clear(&marked, now));
        writes.extend(self.freed(rounds, held, failed, now));
        writes
    }

    /// The writes that need wait no longer.
    fn freed(
        &self,
        rounds: &deletion_cost::Rounds,
        held: &mut Vec<Held>,
        failed: &HashSet<ObjectRef>,
        now: Timestamp,
    ) -> impl Iterator<Item = Write> {
        let is_free = |held: &mut Held| {
            held.failed.extend(failed.iter().cloned());
            let pods = self.cluster.removable_of(&held.replica_set);
            let waited = now.duration_since(held.since) >= HOLD;
            waited || rounds.is_settled(&held.replica_set, &pods, &held.failed)
        };
        let freed: Vec<Held> = held.extract_if(.., |held| is_free(held)).collect();
        freed.into_iter().map(|held| held.write)
    }

    /// Takes a scale-in: says who goes first, where that is due, and holds its write until it is said. Where
    /// it is not to be said, that write goes on at once.
    fn begin(
        &self,
        memory: &mut Memory,
        scale_in: ScaleIn,
        before: &[Held],
        now: Timestamp,
    ) -> Vec<Write> {
        let chosen = self.replica_set(&scale_in).and_then(|(set, pods)| {
            memory.rounds.want(&set, now);
            if memory.rounds.is_due(&set, now) {
                let chosen = self.choose(&scale_in, &pods)?;
                self.metrics.balanced_scale_in();
                memory.rounds.begin(&set, chosen, now);
            }
            Ok(set)
        });
        let ScaleIn { lowering, .. } = scale_in;
        match (chosen, lowering) {
            (Ok(replica_set), Some(write)) => {
                let same = before.iter().find(|held| held.write.target == write.target);
                memory.held.push(Held {
                    since: same.map_or(now, |held| held.since),
                    failed: HashSet::new(),
                    replica_set,
                    write,
                });
                Vec::new()
            }
            (Ok(_), None) => Vec::new(),
            (Err((set, why)), lowering) => {
                self.metrics.unbalanced_scale_in(why.reason());
                let told = set.and_then(|set| {
                    memory.rounds.forget(&set);
                    self.left_alone(&set, &why, now)
                });
                told.into_iter().chain(lowering).collect()
            }
        }
    }

    /// The one ReplicaSet of a workload, with its Pods.
    fn replica_set(&self, scale_in: &ScaleIn) -> Result<(Arc<str>, Pods), Refused> {
        let mut controllers = self.cluster.controllers_of(&scale_in.target).into_iter();
        let Some(set) = controllers.next() else {
            return Err((None, Unchosen::NoReplicaSet));
        };
        if controllers.next().is_some() {
            return Err((None, Unchosen::Rollout));
        }
        let pods = self.cluster.removable_of(&set);
        if pods.is_empty() {
            return Err((None, Unchosen::NoReplicaSet));
        }
        Ok((set, pods))
    }

    fn choose(&self, scale_in: &ScaleIn, pods: &[Arc<RemovablePod>]) -> Result<Chosen, Refused> {
        let set = pods.first().and_then(|pod| pod.replica_set.as_ref());
        let refused = |why| (set.map(|set| set.uid.as_str().into()), why);
        let snapshot = self.cluster.snapshot();
        if snapshot.blind().is_some() {
            return Err(refused(Unchosen::Unmeasured));
        }
        let (from, to) = (scale_in.from, scale_in.to);
        let removed = usize::try_from(from.saturating_sub(to)).unwrap_or(0);
        let situation = Situation {
            nodes: &snapshot.nodes,
            labels: &self.cluster.node_labels(),
            policy: self.policy,
            namespace: &scale_in.namespace_policy,
            usage: &|uid| self.cluster.part_of_load(uid),
        };
        let around = self.cluster.removable_within(scale_in.target.namespace());
        let count = count_to_mark(removed, pods.len());
        let costs = choose(pods, &around, count, &situation).map_err(refused)?;
        Ok(Chosen { costs, from, to })
    }

    /// The Event that a ReplicaSet is left alone for the sake of what its user wrote.
    fn left_alone(&self, set: &str, why: &Unchosen, now: Timestamp) -> Option<Write> {
        let users = matches!(why, Unchosen::UsersCost(_));
        let pods = self.cluster.removable_of(set);
        let pod = pods.first().filter(|_| users)?;
        deletion_cost::left_alone(pod, why, self.reporter, now)
    }
}

type Pods = Vec<Arc<RemovablePod>>;

/// The ReplicaSet, where it is one, and why no Pod of it is given a cost.
type Refused = (Option<Arc<str>>, Unchosen);

/// What goes where nothing is to be left.
pub(super) fn restored(writes: Writes, cluster: &ClusterState) -> Vec<Write> {
    match writes {
        Writes::Restore => clear(&cluster.marked_pods(), Purpose::Restore),
        Writes::Enabled | Writes::Disabled => Vec::new(),
    }
}

/// The writes that wait for costs, where nobody is left to give any.
pub(super) fn release(scale_ins: Option<&ScaleIns>, memory: &mut Memory) -> Vec<Write> {
    let Memory { rounds: _, held } = std::mem::take(memory);
    let expected = scale_ins.and_then(ScaleIns::take).unwrap_or_default();
    let expected = expected.into_iter().filter_map(|one| one.lowering);
    held.into_iter()
        .map(|held| held.write)
        .chain(expected)
        .collect()
}
