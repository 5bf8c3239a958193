//! The explanation of a decision: every term of it for each node, for people and programs.
//!
//! It runs the same functions as filter and prioritize, on the same snapshot, so that what it
//! shows is what decides.

use serde::{Serialize, Serializer};

use super::decide;
use super::judgement::{self, Call, Judgement};
use crate::demand::Demand;
use crate::pod::Pod;
use evenkeel_core::placement::NodeLoad;
use evenkeel_core::placement::balance::{self, NodeScore};
use evenkeel_core::placement::headroom::{self, Term};
use evenkeel_core::placement::node_table::NodeState;
use evenkeel_core::units::{Amount, Ratio, Resource, Resources};

/// Everything that was decided for one Pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub namespace: String,
    pub pod: String,
    /// The exemption by which every node passes unjudged; the rest is then only informative.
    pub unjudged: Option<&'static str>,
    /// The demand of the Pod, with the source of each number.
    pub demand: Resourced<Demanded>,
    /// The profile whose weights count.
    pub profile: String,
    /// The weight of each resource.
    pub weights: Resourced<f64>,
    /// The way in which deviations become a score: `joint` or `per-resource`.
    pub normalization: &'static str,
    /// h in `[CLBP] (4.1)`: the largest load / capacity that a placement may lead to.
    pub headroom: f64,
    /// True where no node has headroom and the least loaded ones take the Pod all the same.
    pub relaxed: bool,
    /// Annotations of the Pod that are not understood, or claim more than any node has.
    pub warnings: Vec<String>,
    /// The nodes, best first.
    pub nodes: Vec<NodeExplanation>,
}

/// One number of a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Demanded {
    /// Millicores, bytes or bytes per second.
    pub amount: u64,
    /// `annotation`, `requests`, `history`, `caps` or `unknown`.
    pub source: &'static str,
}

/// The findings on one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplanation {
    /// The name of the node.
    pub name: String,
    /// True for a node that is Ready and not cordoned.
    pub schedulable: bool,
    /// True where part of its load is a sum of demands, for want of fresh measurements.
    pub estimated: bool,
    /// True where the headroom rule lets the Pod pass.
    pub passes: bool,
    /// The resources that refuse.
    pub refused_by: Vec<&'static str>,
    /// The terms for each resource.
    pub resources: Resourced<ResourceExplanation>,
    /// The balance score among the nodes that pass, before it is rounded; 0 to 10.
    pub total: Option<f64>,
    /// The score as kube-scheduler gets it.
    pub score: Option<u8>,
}

/// The terms for one resource of one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceExplanation {
    /// N in millicores, bytes or bytes per second.
    pub load: u64,
    /// T; absent when it is not known, and the resource then takes no part.
    pub capacity: Option<u64>,
    /// The load as a share of the capacity, N / T.
    pub ratio: Option<f64>,
    /// (R + N) / T, which must be below h.
    pub ratio_after: Option<f64>,
    /// True where the headroom rule holds for the resource.
    pub fits: bool,
    /// `fresh`, `stale` or `absent`.
    pub freshness: &'static str,
    /// D: the deviation among the passing nodes with the Pod here `[CLBP] (4.9)`.
    pub deviation: Option<f64>,
    /// S: the deviation normalised by itself to 0..10 `[CLBP] (4.10)`.
    pub score: Option<f64>,
}

/// One value a resource, written as a map in the usual order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resourced<T>(pub Resources<T>);

impl<T: Serialize> Serialize for Resourced<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(resource, value)| (resource.as_str(), value)),
        )
    }
}

/// Explains what filter and prioritize would answer for `pod` over all nodes of the snapshot.
#[must_use]
pub fn explain(pod: &Pod, call: &Call<'_>) -> Explanation {
    let exemption = judgement::exemption(pod, call);
    let judgement = Judgement::if_judged(pod, call);
    let demand = judgement.demand.amounts;
    let passing = passing(call, &demand, judgement.headroom);
    let loads: Vec<NodeLoad> = passing.iter().map(|node| node.load).collect();
    // Where none passes, the profile is that which all nodes together give.
    let all: Vec<NodeLoad> = call.snapshot.nodes.iter().map(|node| node.load).collect();
    let candidates = if passing.is_empty() { &all } else { &loads };
    let (profile, weights) = decide::weights_for(pod, &judgement, candidates, call.policy);
    let details = balance::detail(&loads, &demand, weights, call.policy.scoring);
    // Scores stand in the order of the passing nodes, which is that of the snapshot.
    let mut scored = passing
        .iter()
        .map(|node| &node.name)
        .zip(details)
        .peekable();
    let mut score_of = |node: &NodeState| {
        let next = scored.next_if(|(name, _)| **name == node.name);
        next.map(|(_, score)| score)
    };
    let mut nodes: Vec<NodeExplanation> = call
        .snapshot
        .nodes
        .iter()
        .map(|node| of_node(node, &demand, judgement.headroom, score_of(node)))
        .collect();
    nodes.sort_by(|a, b| {
        let total = |node: &NodeExplanation| node.total.unwrap_or(f64::NEG_INFINITY);
        total(b)
            .total_cmp(&total(a))
            .then_with(|| a.name.cmp(&b.name))
    });
    Explanation {
        namespace: pod.namespace().to_owned(),
        pod: pod.name().to_owned(),
        unjudged: exemption.map(judgement::Exemption::as_str),
        demand: Resourced(Resources::from_fn(|resource| Demanded {
            amount: demand[resource].get(),
            source: judgement.demand.sources[resource].as_str(),
        })),
        profile,
        weights: Resourced(*weights.get()),
        normalization: call.policy.scoring.normalization.as_str(),
        headroom: judgement.headroom.get(),
        relaxed: passing.is_empty() && judgement.relaxes(call, false),
        warnings: warnings(&judgement.demand, &call.snapshot.nodes.largest()),
        nodes,
    }
}

fn warnings(demand: &Demand, largest: &Resources<Option<Amount>>) -> Vec<String> {
    let invalid = demand.invalid.iter().map(ToString::to_string);
    let excessive = demand.excessive(largest).map(|claim| claim.to_string());
    invalid.chain(excessive).collect()
}

fn passing<'a>(call: &Call<'a>, demand: &Resources<Amount>, h: Ratio) -> Vec<&'a NodeState> {
    call.snapshot
        .nodes
        .iter()
        .filter(|node| node.schedulable && headroom::fits(demand, &node.load, h))
        .collect()
}

fn of_node(
    node: &NodeState,
    demand: &Resources<Amount>,
    h: Ratio,
    score: Option<NodeScore>,
) -> NodeExplanation {
    let terms = headroom::terms(demand, &node.load, h);
    let refused_by: Vec<&'static str> = terms
        .iter()
        .filter(|(_, term)| !term.fits)
        .map(|(resource, _)| resource.as_str())
        .collect();
    NodeExplanation {
        name: node.name.to_string(),
        schedulable: node.schedulable,
        estimated: node.is_estimated(),
        passes: refused_by.is_empty(),
        refused_by,
        resources: Resourced(Resources::from_fn(|resource| {
            of_resource(node, resource, &terms[resource], score.as_ref())
        })),
        total: score.map(|score| score.total),
        score: score.map(|score| balance::to_wire(score.total)),
    }
}

fn of_resource(
    node: &NodeState,
    resource: Resource,
    term: &Term,
    score: Option<&NodeScore>,
) -> ResourceExplanation {
    let share = |amount: f64| {
        let capacity = term.capacity?.as_f64();
        (capacity > 0.0).then_some(amount / capacity)
    };
    ResourceExplanation {
        load: term.load.get(),
        capacity: term.capacity.map(Amount::get),
        ratio: share(term.load.as_f64()),
        ratio_after: share(term.load.as_f64() + term.demand.as_f64()),
        fits: term.fits,
        freshness: node.freshness[resource].as_str(),
        deviation: score.and_then(|score| score.deviation[resource]),
        score: score.and_then(|score| score.score[resource]),
    }
}
