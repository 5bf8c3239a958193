//! The nodes that are overloaded for so long that new Pods should keep away from them.
//!
//! It judges by measurements and not by N: demands count for admission, but a taint affects all
//! Pods, so only real use may cause one. It taints a node at 80 % of any resource in three samples,
//! and lifts the taint below 75 % of all resources in three. The gap prevents flapping. A node
//! without measurements keeps its verdict for 30 minutes, because the end of an exporter must not
//! make the hottest node look cool. Then the taint is lifted, because no other component would do
//! it.

mod streak;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

use self::streak::{OverloadSample, Streak};
use crate::placement::node_table::NodeSet;
use crate::units::{Amount, Resource, Resources};

/// The time for which a verdict stands on measurements that have ceased: as long as a last measured load counts.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// No more than one in so many nodes is kept free of new Pods: the others have to take them.
const SHARE: usize = 3;

/// The measurements that nodes are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// True where local storage counts: it is freed by deletions alone, so that a taint on its account may
    /// stay for days.
    pub disk: bool,
    /// Measurements older than this make no verdict.
    pub max_age: SignedDuration,
}

/// A node that may be tainted, as its object tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaintCandidate<'a> {
    pub name: &'a str,
    /// Ready and not cordoned.
    pub schedulable: bool,
    /// True for a node of the control plane, which is never tainted.
    pub control_plane: bool,
    /// True where it is kept free of new Pods already.
    pub tainted: bool,
}

/// A change of what a node is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverloadVerdict {
    /// New Pods are to keep away, on account of this resource.
    Taint { resource: Resource, percent: u64 },
    /// New Pods may come again.
    Lift(Lift),
}

/// A reason for which new Pods may come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lift {
    /// Every resource is below the lower line.
    Cooled,
    /// Nothing has been measured for too long.
    Unmeasured,
    /// It is of the control plane.
    ControlPlane,
    /// Too many of the nodes that are left would be closed.
    TooMany,
}

impl Lift {
    /// The reason in words, for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cooled => "every resource has been below 75 % for 3 samples",
            Self::Unmeasured => "it has had no measurement for 30 minutes",
            Self::ControlPlane => "it is a node of the control plane",
            Self::TooMany => "more than a third of the schedulable nodes would be tainted",
        }
    }
}

/// The memory of all nodes' samples.
#[derive(Debug)]
pub struct Overload {
    settings: Settings,
    /// The time when it began to observe: it knows no earlier measurements.
    since: Timestamp,
    nodes: HashMap<Arc<str>, Resources<Option<Streak>>, RandomState>,
}

impl Overload {
    #[must_use]
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self {
            settings,
            since: now,
            nodes: HashMap::default(),
        }
    }

    /// Takes the newest measurements of the nodes, against the capacities that they are of.
    pub fn observe(&mut self, nodes: &NodeSet, now: Timestamp) {
        let Self {
            settings,
            since: _,
            nodes: known,
        } = self;
        for node in nodes.iter() {
            let streaks = known.entry(Arc::clone(&node.name)).or_default();
            for resource in Resource::ALL {
                let counts = resource != Resource::Disk || settings.disk;
                let capacity = node.load.capacity[resource]
                    .filter(|capacity| counts && *capacity > Amount::ZERO);
                let measured = node.detail.measured[resource].as_ref();
                if let Some((capacity, measured)) = capacity.zip(measured) {
                    let sample = OverloadSample::new(measured, capacity);
                    sample.extend(&mut streaks[resource], settings.max_age, now);
                }
            }
        }
        known.retain(|name, _| nodes.position(name).is_some());
    }

    /// The changes that are due, in the order of the candidates' names.
    #[must_use]
    pub fn decide<'a>(
        &self,
        candidates: &[TaintCandidate<'a>],
        now: Timestamp,
    ) -> Vec<(&'a str, OverloadVerdict)> {
        let (mut changes, mut closed, mut hot, mut open) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for node in candidates {
            let streaks = self.nodes.get(node.name);
            let eligible = node.schedulable && !node.control_plane;
            open += usize::from(eligible);
            if node.tainted {
                match self.lift(node, streaks, now) {
                    Some(lift) => changes.push((node.name, OverloadVerdict::Lift(lift))),
                    None if eligible => closed.push((fullest(streaks), node.name)),
                    None => {}
                }
            } else if eligible && let Some((resource, percent)) = self.hottest(streaks, now) {
                let verdict = OverloadVerdict::Taint { resource, percent };
                hot.push((Reverse(percent), node.name, verdict));
            }
        }
        let most = open / SHARE;
        closed.sort_unstable();
        let surplus = closed.len().saturating_sub(most);
        let lifted = closed.iter().take(surplus);
        changes.extend(lifted.map(|(_, name)| (*name, OverloadVerdict::Lift(Lift::TooMany))));
        hot.sort_unstable_by_key(|(percent, name, _)| (*percent, *name));
        let free = most.saturating_sub(closed.len());
        let taken = hot.into_iter().take(free);
        changes.extend(taken.map(|(_, name, verdict)| (name, verdict)));
        changes.sort_unstable_by_key(|(name, _)| *name);
        changes
    }

    /// The reason for which a node that is kept free of new Pods is to take them again.
    fn lift(
        &self,
        node: &TaintCandidate<'_>,
        streaks: Option<&Resources<Option<Streak>>>,
        now: Timestamp,
    ) -> Option<Lift> {
        if node.control_plane {
            return Some(Lift::ControlPlane);
        }
        let mut remembered = remembered(streaks, now).peekable();
        if remembered.peek().is_none() {
            let looked = now.duration_since(self.since) >= REMEMBERED;
            return looked.then_some(Lift::Unmeasured);
        }
        let max_age = self.settings.max_age;
        let cool = remembered.all(|(_, streak)| streak.is_fresh(max_age, now) && streak.is_cool());
        cool.then_some(Lift::Cooled)
    }

    /// The fullest of the resources that have been over the line for long enough.
    fn hottest(
        &self,
        streaks: Option<&Resources<Option<Streak>>>,
        now: Timestamp,
    ) -> Option<(Resource, u64)> {
        let max_age = self.settings.max_age;
        let hot = remembered(streaks, now)
            .filter(|(_, streak)| streak.is_fresh(max_age, now) && streak.is_hot());
        // Of equals the first in the order of resources.
        let hot = hot.map(|(resource, streak)| (streak.percent(), Reverse(resource)));
        let (percent, Reverse(resource)) = hot.max()?;
        Some((resource, percent))
    }
}

/// The share of its fullest resource, by the last samples of any age.
fn fullest(streaks: Option<&Resources<Option<Streak>>>) -> u64 {
    let streaks = streaks.into_iter().flat_map(Resources::values);
    let percents = streaks.flatten().map(Streak::percent);
    percents.max().unwrap_or(0)
}

/// The resources of a node with a last sample that is recent enough to count.
fn remembered(
    streaks: Option<&Resources<Option<Streak>>>,
    now: Timestamp,
) -> impl Iterator<Item = (Resource, &Streak)> {
    let streaks = streaks.into_iter().flat_map(Resources::iter);
    streaks.filter_map(move |(resource, streak)| {
        let streak = streak.as_ref()?;
        streak
            .is_fresh(REMEMBERED, now)
            .then_some((resource, streak))
    })
}

#[cfg(test)]
mod tests;
