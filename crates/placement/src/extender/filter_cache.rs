//! The verdicts on all nodes for one demand, cached while the nodes do not change. Every bind and
//! delete in the cluster makes kube-scheduler ask again for each refused Pod.

use std::sync::Arc;

use evenkeel_units::{Amount, Ratio, ResourceSet, Resources};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use crate::headroom;
use crate::node_table::NodeSet;

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

/// The resources that refuse at each node, by its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterCache {
    refused: Vec<ResourceSet>,
    room_somewhere: bool,
}

impl FilterCache {
    /// Judges every node by `[CLBP] (4.1)`.
    pub(crate) fn of(
        nodes: &NodeSet,
        demand: &Resources<Amount>,
        headroom: Ratio,
        care: UnboundPodScope,
    ) -> Self {
        let mut room_somewhere = false;
        let refused = nodes
            .iter()
            .enumerate()
            .map(|(position, node)| {
                let possible = match care {
                    UnboundPodScope::MostLikely => None,
                    UnboundPodScope::AllThatIsPossible => nodes.possible(position),
                };
                let asked = possible.map_or(*demand, |possible| {
                    Resources::from_fn(|of| demand[of].saturating_add(possible[of]))
                });
                let refused = headroom::refusing(&asked, &node.load, headroom);
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
    care: UnboundPodScope,
}

/// Verdicts by version of the nodes, demand and headroom ratio.
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
    /// The verdicts, computed if these nodes have not been asked for this demand.
    pub(crate) fn get(
        &self,
        nodes: &NodeSet,
        demand: &Resources<Amount>,
        headroom: Ratio,
        care: UnboundPodScope,
    ) -> Arc<FilterCache> {
        let key = VerdictCacheKey {
            version: nodes.version(),
            demand: *demand.values(),
            headroom: headroom.get().to_bits(),
            care,
        };
        self.0.get_with(key, || {
            Arc::new(FilterCache::of(nodes, demand, headroom, care))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a demand of `cpu` and tells whether the answer was known.
    fn known(cache: &VerdictCache, nodes: &NodeSet, cpu: u64) -> bool {
        let mut demand = Resources::new([Amount::new(0); 5]);
        demand[evenkeel_units::Resource::Cpu] = Amount::new(cpu);
        let headroom = Ratio::share(0.8).expect("a share");
        let before = cache.0.contains_key(&VerdictCacheKey {
            version: nodes.version(),
            demand: *demand.values(),
            headroom: headroom.get().to_bits(),
            care: UnboundPodScope::MostLikely,
        });
        drop(cache.get(nodes, &demand, headroom, UnboundPodScope::MostLikely));
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
