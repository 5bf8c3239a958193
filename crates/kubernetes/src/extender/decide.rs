//! Filter and prioritize as decisions: the nodes that pass and the score of each, with the reasons.

mod scores;

use std::sync::Arc;

use super::judgement::{Call, Exemption, Judgement, blind, headroom_exemption};
use super::verdicts::{VerdictCache, Verdicts};
use super::wire::Request;
use crate::pod::Pod;
use crate::snapshot::Snapshot;
use evenkeel_core::placement::node_table::{MeanLoad, NodeState};
use evenkeel_core::placement::{NodeLoad, Policy, balance, headroom};
use evenkeel_core::profile::{self, Weights};
use evenkeel_core::units::{Amount, Resources};

/// Nodes whose fullest resource is within this much of the least loaded one's are as good as it
/// when the headroom rule is relaxed; one node alone would take every such Pod.
const RELAXED_BAND: f64 = 0.05;

/// The share of a burst that is expected to go to other nodes than those that were scored best.
/// To spare room for more would send whole bursts to the largest nodes of a mixed cluster.
const ASTRAY: f64 = 0.125;

/// The answer to filter.
#[derive(Debug, Clone)]
pub struct Filtered {
    /// For each node asked about, the resources that refuse, one bit each; 0 passes.
    pub refused: Vec<u8>,
    /// The reason for which nothing was judged; `None` where nodes were judged.
    pub exemption: Option<Exemption>,
    /// True where nodes pass that have no headroom, because none has.
    pub relaxed: bool,
    /// The demand R; `None` where it was not needed.
    pub demand: Option<Resources<Amount>>,
}

impl Filtered {
    /// True where the node at `position` of the request passes.
    #[must_use]
    pub fn passes(&self, position: usize) -> bool {
        self.refused
            .get(position)
            .is_none_or(|refused| *refused == 0)
    }

    /// The position of the only node that passes, if there is exactly one: prioritize is then not
    /// called, and the Pod will go there.
    #[must_use]
    pub fn only(&self) -> Option<usize> {
        let mut passed = (0..self.refused.len()).filter(|&position| self.passes(position));
        passed.next().filter(|_| passed.next().is_none())
    }

    fn all(nodes: usize, exemption: Exemption) -> Self {
        Self {
            refused: vec![0; nodes],
            exemption: Some(exemption),
            relaxed: false,
            demand: None,
        }
    }
}

/// Judges the nodes asked about by the headroom rule, `[CLBP] (4.1)`.
#[must_use]
pub fn filter(request: &Request<'_>, call: &Call<'_>, cache: &VerdictCache) -> Filtered {
    let nodes = request.names.len();
    let judgement = match Judgement::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return Filtered::all(nodes, why),
    };
    let demand = judgement.demand.amounts;
    if let Some(why) = headroom_exemption(&request.pod).or_else(|| blind(call.snapshot)) {
        return Filtered {
            demand: Some(demand),
            ..Filtered::all(nodes, why)
        };
    }
    let (refused, verdicts) = refusals(request, call.snapshot, &judgement, cache);
    let mut filtered = Filtered {
        refused,
        exemption: None,
        relaxed: false,
        demand: Some(demand),
    };
    let none_passes = nodes > 0 && filtered.refused.iter().all(|refused| *refused != 0);
    if none_passes && judgement.relaxes(call, verdicts.room_somewhere()) {
        relax(&mut filtered, request, call.snapshot, &demand);
    }
    filtered
}

/// The resources that refuse at each node asked about, with the verdicts on all nodes.
///
/// A Pod whose binding has not been seen is counted on the node that was scored best, and a few of
/// them kube-scheduler takes elsewhere by sums of its own. So while bindings are outstanding a node
/// needs room to spare for [`ASTRAY`] of them, unless no node has it: a burst keeps away from nodes
/// that are nearly full as long as there are others, and no Pod is refused for the sake of a doubt.
fn refusals(
    request: &Request<'_>,
    snapshot: &Snapshot,
    judgement: &Judgement<'_>,
    cache: &VerdictCache,
) -> (Vec<u8>, Arc<Verdicts>) {
    let (set, demand) = (&snapshot.nodes, &judgement.demand.amounts);
    let judge = |spare: f64| {
        let with_spare = Resources::from_fn(|resource| {
            let outstanding = set.outstanding()[resource].as_f64();
            demand[resource].saturating_add(Amount::from_f64(outstanding * spare))
        });
        let verdicts = cache.get(set, &with_spare, judgement.headroom);
        let refused: Vec<u8> = request
            .names
            .iter()
            .map(|name| verdicts.at(set.position(name)))
            .collect();
        (refused, verdicts)
    };
    if *set.outstanding() != Resources::default() {
        let (refused, verdicts) = judge(ASTRAY);
        if refused.contains(&0) {
            return (refused, verdicts);
        }
    }
    judge(0.0)
}

/// Lets the least loaded of the nodes asked about pass: those whose fullest resource would be
/// within [`RELAXED_BAND`] of the best.
fn relax(
    filtered: &mut Filtered,
    request: &Request<'_>,
    snapshot: &Snapshot,
    demand: &Resources<Amount>,
) {
    let fullest: Vec<Option<f64>> = request
        .names
        .iter()
        .map(|name| {
            let node = snapshot.nodes.get(name)?;
            headroom::fullest(demand, &node.load)
        })
        .collect();
    let Some(least) = fullest.iter().flatten().copied().min_by(f64::total_cmp) else {
        return;
    };
    for (refused, ratio) in filtered.refused.iter_mut().zip(fullest) {
        if ratio.is_some_and(|ratio| ratio <= least + RELAXED_BAND) {
            *refused = 0;
        }
    }
    filtered.relaxed = true;
}

/// The answer to prioritize.
#[derive(Debug, Clone)]
pub struct Prioritized {
    /// For each node asked about, 0 to 10.
    pub scores: Vec<u8>,
    /// The reason for which nothing was judged; `None` where nodes were judged.
    pub exemption: Option<Exemption>,
    /// The position of the node with the highest score, where the Pod will most likely go.
    pub best: Option<usize>,
    /// The profile whose weights were used.
    pub profile: Option<String>,
    /// The demand R; `None` where it was not needed.
    pub demand: Option<Resources<Amount>>,
}

/// Scores each of the nodes asked about by how well it would keep the cluster in balance,
/// `[CLBP] (4.4) to (4.11)`.
#[must_use]
pub fn prioritize(request: &Request<'_>, call: &Call<'_>) -> Prioritized {
    let none = |why, demand| Prioritized {
        scores: vec![0; request.names.len()],
        exemption: Some(why),
        best: None,
        profile: None,
        demand,
    };
    let judgement = match Judgement::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return none(why, None),
    };
    let demand = judgement.demand.amounts;
    if let Some(why) = blind(call.snapshot) {
        return none(why, Some(demand));
    }
    let nodes: Vec<Option<&NodeState>> = request
        .names
        .iter()
        .map(|name| call.snapshot.nodes.get(name))
        .collect();
    let loads: Vec<NodeLoad> = nodes.iter().flatten().map(|node| node.load).collect();
    let (profile, weights) = weights_for(&request.pod, &judgement, &loads, call.policy);
    let known = balance::scores(&loads, &demand, weights, call.policy.normalization);
    let mut known = known.into_iter();
    let exact: Vec<Option<f64>> = nodes
        .iter()
        .map(|node| node.and_then(|_| known.next()))
        .collect();
    let best = scores::best(&exact);
    Prioritized {
        scores: if *call.snapshot.nodes.outstanding() == Resources::default() {
            scores::rounded(&exact)
        } else {
            scores::decisive(&exact, best)
        },
        exemption: None,
        best,
        profile: Some(profile),
        demand: Some(demand),
    }
}

/// The profile of a Pod and its weights: the annotated one, else that which the candidate nodes
/// give.
pub(super) fn weights_for<'p>(
    pod: &Pod,
    judgement: &Judgement<'_>,
    candidates: &[NodeLoad],
    policy: &'p Policy,
) -> (String, &'p Weights) {
    if let Some(name) = pod.annotated_profile()
        && let Some(weights) = policy.profiles.get(name)
    {
        return (name.to_owned(), weights);
    }
    let mean = candidates.iter().collect::<MeanLoad>().get();
    let threshold = judgement
        .namespace
        .profile_threshold
        .unwrap_or(policy.profile_threshold);
    let class = profile::classify(&judgement.demand.amounts, &mean.free(), threshold).profile;
    (class.to_string(), policy.profiles.built_in(class))
}

#[cfg(test)]
mod tests;
