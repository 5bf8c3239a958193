//! Resource profiles: the resource that a Pod leans on most, seen against what the nodes have left
//! (`[CLBP]` (4.2) and (4.3)), and the weights by which nodes are compared for it.
//!
//! `[CLBP]` has weights for memory but no rule that finds it; here memory is taken when no other
//! resource is dominant and its own share reaches the threshold.

mod classification;
mod kind;
mod table;
mod weights;

pub use classification::{Classification, classify};
pub use kind::{Profile, UnknownProfile};
pub use table::{ProfileChoice, ProfileTable};
pub use weights::{Weights, WeightsError, judgements};
