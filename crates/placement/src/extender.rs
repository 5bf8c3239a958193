//! The scheduler extender: filters nodes by headroom for a Pod, and scores them by balance. A call
//! is a function of the request, one `Snapshot` and the policy. If Evenkeel cannot judge (no
//! opt-in, missing data), every node passes with no preference.

pub mod bind_notice;
pub mod candidate_nodes;
pub mod decide;
pub mod explain;
pub mod filter_cache;
mod node_name;
pub mod placement_rules;
pub mod preempt;
mod refusal;
pub mod wire;

pub use candidate_nodes::CandidateNodes;
pub use decide::{FilterResult, PrioritizeResult};
pub use filter_cache::VerdictCache;
pub use placement_rules::{Exemption, PlacementContext};
pub use refusal::{REFUSAL, refused_since};
pub use wire::{ExtenderRequest, WireError};
