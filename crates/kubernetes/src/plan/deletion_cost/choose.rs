//! Who goes first of a ReplicaSet: the order of [`evenkeel_core::placement::deletion_cost`], asked with
//! the cluster's nodes, the Pods' own part of their loads, and the domains that their constraints name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evenkeel_core::placement::deletion_cost::{self, Removal, SpreadConstraint};
use evenkeel_core::placement::node_table::{MeanLoad, NodeSet};
use evenkeel_core::placement::{NodeLoad, Policy, deletion_cost::RemovablePod as Candidate};
use evenkeel_core::profile::{self, Weights};
use evenkeel_core::units::{Amount, Resources};
use foldhash::fast::RandomState;

use crate::extender::judgement::headroom_for;
use crate::meta::AllLabels;
use crate::namespace_policy::NamespacePolicy;
use crate::pod::TopologySpread;
use crate::removable_pod::{Cost, RemovablePod};

/// The labels of the nodes, by name.
pub type NodeLabels = HashMap<Box<str>, Arc<AllLabels>, RandomState>;

/// A scale-in that takes few Pods may be followed by others before the next round: so many times as many Pods
/// are marked, one time for each tick of the HPA within a round's minute.
const AHEAD: usize = 4;
/// No more Pods than this are marked ahead.
const MOST_AHEAD: usize = 20;
/// No more are marked in a round: the writer makes a hundred writes a second, and the scale-in waits.
const MOST: usize = 200;

/// The Pods that a scale-in by so many marks, of a ReplicaSet with `pods`. Where all go nobody goes first.
#[must_use]
pub fn count_to_mark(removed: usize, pods: usize) -> usize {
    let ahead = removed.saturating_mul(AHEAD).min(MOST_AHEAD);
    removed.max(ahead).min(MOST).min(pods.saturating_sub(1))
}

/// The circumstances in which Pods are chosen.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    pub nodes: &'a NodeSet,
    pub labels: &'a NodeLabels,
    pub policy: &'a Policy,
    /// The policy of the Pods' namespace.
    pub namespace: &'a NamespacePolicy,
    /// What goes with a Pod, by its UID: measured, or its demand.
    pub usage: &'a dyn Fn(&str) -> Resources<Amount>,
}

/// A reason for which no Pod of a workload is given a cost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unchosen {
    /// A Pod carries a cost that is not Evenkeel's.
    #[error(
        "Pod {0} has a controller.kubernetes.io/pod-deletion-cost of its own, which is left in force: none of \
         this ReplicaSet is given another"
    )]
    UsersCost(String),
    /// Its Pods belong to no ReplicaSet, whose controller alone reads costs.
    #[error("its Pods belong to no ReplicaSet")]
    NoReplicaSet,
    /// Its Pods belong to several ReplicaSets, whose counts its controller moves by its own rules.
    #[error("it is being rolled out: its Pods belong to several ReplicaSets")]
    Rollout,
    /// Too little is known of the cluster.
    #[error("no node has a fresh measurement")]
    Unmeasured,
}

impl Unchosen {
    /// The reason in a word, for metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::UsersCost(_) => "users_cost",
            Self::NoReplicaSet => "no_replica_set",
            Self::Rollout => "rollout",
            Self::Unmeasured => "unmeasured",
        }
    }
}

/// The costs of those Pods of a ReplicaSet that are among the first `count` to go, by their UIDs. `around` are
/// the Pods of the namespace, which constraints count too.
///
/// # Errors
/// A Pod carries a cost that is not Evenkeel's, or nothing is measured.
pub fn choose(
    pods: &[Arc<RemovablePod>],
    around: &[Arc<RemovablePod>],
    count: usize,
    situation: &Situation<'_>,
) -> Result<BTreeMap<String, Cost>, Unchosen> {
    if let Some(pod) = pods.iter().find(|pod| pod.mark.is_users()) {
        return Err(Unchosen::UsersCost(pod.name.clone()));
    }
    let loads: Vec<NodeLoad> = situation.nodes.iter().map(|node| node.load).collect();
    let candidates: Vec<Candidate<'_>> = pods
        .iter()
        .map(|pod| Candidate {
            name: &pod.name,
            node: pod
                .node
                .as_deref()
                .and_then(|node| situation.nodes.position(node)),
            usage: (situation.usage)(&pod.uid),
            goes_first: pod.goes_first,
        })
        .collect();
    let Some(first) = pods.iter().min_by_key(|pod| (pod.goes_first, &pod.name)) else {
        return Ok(BTreeMap::new());
    };
    let class = first.priority_class.as_deref();
    let removal = Removal {
        nodes: &loads,
        pods: &candidates,
        spread: &constraints(pods, around, situation.labels),
        weights: weights(first, &loads, situation),
        headroom: headroom_for(class, situation.namespace, situation.policy),
    };
    let order = removal.order(count);
    let costs = order.iter().enumerate().map(|(place, choice)| {
        let cost = Cost {
            cost: deletion_cost::cost(place, order.len()),
            ground: choice.ground,
        };
        (pods[choice.pod].uid.clone(), cost)
    });
    Ok(costs.collect())
}

/// The weights of a Pod's profile: the annotated one, else that which what it uses gives it.
fn weights<'p>(pod: &RemovablePod, loads: &[NodeLoad], situation: &Situation<'p>) -> &'p Weights {
    let profiles = &situation.policy.profiles;
    let named = pod.profile.as_deref().and_then(|name| profiles.get(name));
    named.unwrap_or_else(|| {
        let free = loads.iter().collect::<MeanLoad>().get().free();
        let threshold = situation.namespace.profile_threshold;
        let threshold = threshold.unwrap_or(situation.policy.profile_threshold);
        let usage = (situation.usage)(&pod.uid);
        profiles.built_in(profile::classify(&usage, &free, threshold).profile)
    })
}

/// The constraints of the Pods with the counts of their domains, hard ones first. Pods of one template have the
/// same; where they were changed, each of them counts for the Pods that carry it.
fn constraints(
    pods: &[Arc<RemovablePod>],
    around: &[Arc<RemovablePod>],
    labels: &NodeLabels,
) -> Vec<SpreadConstraint> {
    let mut known: Vec<(&TopologySpread, &Arc<AllLabels>)> = Vec::new();
    for pod in pods {
        for spread in &*pod.spread {
            let is_known = known
                .iter()
                .any(|&(other, of)| other == spread && *of == pod.labels);
            if !is_known {
                known.push((spread, &pod.labels));
            }
        }
    }
    known.sort_by_key(|(spread, _)| !spread.is_hard);
    let counted = known.into_iter().map(|(spread, own)| {
        let selector = spread.selector(own);
        let domain = |pod: &RemovablePod| {
            let node = labels.get(pod.node.as_deref()?)?;
            let domain = node.get(&spread.topology_key)?;
            selector.matches(&pod.labels).then_some(domain.as_str())
        };
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut counts = Vec::new();
        for domain in around.iter().filter_map(|pod| domain(pod)) {
            let place = *places.entry(domain).or_insert(counts.len());
            if place == counts.len() {
                counts.push(0);
            }
            counts[place] += 1;
        }
        let domains = pods.iter().map(|pod| places.get(domain(pod)?).copied());
        SpreadConstraint {
            max_skew: spread.max_skew,
            domains: domains.collect(),
            counts,
        }
    });
    counted.collect()
}
