//! Where a Pod may go and where it is best: the headroom rule, the balance score, and the node
//! table that both read.
//!
//! Source: the ClusterLoadBalancePriority strategy (Zhao, "elastic scheduling", chapter 4).
//! Everything here is a function of its arguments; the numbers come from the cluster modules.

pub mod balance;
pub mod headroom;
pub mod node_table;
pub mod policy;
pub mod usage;

pub use policy::{NoHeadroom, Policy};

use crate::units::{Amount, Resources};

/// What a rule needs to know of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeLoad {
    /// T: the most the node can give; `None` where it is not known, and then the resource takes
    /// no part in any rule.
    pub capacity: Resources<Option<Amount>>,
    /// N: what the node uses now, Pods that are still starting included.
    pub load: Resources<Amount>,
}
