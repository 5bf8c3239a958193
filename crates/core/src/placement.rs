//! Where a Pod may go and where it is best: the headroom rule, the balance score, and the node
//! table that both read.
//!
//! The rules are those of the strategy ClusterLoadBalancePriority (`[CLBP]`). Everything here is a
//! function of its arguments; the numbers come from the service's view of the cluster.

pub mod balance;
pub mod bound_pod;
mod candidate_loads;
pub mod deletion_cost;
pub mod deletion_order;
pub mod headroom;
pub mod interfaces;
pub mod kube_scheduler_scores;
pub mod no_headroom;
pub mod node_facts;
mod node_load;
mod node_sampling;
pub mod node_table;
pub mod overload;
mod policy;
pub mod preemption;
pub mod ranking;
pub mod usage;
pub mod usage_history;

pub use candidate_loads::{SELDOM_DEMANDED, scored_loads};
pub use node_load::NodeLoad;
pub use node_sampling::NodesToScore;
pub use policy::{NoHeadroom, SchedulingPolicy, UnknownNoHeadroom};
