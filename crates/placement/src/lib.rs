//! Where a Pod may go and where it is best: the headroom rule, the balance score, and the node table that
//! both read; the profile that admission gives a Pod, and the extender's requests.
//!
//! The rules are those of the strategy ClusterLoadBalancePriority (`[CLBP]`). Everything here is a function of
//! its arguments; the numbers come from the service's view of the cluster.

pub mod admission;
pub mod ahp;
pub mod balance;
mod candidate_loads;
pub mod deletion_cost;
pub mod deletion_order;
pub mod demand;
pub mod extender;
pub mod headroom;
pub mod imbalance;
pub mod interfaces;
pub mod kube_scheduler_scores;
mod node_load;
mod node_sampling;
pub mod node_table;
pub mod overload;
pub mod plan;
mod policy;
pub mod preemption;
pub mod profile;
pub mod ranking;
pub mod removable_pod;
pub mod scheduler_lease;
pub mod score_labels;
pub mod score_term_rules;
pub mod snapshot;
pub mod start_up;
pub mod usage_history;

pub use candidate_loads::SELDOM_DEMANDED;
pub use node_load::NodeLoad;
pub use node_sampling::NodesToScore;
pub use policy::SchedulingPolicy;
