//! Trial placements of groups. kube-scheduler tries a PodGroup on one set of nodes after another, asks
//! about each of its Pods once in each trial, and sends no notice when it abandons a trial.

use std::collections::{HashMap, HashSet};

use evenkeel_objects::bound_pod::BoundPod;
use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

/// A group by its namespace and name.
pub(super) fn group_key(facts: &BoundPod<'_>) -> Option<Box<str>> {
    let group = facts.group?;
    Some(format!("{}/{group}", facts.name.namespace()).into())
}

/// A group is remembered for so long after the last question. kube-scheduler tries a group again
/// after at most 10 seconds, unless nothing in the cluster changes.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The present trial of one group.
#[derive(Debug)]
struct GroupTrial {
    /// UIDs of the Pods that were asked about in it; empty once it has failed.
    asked: HashSet<Box<str>, RandomState>,
    last_asked: Box<str>,
    last_question: Timestamp,
    /// A trial before was abandoned, and no Pod was chosen or bound since.
    is_repeated: bool,
}

#[derive(Debug, Default)]
pub(super) struct GroupTrials {
    /// By the key of the group.
    trials: HashMap<Box<str>, GroupTrial, RandomState>,
    /// The few groups whose present trial may still fail.
    open: HashSet<Box<str>, RandomState>,
}

impl GroupTrials {
    /// Takes kube-scheduler's first question about a Pod in an attempt. True if it begins another
    /// trial: the Pod was asked about in the present one already.
    pub(super) fn begins(&mut self, group: &str, uid: &str, now: Timestamp) -> bool {
        if !self.open.contains(group) {
            self.open.insert(group.into());
        }
        let trial = self
            .trials
            .entry(group.into())
            .or_insert_with(|| GroupTrial {
                asked: HashSet::default(),
                last_asked: uid.into(),
                last_question: now,
                is_repeated: false,
            });
        trial.last_question = now;
        trial.last_asked = uid.into();
        let begins = !trial.asked.insert(uid.into());
        if begins {
            trial.is_repeated = true;
            trial.asked.clear();
            trial.asked.insert(uid.into());
        }
        begins
    }

    /// Takes a question about a Pod of `group`, or of none. One kube-scheduler asks about nothing else
    /// during a trial, so it has ended those of all other groups. Returns the groups whose trial
    /// failed: the last Pod of it found no node, or it was not the first trial, and no Pod was chosen
    /// or bound within `limit`. kube-scheduler may keep a group without its last Pod. The others then
    /// count again from its notice or their binding.
    pub(super) fn end_failed(
        &mut self,
        group: Option<&str>,
        found_node: impl Fn(&str) -> bool,
        now: Timestamp,
        limit: SignedDuration,
    ) -> Vec<Box<str>> {
        let trials = &mut self.trials;
        let mut failed = Vec::new();
        self.open.retain(|key| {
            if Some(&**key) == group {
                return true;
            }
            let Some(trial) = trials.get_mut(key) else {
                return false;
            };
            let is_late = now.duration_since(trial.last_question).abs() >= limit;
            let has_failed = !found_node(&trial.last_asked) || (trial.is_repeated && is_late);
            if has_failed {
                trial.asked.clear();
                failed.push(key.clone());
            }
            trial.is_repeated && !has_failed
        });
        failed
    }

    /// Takes a choice or binding of a Pod of the group: kube-scheduler keeps the present trial.
    pub(super) fn keep(&mut self, group: &str) {
        if let Some(trial) = self.trials.get_mut(group) {
            trial.is_repeated = false;
            self.open.remove(group);
        }
    }

    pub(super) fn last_question(&self, group: &str) -> Option<Timestamp> {
        Some(self.trials.get(group)?.last_question)
    }

    pub(super) fn forget(&mut self, now: Timestamp) {
        self.trials
            .retain(|_, trial| now.duration_since(trial.last_question).abs() < REMEMBERED);
    }
}
