//! Preemption: keeps only the proposed nodes on which an eviction helps the Pod. kube-scheduler
//! chooses victims by requests. A node that stays over the headroom line without them would refuse
//! the Pod again, and the eviction would be useless.

use std::borrow::Cow;
use std::collections::BTreeMap;

use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, Resources};
use serde::{Deserialize, Serialize};

use super::placement_rules::{
    Exemption, PlacementContext, PlacementRules, blind, headroom_exemption,
};
use super::wire::WireError;
use crate::node_table::NodeState;
use crate::preemption;

/// The question: a Pod, and for each node the Pods that would have to go.
#[derive(Debug)]
pub struct PreemptionRequest<'a> {
    pub pod: Pod,
    pub nodes: BTreeMap<Cow<'a, str>, Victims<'a>>,
}

/// The Pods that would be evicted from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victims<'a> {
    pub uids: Vec<Cow<'a, str>>,
    /// The evictions among them that violate a PodDisruptionBudget.
    pub violations: i64,
}

#[derive(Deserialize)]
struct Args<'a> {
    #[serde(rename = "Pod", alias = "pod")]
    pod: Pod,
    #[serde(
        borrow,
        default,
        rename = "NodeNameToMetaVictims",
        alias = "nodeNameToMetaVictims"
    )]
    meta: Option<BTreeMap<Cow<'a, str>, Option<VictimsJson<MetaPod<'a>>>>>,
    #[serde(
        borrow,
        default,
        rename = "NodeNameToVictims",
        alias = "nodeNameToVictims"
    )]
    whole: Option<BTreeMap<Cow<'a, str>, Option<VictimsJson<WholePod<'a>>>>>,
}

#[derive(Deserialize)]
struct VictimsJson<P> {
    #[serde(rename = "Pods", alias = "pods")]
    pods: Option<Vec<P>>,
    #[serde(default, rename = "NumPDBViolations", alias = "numPDBViolations")]
    violations: i64,
}

#[derive(Deserialize)]
struct MetaPod<'a> {
    #[serde(borrow, rename = "UID", alias = "uid")]
    uid: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WholePod<'a> {
    #[serde(borrow)]
    metadata: WholeMeta<'a>,
}

#[derive(Deserialize)]
struct WholeMeta<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
}

impl<'a> PreemptionRequest<'a> {
    /// Reads the body of a call, in the form with whole Pods or in that with their UIDs.
    ///
    /// # Errors
    /// A body that is no `ExtenderPreemptionArgs`.
    pub fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let args: Args<'a> = serde_json::from_slice(body).map_err(WireError::Preemption)?;
        let meta = args.meta.into_iter().flatten();
        let meta = meta.map(|(node, victims)| (node, of(victims, |pod| pod.uid)));
        let whole = args.whole.into_iter().flatten();
        let whole = whole.map(|(node, victims)| (node, of(victims, |pod| pod.metadata.uid)));
        Ok(Self {
            pod: args.pod,
            nodes: whole.chain(meta).collect(),
        })
    }
}

fn of<'a, P>(proposal: Option<VictimsJson<P>>, uid: impl Fn(P) -> Cow<'a, str>) -> Victims<'a> {
    let (pods, violations) = proposal.map_or((None, 0), |given| (given.pods, given.violations));
    Victims {
        uids: pods.into_iter().flatten().map(uid).collect(),
        violations,
    }
}

/// `None` if nodes were judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionResult {
    pub kept: Vec<bool>,
    /// The reason for which nothing was judged; `None` where nodes were judged.
    pub exemption: Option<Exemption>,
}

/// Judges each proposed node by the headroom rule without its victims. `relief` gives the load that
/// leaves a node with these Pods and with the Pods under deletion. A node with an estimated load
/// stays as proposed.
pub fn preempt(
    request: &PreemptionRequest<'_>,
    call: &PlacementContext<'_>,
    relief: impl Fn(&str, &[Cow<'_, str>]) -> Resources<Amount>,
) -> PreemptionResult {
    let proposed = |victims: &Victims<'_>| !victims.uids.is_empty();
    let unjudged = |why| PreemptionResult {
        kept: request.nodes.values().map(proposed).collect(),
        exemption: why,
    };
    let judgement = match PlacementRules::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return unjudged(Some(why)),
    };
    let exemption = headroom_exemption(&request.pod).or_else(|| blind(call.snapshot));
    if exemption.is_some() {
        return unjudged(exemption);
    }
    // Nodes take it without headroom: any eviction that makes room by requests helps.
    if judgement.relaxes(call, false) {
        return unjudged(None);
    }
    let helps = |node: &NodeState, victims: &Victims<'_>| {
        node.is_estimated()
            || preemption::makes_room(
                &judgement.demand.amounts,
                &node.load,
                &relief(&node.name, &victims.uids),
                judgement.headroom,
            )
    };
    let kept = request.nodes.iter().map(|(name, victims)| {
        let node = call.snapshot.nodes.get(name);
        proposed(victims) && node.is_none_or(|node| helps(node, victims))
    });
    PreemptionResult {
        kept: kept.collect(),
        exemption: None,
    }
}

#[derive(Serialize)]
struct PreemptionResultJson<'a> {
    #[serde(rename = "NodeNameToMetaVictims")]
    nodes: BTreeMap<&'a str, MetaVictims<'a>>,
}

#[derive(Serialize)]
struct MetaVictims<'a> {
    #[serde(rename = "Pods")]
    pods: Vec<MetaVictim<'a>>,
    #[serde(rename = "NumPDBViolations")]
    violations: i64,
}

#[derive(Serialize)]
struct MetaVictim<'a> {
    #[serde(rename = "UID")]
    uid: &'a str,
}

/// Writes the answer, which is in the form with UIDs whatever the question was in.
pub fn answer(request: &PreemptionRequest<'_>, kept: &[bool]) -> Vec<u8> {
    let nodes = request.nodes.iter().zip(kept).filter(|(_, kept)| **kept);
    let nodes = nodes.map(|((name, victims), _)| {
        let pods = victims.uids.iter().map(|uid| MetaVictim { uid });
        let victims = MetaVictims {
            pods: pods.collect(),
            violations: victims.violations,
        };
        (&**name, victims)
    });
    let answer = PreemptionResultJson {
        nodes: nodes.collect(),
    };
    serde_json::to_vec(&answer).unwrap_or_else(|_| br#"{"NodeNameToMetaVictims":{}}"#.to_vec())
}

#[cfg(test)]
mod tests;
