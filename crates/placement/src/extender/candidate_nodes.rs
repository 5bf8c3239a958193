//! The nodes that kube-scheduler asks about, found among those that are known.

use std::borrow::Cow;

use crate::node_table::NodeSet;

/// The position of each requested node in a [`NodeSet`], in request order. Kept with an answer,
/// because to look up thousands of names takes longer than to judge the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CandidateNodes(Box<[Option<usize>]>);

impl CandidateNodes {
    /// Looks up `names`; one that is not known has no position.
    pub fn of(names: &[Cow<'_, str>], nodes: &NodeSet) -> Self {
        Self(names.iter().map(|name| nodes.position(name)).collect())
    }

    /// For each node asked about its position, `None` where it is not known.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<usize>> + '_ {
        self.0.iter().copied()
    }

    /// The position of the node that was asked about as number `number`.
    pub fn get(&self, number: usize) -> Option<usize> {
        self.0.get(number).copied().flatten()
    }
}
