//! The scheduler extender: filters nodes by headroom for a Pod, and scores them by balance.
//!
//! A call is a function of the request, one [`Snapshot`] and the [`Policy`]. Whatever keeps it
//! from judging (a namespace that has not opted in, missing data) lets every node pass with no
//! preference, so that the scheduler goes on as if Evenkeel were not there.

pub mod asked;
pub mod bind;
pub mod decide;
pub mod explain;
pub mod judgement;
mod node_name;
pub mod preempt;
mod refusal;
pub mod verdicts;
pub mod wire;

pub use asked::Asked;
pub use decide::{Filtered, Prioritized};
pub use judgement::{Call, Exemption};
pub use refusal::{REFUSAL, refused_since};
pub use verdicts::VerdictCache;
pub use wire::{Request, WireError};
