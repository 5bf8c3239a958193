//! Rounds of choices: at most one a minute for each ReplicaSet. A choice stands until two minutes
//! after the last scale-in that wanted it. The Pods hold the only record, so a new leader removes
//! the costs that no scale-in has wanted during its first two minutes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::event::{EventContent, EventSeverity};
use evenkeel_objects::plan::write::{Purpose, Write};
use jiff::{SignedDuration, Timestamp};

use super::{object, regarding, write};
use crate::removable_pod::{Cost, RemovablePod};

/// The least time between two choices for one ReplicaSet.
const ROUND: SignedDuration = SignedDuration::from_mins(1);
/// Costs stay for this time after the last scale-in: deletions are seen late, and scale-ins follow
/// each other.
const OVER: SignedDuration = SignedDuration::from_mins(2);
/// The most Pods that an Event names.
const NAMED: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionCostChoice {
    /// The costs by the UIDs of the Pods that are given one.
    pub costs: BTreeMap<Arc<str>, Cost>,
    /// The replicas before and after the scale-in that it was made for.
    pub from: i32,
    pub to: i32,
}

#[derive(Debug)]
struct DeletionCostRound {
    chosen: DeletionCostChoice,
    at: Timestamp,
    wanted: Timestamp,
    is_told: bool,
    /// The UIDs of the Pods for which the write of the cost has failed since the choice.
    failed: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
pub struct DueCostWrites {
    /// Those that have not failed, which a scale-in waits for.
    pub awaited: Vec<Write>,
    /// Those that have failed, which are tried again.
    pub again: Vec<Write>,
}

#[derive(Debug, Default)]
pub struct Rounds {
    sets: BTreeMap<ControllerKey, DeletionCostRound>,
    /// When it began to look.
    since: Option<Timestamp>,
}

impl Rounds {
    pub fn is_due(&self, set: &ControllerKey, now: Timestamp) -> bool {
        let last = self.sets.get(set);
        last.is_none_or(|round| now.duration_since(round.at) >= ROUND)
    }

    pub fn chosen_at(&self, set: &ControllerKey) -> Option<Timestamp> {
        self.sets.get(set).map(|round| round.at)
    }

    /// Takes a choice; one that is the same again is not told again.
    pub fn begin(&mut self, set: &ControllerKey, chosen: DeletionCostChoice, now: Timestamp) {
        let before = self.sets.get(set);
        let is_told = before.is_some_and(|before| before.is_told && before.chosen == chosen);
        let round = DeletionCostRound {
            is_told,
            chosen,
            at: now,
            wanted: now,
            failed: HashSet::new(),
        };
        self.sets.insert(set.clone(), round);
    }

    /// A ReplicaSet is still scaled in.
    pub fn want(&mut self, set: &ControllerKey, now: Timestamp) {
        if let Some(round) = self.sets.get_mut(set) {
            round.wanted = now;
        }
    }

    pub fn forget(&mut self, set: &ControllerKey) {
        self.sets.remove(set);
    }

    /// Forgets the choices that no scale-in has wanted for two minutes.
    pub fn pass(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
        let stands = |round: &DeletionCostRound| now.duration_since(round.wanted) < OVER;
        self.sets.retain(|_, round| stands(round));
    }

    pub fn sets(&self) -> impl Iterator<Item = &ControllerKey> {
        self.sets.keys()
    }

    /// Records the Pods of a choice among the objects with a failed write, `failed`.
    pub fn fail(
        &mut self,
        set: &ControllerKey,
        pods: &[Arc<RemovablePod>],
        failed: &HashSet<ObjectRef>,
    ) {
        let Some(round) = self.sets.get_mut(set).filter(|_| !failed.is_empty()) else {
            return;
        };
        let costs = &round.chosen.costs;
        let chosen = pods.iter().filter(|pod| costs.contains_key(&pod.uid));
        let of_choice = chosen.filter(|pod| failed.contains(&object(pod)));
        round.failed.extend(of_choice.map(|pod| pod.uid.clone()));
    }

    pub fn writes(&self, set: &ControllerKey, pods: &[Arc<RemovablePod>]) -> DueCostWrites {
        let mut due = DueCostWrites::default();
        let Some(round) = self.sets.get(set) else {
            return due;
        };
        for pod in pods {
            let cost = round.chosen.costs.get(&pod.uid);
            let place = if round.failed.contains(&pod.uid) {
                &mut due.again
            } else {
                &mut due.awaited
            };
            place.extend(write(pod, cost, Purpose::DeletionCost));
        }
        due
    }

    /// The writes that remove costs from Pods of ReplicaSets without a choice that stands.
    pub fn clear(&self, marked: &[Arc<RemovablePod>], now: Timestamp) -> Vec<Write> {
        let looked = self
            .since
            .is_some_and(|since| now.duration_since(since) >= OVER);
        let is_over = |pod: &&Arc<RemovablePod>| {
            let set = pod.common.replica_set.as_ref();
            !set.is_some_and(|set| self.sets.contains_key(&set.key))
        };
        let over = marked.iter().filter(|pod| looked && is_over(pod));
        over.filter_map(|pod| write(pod, None, Purpose::DeletionCost))
            .collect()
    }

    /// True if no cost of the choice is awaited: each present Pod shows its cost, or its write has
    /// failed.
    pub fn is_settled(&self, set: &ControllerKey, pods: &[Arc<RemovablePod>]) -> bool {
        let round = self.sets.get(set);
        round.is_none_or(|round| round.unseen(pods).all(|uid| round.failed.contains(uid)))
    }

    /// The Event that tells of a choice, once the Pods show it.
    pub fn told(
        &mut self,
        set: &ControllerKey,
        pods: &[Arc<RemovablePod>],
        reporter: &str,
        now: Timestamp,
    ) -> Option<Write> {
        let round = self.sets.get_mut(set).filter(|round| !round.is_told)?;
        if round.unseen(pods).next().is_some() {
            return None;
        }
        round.is_told = true;
        let note = note(&round.chosen, pods)?;
        let event = EventContent {
            purpose: Purpose::DeletionCostEvent,
            severity: EventSeverity::Normal,
            reason: "ScaleInBalanced",
            action: "GivingDeletionCosts",
            note: note.into(),
        };
        Some(event.at(&regarding(pods.first()?)?, reporter, now))
    }
}

impl DeletionCostRound {
    /// The UIDs of the Pods that are there and do not show the cost that was chosen.
    fn unseen<'a>(&'a self, pods: &'a [Arc<RemovablePod>]) -> impl Iterator<Item = &'a str> {
        let chosen = pods
            .iter()
            .filter_map(|pod| Some((pod, self.chosen.costs.get(&pod.uid)?)));
        let unseen = chosen.filter(|(pod, cost)| pod.mark.given() != Some(**cost));
        unseen.map(|(pod, _)| &*pod.uid)
    }
}

/// The text of an Event: the first Pods to go, their nodes and the reason; `None` without any.
fn note(chosen: &DeletionCostChoice, pods: &[Arc<RemovablePod>]) -> Option<String> {
    let DeletionCostChoice { costs, from, to } = chosen;
    let mut first: Vec<(&Cost, &Arc<RemovablePod>)> = pods
        .iter()
        .filter_map(|pod| Some((costs.get(&pod.uid)?, pod)))
        .collect();
    first.sort_by_key(|(cost, _)| cost.cost);
    let named = first.iter().take(NAMED).map(|(cost, pod)| {
        let node = pod.node.as_deref().unwrap_or("no node");
        format!("{} on {node} ({})", pod.name, cost.ground.explanation())
    });
    let named: Vec<String> = named.collect();
    let others = match first.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    (!named.is_empty())
        .then(|| format!("scale-in from {from} to {to}: deleted first: {named}{others}"))
}
