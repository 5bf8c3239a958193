//! Where a Pod may go and where it is best: the headroom rule, the balance score, and the node
//! table that both read.
//!
//! The rules are those of the strategy ClusterLoadBalancePriority (`[CLBP]`). Everything here is a
//! function of its arguments; the numbers come from the service's view of the cluster.

pub mod balance;
pub mod deletion_cost;
pub mod deletion_order;
pub mod headroom;
pub mod in_tree;
pub mod interfaces;
pub mod node_forecast;
mod node_load;
pub mod node_table;
pub mod overload;
mod policy;
pub mod preemption;
pub mod ranking;
mod unmeasured;
pub mod usage;
pub mod usage_history;
mod window;

pub use node_load::NodeLoad;
pub use policy::{NoHeadroom, Policy, UnknownNoHeadroom};
pub use unmeasured::{SELDOM_DEMANDED, scored_loads};
pub use window::NodesToScore;
