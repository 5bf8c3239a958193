//! The scheduler extender: filters nodes by headroom for a Pod, and scores them by balance.
//!
//! A call is a function of the request, one [`Snapshot`] and the [`Policy`]. Whatever keeps it
//! from judging (a namespace that has not opted in, missing data) lets every node pass with no
//! preference, so that the scheduler goes on as if Evenkeel were not there.

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
