//! The nodes that are overloaded for so long that new Pods should keep away. Only measurements
//! count, because a taint affects all Pods. A node is tainted at 80 % of any resource in three
//! samples, and the taint is lifted below 75 % of all resources in three; the gap prevents
//! flapping. Without measurements the verdict stays for 30 minutes, because the end of an exporter
//! must not make the hottest node look cool. Then the taint is lifted, because no other component
//! would do it.

mod streak;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_units::{Amount, Resource, Resources, words};
use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

use self::streak::{OverloadSample, Streak};
use crate::node_table::NodeSet;

/// As long as a last measured load counts.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// At most one in so many nodes is closed: the others have to take the Pods.
const SHARE: usize = 3;

/// The measurements that nodes are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Local storage counts. Only deletions free it, so its taint may stay for days.
    pub disk: bool,
    /// Older measurements make no verdict.
    pub max_age: SignedDuration,
}

/// From the node's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaintCandidate<'a> {
    pub name: &'a str,
    /// Ready and not cordoned.
    pub schedulable: bool,
    /// Never tainted.
    pub control_plane: bool,
    /// Kept free of new Pods already.
    pub tainted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverloadVerdict {
    Taint { resource: Resource, percent: u64 },
    Lift(Lift),
}

words! {
    /// Why new Pods may come again.
    pub enum Lift {
        /// Every resource is below the lower line.
        Cooled = "every resource has been below 75 % for 3 samples",
        /// Nothing has been measured for too long.
        Unmeasured = "it has had no measurement for 30 minutes",
        ControlPlane = "it is a node of the control plane",
        /// Too many of the remaining nodes would be closed.
        TooMany = "more than a third of the schedulable nodes would be tainted",
    }
}

#[derive(Debug)]
pub struct Overload {
    settings: Settings,
    /// Begin of observation: earlier measurements are unknown.
    since: Timestamp,
    nodes: HashMap<Arc<str>, Resources<Option<Streak>>, RandomState>,
}

impl Overload {
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self {
            settings,
            since: now,
            nodes: HashMap::default(),
        }
    }

    /// Against the capacities that the measurements are of.
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

    /// The changes that are due, by name of the candidates.
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

    /// Why a tainted node is to take new Pods again.
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

    /// The fullest resource among those over the line for long enough.
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

/// Share of its fullest resource, by the last samples of any age.
fn fullest(streaks: Option<&Resources<Option<Streak>>>) -> u64 {
    let streaks = streaks.into_iter().flat_map(Resources::values);
    let percents = streaks.flatten().map(Streak::percent);
    percents.max().unwrap_or(0)
}

/// Resources with a last sample that is recent enough to count.
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
