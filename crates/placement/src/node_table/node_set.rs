//! Nodes as decisions see them, in chunks that successive versions share: a change copies one chunk
//! and the list of chunks. The index by name is copied only when a node comes or goes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use evenkeel_units::{Amount, Resource, Resources, words};
use foldhash::fast::RandomState;

use super::detail::NodeDetail;
use super::largest_capacities::LargestCapacities;
use super::median_node::median;
use super::near_ties::{BalanceTotals, NearTies};
use crate::node_load::NodeLoad;

/// Nodes copied together when one changes, several times a binding: 10 KB. Of 5,000 nodes there are
/// then 313 chunks in the list, which is copied too. Of 8, 16 and 32, this is the fastest for 5,000
/// nodes, and as fast as 8 for 500.
const CHUNK: usize = 16;

words! {
    /// The age of a measurement, and the value in its place.
    pub enum Freshness {
        /// Measured within the maximum age; used.
        Fresh = "fresh",
        /// Measured too long ago; the sum of demands is used instead.
        Stale = "stale",
        /// Never measured; the sum of demands is used instead.
        Absent = "absent",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeState {
    pub name: Arc<str>,
    /// Ready and not cordoned.
    pub schedulable: bool,
    /// Has a taint that keeps Pods without a toleration away.
    pub tainted: bool,
    pub load: NodeLoad,
    /// The expected use, beyond their demand, of Pods that warm up and are not measured yet. No
    /// part of the load.
    pub start_up: Resources<Amount>,
    /// The age of the measurement behind each load.
    pub freshness: Resources<Freshness>,
    /// Measurements keep coming but are old on arrival: a clock is off, or the source is late. The
    /// last one then counts as after an exporter's end.
    pub told_late: bool,
    pub detail: NodeDetail,
}

impl NodeState {
    /// Schedulable, and without a taint.
    pub const fn is_open(&self) -> bool {
        self.schedulable && !self.tainted
    }

    /// The load with what Pods may use while they warm up.
    pub fn load_at_start(&self) -> NodeLoad {
        let load = self.load.load;
        NodeLoad {
            load: Resources::from_fn(|of| load[of].saturating_add(self.start_up[of])),
            ..self.load
        }
    }

    fn has_start_up(&self) -> bool {
        self.start_up != Resources::default()
    }

    /// The most that Pods can have there. It stays when a measurement comes or grows stale, by which the
    /// capacity that loads are held against changes.
    fn claimable(&self) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| match resource {
            Resource::Cpu | Resource::Memory => self.detail.allocatable[resource],
            Resource::NetworkIo | Resource::DiskIo | Resource::Disk => self.load.capacity[resource],
        })
    }

    /// Part of the load is a sum of demands, because a resource of known capacity lacks a fresh
    /// measurement.
    pub fn is_estimated(&self) -> bool {
        self.load.capacity.iter().any(|(resource, known)| {
            known.is_some() && self.freshness[resource] != Freshness::Fresh
        })
    }

    /// True if a resource other than disk has a fresh measurement: disk may be measured apart from
    /// the others.
    pub(crate) fn has_fresh_measurement(&self) -> bool {
        let mut others = self
            .freshness
            .iter()
            .filter(|(resource, _)| *resource != Resource::Disk);
        others.any(|(_, freshness)| *freshness == Freshness::Fresh)
    }

    /// True if one of these resources was measured and is not any more.
    pub(crate) fn has_lost_measurement(&self, of: Resources<bool>) -> bool {
        let mut known = self.freshness.iter();
        known.any(|(resource, freshness)| of[resource] && *freshness == Freshness::Stale)
    }

    /// A measurement is fresh, or as new as the source has any.
    fn is_measured(&self) -> bool {
        self.told_late || self.has_fresh_measurement()
    }
}

/// Immutable, indexed by name.
#[derive(Debug, Clone, Default)]
pub struct NodeSet {
    chunks: Vec<Arc<Vec<NodeState>>>,
    index: Arc<HashMap<Arc<str>, usize, RandomState>>,
    version: u64,
    measured: usize,
    /// Nodes with Pods that warm up.
    warming_up: usize,
    /// Computed on first use, once per version.
    median: OnceLock<NodeLoad>,
    largest: LargestCapacities,
    /// Grows whenever a position gets another node.
    roster: u64,
    possible: BalanceTotals,
}

impl NodeSet {
    /// Grows with every change.
    pub const fn version(&self) -> u64 {
        self.version
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Nodes with a measurement other than disk that is fresh or was old on arrival.
    pub const fn measured(&self) -> usize {
        self.measured
    }

    /// Pods on some node may use more than their demand while they warm up.
    pub(crate) const fn is_warming_up(&self) -> bool {
        self.warming_up > 0
    }

    /// Median of the nodes that are open to every Pod.
    pub fn median(&self) -> NodeLoad {
        *self.median.get_or_init(|| {
            let open = self.iter().filter(|node| node.is_open());
            median(open.map(|node| &node.load))
        })
    }

    /// The most of each resource that Pods can have on any node; `None` if no node's is known.
    pub fn largest(&self) -> Resources<Option<Amount>> {
        self.largest.get()
    }

    /// Demand of Pods that are counted elsewhere and may be on the node at a position; `None`
    /// without any.
    pub fn possible(&self, position: usize) -> Option<Resources<Amount>> {
        self.possible.at(position)
    }

    /// Some Pod may be on another node than it is counted on.
    pub const fn is_in_doubt(&self) -> bool {
        !self.possible.is_none()
    }

    /// Nodes on which a Pod may be as well.
    pub fn near(&self, positions: impl IntoIterator<Item = usize>) -> NearTies {
        NearTies {
            roster: self.roster,
            positions: positions.into_iter().collect(),
        }
    }

    /// Valid for this version only.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// `position` comes from [`Self::position`].
    pub fn at(&self, position: usize) -> Option<&NodeState> {
        self.chunks
            .get(position / CHUNK)
            .and_then(|chunk| chunk.get(position % CHUNK))
    }

    pub fn get(&self, name: &str) -> Option<&NodeState> {
        self.at(self.position(name)?)
    }

    /// In the order of positions.
    pub fn iter(&self) -> impl Iterator<Item = &NodeState> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Counts a Pod as possible on some nodes; without effect if the roster has changed since.
    pub(super) fn doubt(&mut self, near: &NearTies, demand: &Resources<Amount>) {
        if near.roster == self.roster && !near.positions.is_empty() {
            self.possible.add(&near.positions, demand);
            self.version += 1;
        }
    }

    /// Reverts [`Self::doubt`].
    pub(super) fn settle(&mut self, near: &NearTies, demand: &Resources<Amount>) {
        if near.roster == self.roster && self.is_in_doubt() {
            self.possible.subtract(&near.positions, demand);
            self.version += 1;
        }
    }

    pub(super) fn put(&mut self, state: NodeState) {
        let Some(position) = self.position(&state.name) else {
            self.insert(state);
            return;
        };
        let Some(chunk) = self.chunks.get_mut(position / CHUNK) else {
            return;
        };
        let unchanged = chunk.get(position % CHUNK) == Some(&state);
        if !unchanged && let Some(place) = Arc::make_mut(chunk).get_mut(position % CHUNK) {
            let before = std::mem::replace(place, state.clone());
            self.discount(&before);
            self.count(&state);
            if before.claimable() != state.claimable() {
                self.largest.add(&state.claimable());
                self.outgrow(&before);
            }
        }
    }

    fn insert(&mut self, state: NodeState) {
        self.count(&state);
        self.largest.add(&state.claimable());
        let position = self.index.len();
        Arc::make_mut(&mut self.index).insert(Arc::clone(&state.name), position);
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(state),
            _ => self.chunks.push(Arc::new(vec![state])),
        }
    }

    /// The last node takes its place.
    pub(super) fn remove(&mut self, name: &str) {
        let Some(position) = self.position(name) else {
            return;
        };
        let Some(last) = self.pop() else { return };
        self.roster += 1;
        self.possible.clear();
        let index = Arc::make_mut(&mut self.index);
        index.remove(name);
        let place = self
            .chunks
            .get_mut(position / CHUNK)
            .and_then(|chunk| Arc::make_mut(chunk).get_mut(position % CHUNK));
        let removed = match place {
            Some(place) => {
                index.insert(Arc::clone(&last.name), position);
                std::mem::replace(place, last)
            }
            None => last,
        };
        self.discount(&removed);
        self.outgrow(&removed);
    }

    /// Removes a node's capacities from the largest ones.
    fn outgrow(&mut self, before: &NodeState) {
        self.largest.remove(&before.claimable());
        if self.largest.is_lost() {
            self.largest = self.iter().map(NodeState::claimable).collect();
        }
    }

    fn pop(&mut self) -> Option<NodeState> {
        let chunk = Arc::make_mut(self.chunks.last_mut()?);
        let last = chunk.pop();
        if chunk.is_empty() {
            self.chunks.pop();
        }
        last
    }

    fn count(&mut self, state: &NodeState) {
        self.version += 1;
        self.measured += usize::from(state.is_measured());
        self.warming_up += usize::from(state.has_start_up());
        self.median.take();
    }

    fn discount(&mut self, state: &NodeState) {
        self.version += 1;
        self.measured -= usize::from(state.is_measured());
        self.warming_up -= usize::from(state.has_start_up());
        self.median.take();
    }
}
