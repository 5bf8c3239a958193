//! Filter and prioritize as decisions: what passes, what scores, and why.

use jiff::{SignedDuration, Timestamp};

use super::verdicts::VerdictCache;
use super::wire::Request;
use crate::kubernetes::demand::{Demand, demand};
use crate::kubernetes::namespace_policy::{NamespacePolicy, RelaxAfter};
use crate::kubernetes::pod::Pod;
use crate::placement::node_table::{MeanLoad, NodeState};
use crate::placement::{NoHeadroom, NodeLoad, Policy, balance, headroom};
use crate::profile::{self, Weights};
use crate::snapshot::{Blind, OptIn, Snapshot};
use crate::units::{Amount, Ratio, Resources};

/// Nodes whose fullest resource is within this much of the least loaded one's are as good as it
/// when the headroom rule is relaxed; one node alone would take every such Pod.
const RELAXED_BAND: f64 = 0.05;

/// What a call is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// The configuration.
    pub policy: &'a Policy,
    /// The time of the request.
    pub now: Timestamp,
    /// Since when this Pod has been refused, if it waits.
    pub refused_since: Option<Timestamp>,
}

/// Why all nodes pass without a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// The Pod's namespace has not been seen.
    NamespaceUnknown,
    /// The Pod's namespace has not opted in.
    NotOptedIn,
    /// The Pod is annotated to be skipped.
    Skipped,
    /// The Pod belongs to a DaemonSet: its node is given.
    DaemonSet,
    /// The Pod mirrors a static one, which runs already.
    Mirror,
    /// The Pod has a `system-*-critical` priority class.
    Critical,
    /// The objects of the cluster have not all been listed.
    NotSynced,
    /// No node has a fresh measurement.
    NoMetrics,
}

impl Pass {
    /// The name in metrics and explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceUnknown => "namespace_unknown",
            Self::NotOptedIn => "not_opted_in",
            Self::Skipped => "skipped",
            Self::DaemonSet => "daemon_set",
            Self::Mirror => "mirror",
            Self::Critical => "critical",
            Self::NotSynced => "not_synced",
            Self::NoMetrics => "no_metrics",
        }
    }
}

/// What holds for one Pod: its demand, its headroom ratio and its namespace's policy.
#[derive(Debug, Clone)]
pub struct Judgement<'a> {
    /// R.
    pub demand: Demand,
    /// h.
    pub headroom: Ratio,
    /// The policy of its namespace.
    pub namespace: &'a NamespacePolicy,
}

impl<'a> Judgement<'a> {
    /// What holds for `pod`, or why it is not judged.
    ///
    /// # Errors
    /// Not a failure: the reason for which every node passes.
    pub fn of(pod: &Pod, call: &Call<'a>) -> Result<Self, Pass> {
        let namespace = match call.snapshot.opt_in(pod.namespace()) {
            _ if !call.snapshot.synced => return Err(Pass::NotSynced),
            OptIn::Unknown => return Err(Pass::NamespaceUnknown),
            OptIn::Out => return Err(Pass::NotOptedIn),
            OptIn::In(policy) => policy,
        };
        if pod.is_skipped() {
            return Err(Pass::Skipped);
        }
        Ok(Self::within(namespace, pod, call.policy))
    }

    /// What would hold for `pod` if it were judged; a namespace that is not known has no policy of
    /// its own.
    #[must_use]
    pub fn if_judged(pod: &Pod, call: &Call<'a>) -> Self {
        static NO_POLICY: NamespacePolicy = NamespacePolicy {
            enabled: false,
            headroom: None,
            profile_threshold: None,
            no_headroom: None,
            relax_after: None,
        };
        let namespace = call.snapshot.namespaces.get(pod.namespace());
        Self::within(
            namespace.map_or(&NO_POLICY, |policy| policy),
            pod,
            call.policy,
        )
    }

    /// Whether the Pod goes to the least loaded nodes, now that no node asked about has headroom.
    ///
    /// By policy it does when no node of the cluster has any. One that has waited long enough does
    /// even where another node has room: that node was not among those asked about for as long as
    /// it waited, so the Pod cannot go there.
    #[must_use]
    pub fn relaxes(&self, call: &Call<'_>, room_somewhere: bool) -> bool {
        let mode = self
            .namespace
            .no_headroom
            .unwrap_or(call.policy.no_headroom);
        mode == NoHeadroom::Relax && !room_somewhere || self.has_waited_out(call)
    }

    /// Whether the Pod has been refused for as long as its policy allows.
    #[must_use]
    pub fn has_waited_out(&self, call: &Call<'_>) -> bool {
        let limit: Option<SignedDuration> = match self.namespace.relax_after {
            Some(RelaxAfter::Never) => None,
            Some(RelaxAfter::After(limit)) => Some(limit),
            None => call.policy.relax_after,
        };
        limit
            .zip(call.refused_since)
            .is_some_and(|(limit, since)| call.now.duration_since(since) >= limit)
    }

    fn within(namespace: &'a NamespacePolicy, pod: &Pod, policy: &Policy) -> Self {
        Self {
            demand: demand(pod, policy.caps_as_demand),
            headroom: headroom_for(pod, namespace, policy),
            namespace,
        }
    }
}

/// Why every node passes without a judgement, if so.
#[must_use]
pub fn unjudged(pod: &Pod, call: &Call<'_>) -> Option<Pass> {
    Judgement::of(pod, call)
        .err()
        .or_else(|| exemption(pod))
        .or_else(|| blind(call.snapshot))
}

/// h for a Pod: that of its priority class, else its namespace's, else the configured one.
#[must_use]
pub fn headroom_for(pod: &Pod, namespace: &NamespacePolicy, policy: &Policy) -> Ratio {
    pod.spec
        .priority_class_name
        .as_deref()
        .and_then(|class| policy.headroom_by_priority_class.get(class))
        .copied()
        .or(namespace.headroom)
        .unwrap_or(policy.headroom)
}

/// Why the headroom rule does not hold for a Pod, if so.
#[must_use]
pub fn exemption(pod: &Pod) -> Option<Pass> {
    if pod.is_mirror() {
        Some(Pass::Mirror)
    } else if pod.is_daemon_set() {
        Some(Pass::DaemonSet)
    } else if pod.is_system_critical() {
        Some(Pass::Critical)
    } else {
        None
    }
}

/// The answer to filter.
#[derive(Debug, Clone)]
pub struct Filtered {
    /// For each node asked about: which resources refuse; 0 passes.
    pub refused: Vec<u8>,
    /// Why nothing was judged.
    pub unjudged: Option<Pass>,
    /// Whether nodes pass that have no headroom, because none has.
    pub relaxed: bool,
    /// The demand, where it was derived.
    pub demand: Option<Resources<Amount>>,
}

impl Filtered {
    /// Whether the node at `position` of the request passes.
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

    fn all(nodes: usize, why: Pass) -> Self {
        Self {
            refused: vec![0; nodes],
            unjudged: Some(why),
            relaxed: false,
            demand: None,
        }
    }
}

/// Which of the nodes asked about pass the headroom rule (4.1).
#[must_use]
pub fn filter(request: &Request<'_>, call: &Call<'_>, cache: &VerdictCache) -> Filtered {
    let nodes = request.names.len();
    let judgement = match Judgement::of(&request.pod, call) {
        Ok(judgement) => judgement,
        Err(why) => return Filtered::all(nodes, why),
    };
    let demand = judgement.demand.amounts;
    if let Some(why) = exemption(&request.pod).or_else(|| blind(call.snapshot)) {
        return Filtered {
            demand: Some(demand),
            ..Filtered::all(nodes, why)
        };
    }
    let set = &call.snapshot.nodes;
    let verdicts = cache.get(set, &demand, judgement.headroom);
    let refused: Vec<u8> = request
        .names
        .iter()
        .map(|name| verdicts.at(set.position(name)))
        .collect();
    let mut filtered = Filtered {
        refused,
        unjudged: None,
        relaxed: false,
        demand: Some(demand),
    };
    let none_passes = nodes > 0 && filtered.refused.iter().all(|refused| *refused != 0);
    if none_passes && judgement.relaxes(call, verdicts.room_somewhere()) {
        relax(&mut filtered, request, call.snapshot, &demand);
    }
    filtered
}

fn blind(snapshot: &Snapshot) -> Option<Pass> {
    snapshot.blind().map(|blind| match blind {
        Blind::NotSynced => Pass::NotSynced,
        Blind::NoMetrics => Pass::NoMetrics,
    })
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
    /// Why nothing was judged.
    pub unjudged: Option<Pass>,
    /// The position of the node with the highest score, where the Pod will most likely go.
    pub best: Option<usize>,
    /// The profile whose weights were used.
    pub profile: Option<String>,
    /// The demand, where it was derived.
    pub demand: Option<Resources<Amount>>,
}

/// How well each of the nodes asked about would keep the cluster in balance (4.4 to 4.11).
#[must_use]
pub fn prioritize(request: &Request<'_>, call: &Call<'_>) -> Prioritized {
    let none = |why, demand| Prioritized {
        scores: vec![0; request.names.len()],
        unjudged: Some(why),
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
    Prioritized {
        scores: exact
            .iter()
            .map(|score| score.map_or(0, balance::to_wire))
            .collect(),
        unjudged: None,
        best: best(&exact),
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
    let class = profile::classify(&judgement.demand.amounts, &mean, threshold).profile;
    (class.to_string(), policy.profiles.built_in(class))
}

fn best(scores: &[Option<f64>]) -> Option<usize> {
    scores
        .iter()
        .enumerate()
        .filter_map(|(position, score)| score.map(|score| (position, score)))
        // The first of equals, so that the guess is the same each time.
        .max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)))
        .map(|(position, _)| position)
}

#[cfg(test)]
mod tests;
