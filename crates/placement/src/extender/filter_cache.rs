//! The verdicts on all nodes for one demand, cached while the nodes do not change. Every bind and
//! delete in the cluster makes kube-scheduler ask again for each refused Pod.

use std::sync::Arc;

use evenkeel_units::{Amount, Ratio, ResourceSet, Resources};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::placement_rules::PlacementRules;
use crate::headroom;
use crate::node_table::{NodeSet, NodeState};

/// Verdicts kept at a time; at 5,000 nodes each takes 5 KB.
const CAPACITY: u64 = 512;

/// The Pods that count on a node, among those with a node that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UnboundPodScope {
    /// Those that are most likely there.
    MostLikely,
    /// Those that may be there as well.
    AllThatIsPossible,
}

/// A question about all nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterQuestion {
    pub(crate) demand: Resources<Amount>,
    pub(crate) headroom: Ratio,
    pub(crate) scope: UnboundPodScope,
    /// If true, what Pods are expected to use beyond their demand while they warm up counts too.
    pub(crate) at_start: bool,
}

impl FilterQuestion {
    /// The question about the Pod's demand, without first minutes.
    pub(crate) fn of(judgement: &PlacementRules<'_>) -> Self {
        Self {
            demand: judgement.demand.amounts,
            headroom: judgement.headroom,
            scope: UnboundPodScope::MostLikely,
            at_start: false,
        }
    }

    /// The resources that refuse a node on which this much more may be.
    pub(crate) fn refusing(&self, node: &NodeState, more: &Resources<Amount>) -> ResourceSet {
        let demand = Resources::from_fn(|of| self.demand[of].saturating_add(more[of]));
        let load = if self.at_start {
            &node.load_at_start()
        } else {
            &node.load
        };
        headroom::refusing(&demand, load, self.headroom)
    }
}

/// The resources that refuse at each node, by its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterCache {
    refused: Vec<ResourceSet>,
    room_somewhere: bool,
}

impl FilterCache {
    /// Judges every node by `[CLBP] (4.1)`.
    fn of(nodes: &NodeSet, question: &FilterQuestion) -> Self {
        let mut room_somewhere = false;
        let refused = nodes
            .iter()
            .enumerate()
            .map(|(position, node)| {
                let possible = match question.scope {
                    UnboundPodScope::MostLikely => None,
                    UnboundPodScope::AllThatIsPossible => nodes.possible(position),
                };
                let refused = question.refusing(node, &possible.unwrap_or_default());
                room_somewhere |= node.is_open() && refused.is_empty();
                refused
            })
            .collect();
        Self {
            refused,
            room_somewhere,
        }
    }

    /// The resources that refuse at a node; of a node that is not known, none.
    pub(crate) fn at(&self, position: Option<usize>) -> ResourceSet {
        position
            .and_then(|position| self.refused.get(position))
            .copied()
            .unwrap_or_default()
    }

    /// True where any node of the cluster that is open to every Pod has headroom.
    pub(crate) const fn room_somewhere(&self) -> bool {
        self.room_somewhere
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct VerdictCacheKey {
    version: u64,
    demand: [Amount; 5],
    headroom: u64,
    scope: UnboundPodScope,
    at_start: bool,
}

impl VerdictCacheKey {
    fn of(nodes: &NodeSet, question: &FilterQuestion) -> Self {
        let FilterQuestion {
            demand,
            headroom,
            scope,
            at_start,
        } = *question;
        Self {
            version: nodes.version(),
            demand: *demand.values(),
            headroom: headroom.get().to_bits(),
            scope,
            at_start,
        }
    }
}

/// Verdicts by version of the nodes and question.
#[derive(Debug, Clone)]
pub struct VerdictCache(Cache<VerdictCacheKey, Arc<FilterCache>>);

impl Default for VerdictCache {
    fn default() -> Self {
        // Moka's default policy keeps frequent entries, which here belong to nodes of the past.
        let policy = EvictionPolicy::lru();
        let cache = Cache::builder().max_capacity(CAPACITY);
        Self(cache.eviction_policy(policy).build())
    }
}

impl VerdictCache {
    /// The verdicts, computed if these nodes have not been asked this.
    pub(crate) fn get(&self, nodes: &NodeSet, question: &FilterQuestion) -> Arc<FilterCache> {
        let key = VerdictCacheKey::of(nodes, question);
        self.0
            .get_with(key, || Arc::new(FilterCache::of(nodes, question)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a demand of `cpu` and tells whether the answer was known.
    fn known(cache: &VerdictCache, nodes: &NodeSet, cpu: u64) -> bool {
        let mut demand = Resources::new([Amount::new(0); 5]);
        demand[evenkeel_units::Resource::Cpu] = Amount::new(cpu);
        let question = FilterQuestion {
            demand,
            headroom: Ratio::share(0.8).expect("a share"),
            scope: UnboundPodScope::MostLikely,
            at_start: false,
        };
        let key = VerdictCacheKey::of(nodes, &question);
        let before = cache.0.contains_key(&key);
        drop(cache.get(nodes, &question));
        cache.0.run_pending_tasks();
        before
    }

    #[test]
    fn what_was_popular_makes_room_for_what_is_new() {
        let (cache, nodes) = (VerdictCache::default(), NodeSet::default());
        for _ in 0..20 {
            for cpu in 0..CAPACITY {
                known(&cache, &nodes, cpu);
            }
        }
        for cpu in CAPACITY..2 * CAPACITY {
            assert!(!known(&cache, &nodes, cpu));
        }
        for cpu in CAPACITY..2 * CAPACITY {
            assert!(known(&cache, &nodes, cpu), "{cpu}");
        }
    }
}
