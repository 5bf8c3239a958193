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

/// The present trial of one group.
#[derive(Debug)]
struct GroupTrial {
    /// UIDs of the Pods that were asked about in it; empty once it has ended.
    asked: HashSet<Box<str>, RandomState>,
    /// A trial before was abandoned, and no notice has come since.
    is_repeated: bool,
    last_question: Timestamp,
}

/// By the key of the group.
#[derive(Debug, Default)]
pub(super) struct GroupTrials(HashMap<Box<str>, GroupTrial, RandomState>);

impl GroupTrials {
    /// Takes kube-scheduler's first question about a Pod in an attempt. True if it begins another
    /// trial: the Pod was asked about in the present one already.
    pub(super) fn begins(&mut self, group: &str, uid: &str, now: Timestamp) -> bool {
        let trial = self.0.entry(group.into()).or_insert_with(|| GroupTrial {
            asked: HashSet::default(),
            is_repeated: false,
            last_question: now,
        });
        trial.last_question = now;
        let begins = !trial.asked.insert(uid.into());
        if begins {
            trial.is_repeated = true;
            trial.asked.clear();
            trial.asked.insert(uid.into());
        }
        begins
    }

    /// Takes a question about a Pod outside of all groups but `group`. It ends the trials of other
    /// groups, because kube-scheduler asks about nothing else during a trial. Returns the groups of
    /// which none of several trials has led to a notice.
    pub(super) fn end_repeated(&mut self, group: Option<&str>) -> Vec<Box<str>> {
        let others = self.0.iter_mut().filter(|(key, _)| Some(&***key) != group);
        let repeated = others.filter(|(_, trial)| trial.is_repeated && !trial.asked.is_empty());
        let ended = repeated.map(|(key, trial)| {
            trial.asked.clear();
            key.clone()
        });
        ended.collect()
    }

    /// Takes a notice about a Pod of the group: kube-scheduler keeps the present trial.
    pub(super) fn keep(&mut self, group: &str) {
        if let Some(trial) = self.0.get_mut(group) {
            trial.is_repeated = false;
        }
    }

    pub(super) fn last_question(&self, group: &str) -> Option<Timestamp> {
        Some(self.0.get(group)?.last_question)
    }

    /// Forgets groups without a question for so long.
    pub(super) fn forget(&mut self, now: Timestamp, limit: SignedDuration) {
        self.0
            .retain(|_, trial| now.duration_since(trial.last_question).abs() < limit);
    }
}
