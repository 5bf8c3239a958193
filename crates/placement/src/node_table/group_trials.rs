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
    /// UIDs of the Pods that were asked about in it.
    asked: HashSet<Box<str>, RandomState>,
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
            last_question: now,
        });
        trial.last_question = now;
        let begins = !trial.asked.insert(uid.into());
        if begins {
            trial.asked.clear();
            trial.asked.insert(uid.into());
        }
        begins
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
