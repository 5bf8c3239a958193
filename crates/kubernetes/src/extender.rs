//! The scheduler extender: which nodes have headroom for a Pod, and where it is best for balance.
//!
//! A call is a function of the request, one [`Snapshot`] and the [`Policy`]. Whatever keeps it
//! from judging (a namespace that has not opted in, missing data) lets every node pass with no
//! preference, so that the scheduler goes on as if Evenkeel were not there.

pub mod decide;
pub mod explain;
pub mod judgement;
mod node_name;
pub mod verdicts;
pub mod wire;

pub use decide::{Filtered, Prioritized};
pub use judgement::{Call, Judgement, Pass};
pub use verdicts::VerdictCache;
pub use wire::{REFUSAL, Request, WireError};
