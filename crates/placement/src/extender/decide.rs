//! Filter and prioritize as decisions: the nodes that pass and the score of each, with the reasons.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_objects::pod::Pod;
use evenkeel_units::fnv::fnv1a;
use evenkeel_units::{Amount, ResourceSet, Resources};

use super::candidate_nodes::CandidateNodes;
use super::filter_cache::{FilterCache, FilterQuestion, UnboundPodScope, VerdictCache};
use super::placement_rules::{
    Exemption, PlacementContext, PlacementRules, blind, headroom_exemption, labels_exemption,
};
use super::wire::ExtenderRequest;
use crate::balance::BalanceScores;
use crate::candidate_loads::scored_loads;
use crate::node_table::{NearTies, NodeSet, NodeState, median};
use crate::profile::ProfileChoice;
use crate::ranking::Ranking;
use crate::snapshot::Snapshot;
use crate::{
    NodeLoad, SchedulingPolicy, balance, headroom, kube_scheduler_scores, profile, ranking,
};

/// If the headroom rule is relaxed, nodes whose fullest resource is within this share of capacity
/// of the best node count as equally good; a single node would take every such Pod.
const RELAXED_BAND: f64 = 0.05;

/// The longest time that filter waits for the bind notice of the previous Pod, if its answer depends on that
/// Pod. The notice mostly comes within 2 ms, later on a busy machine.
pub const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Default)]
pub struct FilterResult {
    /// For each node asked about, the resources that refuse; it passes where none does.
    pub refused: Vec<ResourceSet>,
    /// The reason for which nothing was judged; `None` where nodes were judged.
    pub exemption: Option<Exemption>,
    /// True where nodes pass that have no headroom, because none has.
    pub relaxed: bool,
    /// True where the node that the Pod is nominated for passes without headroom.
    pub nominated: bool,
    /// True if a node is refused, or passes, only by a guess of another Pod's node: a notice may
    /// change the answer.
    pub doubted: bool,
    /// True where a node passes with room for what this and other new Pods may use while they warm
    /// up, so that nodes without that room are refused.
    pub at_start: bool,
    /// The demand R that was judged, with that of the first minutes where `at_start`; `None` where it
    /// was not needed.
    pub demand: Option<Resources<Amount>>,
    /// Where the nodes stand; `None` where nothing was judged.
    pub asked: Option<CandidateNodes>,
}

impl FilterResult {
    /// True where the node at `position` of the request passes.
    pub fn passes(&self, position: usize) -> bool {
        let refused = self.refused.get(position);
        refused.is_none_or(|refused| refused.is_empty())
    }

    /// The number of nodes that pass.
    pub fn passed(&self) -> usize {
        let positions = 0..self.refused.len();
        positions.filter(|&position| self.passes(position)).count()
    }

    /// The position of the only passing node, if there is exactly one: kube-scheduler then skips
    /// prioritize.
    pub fn only(&self) -> Option<usize> {
        let mut passed = (0..self.refused.len()).filter(|&position| self.passes(position));
        passed.next().filter(|_| passed.next().is_none())
    }

    fn all(nodes: usize, exemption: Exemption) -> Self {
        Self {
            refused: vec![ResourceSet::NONE; nodes],
            exemption: Some(exemption),
            ..Self::default()
        }
    }
}

/// Judges the nodes asked about by the headroom rule, `[CLBP] (4.1)`.
pub fn filter(
    request: &ExtenderRequest<'_>,
    call: &PlacementContext<'_>,
    cache: &VerdictCache,
) -> FilterResult {
    let nodes = request.names.len();
    let judgement = match PlacementRules::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return FilterResult::all(nodes, why),
    };
    let demand = judgement.demand.amounts;
    if let Some(why) = headroom_exemption(&request.pod).or_else(|| blind(call.snapshot)) {
        return FilterResult {
            demand: Some(demand),
            ..FilterResult::all(nodes, why)
        };
    }
    let asked = CandidateNodes::of(&request.names, &call.snapshot.nodes);
    let (question, found) = strictest(&asked, request, &call.snapshot.nodes, &judgement, cache);
    let Refusals {
        refused,
        verdicts,
        doubted,
        has_room: _,
    } = found;
    let mut filtered = FilterResult {
        refused,
        doubted,
        at_start: question.at_start,
        demand: Some(question.demand),
        asked: Some(asked),
        ..FilterResult::default()
    };
    keep_nomination(&mut filtered, request);
    let none_passes = nodes > 0 && !filtered.refused.iter().any(|refused| refused.is_empty());
    // A node that kube-scheduler's own filters keep from the Pod, such as another pool's, does not
    // help.
    let all = call.snapshot.nodes.len();
    let hides = call.policy.nodes_to_score.hides(nodes, all);
    if none_passes && judgement.relaxes(call, hides && verdicts.room_somewhere()) {
        relax(&mut filtered, request, call.snapshot, &demand);
    }
    filtered
}

/// The strictest headroom question that at least one node passes: for the Pod's peak in its first
/// minutes, for its demand beside Pods that warm up, or for its demand alone. A Pod for which
/// kube-scheduler has found no node gets the last one only, because Evenkeel does not know what else
/// refuses the nodes.
fn strictest(
    asked: &CandidateNodes,
    request: &ExtenderRequest<'_>,
    set: &NodeSet,
    judgement: &PlacementRules<'_>,
    cache: &VerdictCache,
) -> (FilterQuestion, Refusals) {
    let by_demand = FilterQuestion::of(judgement);
    let beside_others = FilterQuestion {
        at_start: true,
        ..by_demand
    };
    let at_peak = FilterQuestion {
        demand: judgement.demand.at_start(),
        ..beside_others
    };
    let stricter = [
        (at_peak.demand != beside_others.demand).then_some(at_peak),
        set.is_warming_up().then_some(beside_others),
    ];
    let may_be_stricter = !request.pod.is_unschedulable();
    let mut doubted = false;
    for question in stricter.into_iter().flatten().filter(|_| may_be_stricter) {
        let mut found = refusals(asked, set, question, cache);
        found.doubted |= doubted;
        if found.has_room {
            return (question, found);
        }
        doubted = found.doubted;
    }
    let mut found = refusals(asked, set, by_demand, cache);
    found.doubted |= doubted;
    (by_demand, found)
}

/// The resources that refuse at each node asked about, with the verdicts on all nodes.
struct Refusals {
    refused: Vec<ResourceSet>,
    verdicts: Arc<FilterCache>,
    /// A node would not be refused if Pods in doubt went elsewhere.
    doubted: bool,
    /// A node has room. Nodes that the table does not know pass, and say nothing of room.
    has_room: bool,
}

/// Judges each requested node. A Pod may be on another node than the one it is counted on. While
/// that is possible, both nodes keep room for it, unless no node then has room.
fn refusals(
    asked: &CandidateNodes,
    set: &NodeSet,
    question: FilterQuestion,
    cache: &VerdictCache,
) -> Refusals {
    let judge = |scope, doubted| {
        let verdicts = cache.get(set, &FilterQuestion { scope, ..question });
        let refused: Vec<ResourceSet> = asked.iter().map(|at| verdicts.at(at)).collect();
        // An unknown node has room for the demand, and maybe not for what first minutes need.
        let mut known = asked
            .iter()
            .zip(&refused)
            .filter(|(at, _)| at.is_some() || !question.at_start);
        Refusals {
            has_room: known.any(|(_, refused)| refused.is_empty()),
            refused,
            verdicts,
            doubted,
        }
    };
    if !set.is_in_doubt() {
        return judge(UnboundPodScope::MostLikely, false);
    }
    let mut careful = judge(UnboundPodScope::AllThatIsPossible, false);
    let by_guess = |(at, refused): (Option<usize>, &ResourceSet)| {
        let at = at.filter(|_| !refused.is_empty());
        let possible = at.and_then(|at| set.possible(at)).unwrap_or_default();
        let node = at.filter(|_| possible != Resources::default());
        let nothing_more = Resources::default();
        node.and_then(|at| set.at(at))
            .is_some_and(|node| question.refusing(node, &nothing_more).is_empty())
    };
    careful.doubted = asked.iter().zip(&careful.refused).any(by_guess);
    // If no node has both, room for first minutes is dropped before room for Pods in doubt.
    if careful.has_room || question.at_start {
        careful
    } else {
        judge(UnboundPodScope::MostLikely, careful.doubted)
    }
}

/// Lets the Pod pass to its nominated node, where others were preempted for it: kube-scheduler
/// takes a nominated node that is refused on the next one, again and again.
fn keep_nomination(filtered: &mut FilterResult, request: &ExtenderRequest<'_>) {
    let nominated = request.pod.nominated_to();
    let at = nominated.and_then(|node| request.names.iter().position(|name| name == node));
    if let Some(refused) = at.and_then(|at| filtered.refused.get_mut(at)) {
        filtered.nominated = !refused.is_empty();
        *refused = ResourceSet::NONE;
    }
}

/// Lets the least loaded nodes pass: those with their fullest resource within [`RELAXED_BAND`] of
/// the best.
fn relax(
    filtered: &mut FilterResult,
    request: &ExtenderRequest<'_>,
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
            *refused = ResourceSet::NONE;
        }
    }
    filtered.relaxed = true;
}

#[derive(Debug, Clone)]
pub struct PrioritizeResult {
    /// For each node asked about, 0 to 10.
    pub scores: Vec<u8>,
    /// The reason for which nothing was judged; `None` where nodes were judged.
    pub exemption: Option<Exemption>,
    /// The position of the node with the highest score, where the Pod will most likely go.
    pub best: Option<usize>,
    /// The nodes that kube-scheduler may choose as well.
    pub near: NearTies,
    pub profile: Option<String>,
    /// The demand R; `None` where it was not needed.
    pub demand: Option<Resources<Amount>>,
    /// Where the nodes stand; `None` where nothing was judged.
    pub asked: Option<CandidateNodes>,
}

/// Scores each requested node by the resulting balance of the cluster, `[CLBP] (4.4) to (4.11)`.
pub fn prioritize(request: &ExtenderRequest<'_>, call: &PlacementContext<'_>) -> PrioritizeResult {
    let none = |why, demand| PrioritizeResult {
        scores: vec![0; request.names.len()],
        exemption: Some(why),
        best: None,
        near: NearTies::default(),
        profile: None,
        demand,
        asked: None,
    };
    let judgement = match PlacementRules::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return none(why, None),
    };
    let demand = judgement.demand.assumed;
    let exemption =
        blind(call.snapshot).or_else(|| labels_exemption(&request.pod, call.snapshot, call.policy));
    if let Some(why) = exemption {
        return none(why, Some(demand));
    }
    let set = &call.snapshot.nodes;
    let asked = CandidateNodes::of(&request.names, set);
    let nodes: Vec<&NodeState> = asked.iter().filter_map(|at| set.at(at?)).collect();
    let loads = scored_loads(&nodes);
    let profile = profile_of(&request.pod, &judgement, &loads, call.policy);
    let scored = balance::scored(&loads, &demand, profile.weights, call.policy.scoring);
    let known = asked.iter().map(|at| at.is_some());
    let Ranking { scores, best, near } = ranked(request, call.snapshot, known, &scored, &demand);
    let near = near.iter().filter_map(|&number| asked.get(number));
    PrioritizeResult {
        scores,
        exemption: None,
        best,
        near: set.near(near),
        profile: Some(profile.name.to_owned()),
        demand: Some(demand),
        asked: Some(asked),
    }
}

/// The scores to answer, and the node that the Pod most likely gets. Ties, and scores that are
/// [`ranking::ALIKE`] for a Pod of cpu and memory alone, are broken by a model of kube-scheduler's
/// plugins, then by a hash of Pod and node. `known` says which nodes have a score.
pub(super) fn ranked(
    request: &ExtenderRequest<'_>,
    snapshot: &Snapshot,
    known: impl Iterator<Item = bool>,
    scored: &BalanceScores,
    demand: &Resources<Amount>,
) -> Ranking {
    let mut remaining = scored.exact.iter().copied();
    let exact = known.map(|known| known.then(|| remaining.next()).flatten());
    let exact: Vec<Option<f64>> = exact.collect();
    if *demand == Resources::default() {
        return ranking::without_lead(&exact);
    }
    let uid = request.pod.uid();
    let tolerance = if kube_scheduler_scores::sees_all_of(demand) {
        ranking::ALIKE * scored.significant
    } else {
        0.0
    };
    ranking::rank(&exact, tolerance, |at| {
        let name = request.names.get(at).map_or("", |name| &**name);
        let node = snapshot.nodes.get(name);
        let preferred = node.map(|node| kube_scheduler_scores::by_requests(demand, &node.detail));
        let chance = fnv1a(format!("{uid}/{name}").as_bytes());
        (Reverse(preferred), chance, at)
    })
}

/// The profile of a Pod: the annotated one, else that which the candidate nodes give.
pub(super) fn profile_of<'a>(
    pod: &'a Pod,
    judgement: &PlacementRules<'_>,
    candidates: &[NodeLoad],
    policy: &'a SchedulingPolicy,
) -> ProfileChoice<'a> {
    policy.profiles.choose(pod.annotated_profile(), || {
        let free = median(candidates).free();
        let threshold = policy.profile_threshold_in(judgement.namespace);
        profile::classify(&judgement.demand.amounts, &free, threshold)
    })
}

#[cfg(test)]
pub(super) mod tests;
