//! The HorizontalPodAutoscaler of Kubernetes as pure functions: how many replicas a metric asks for,
//! and what becomes of that by stabilisation and scaling policies.
//!
//! Kubernetes' own arithmetic to the letter, integer divisions and all, in the order of its 1.36
//! controller; the words of conditions are its words. Values are in thousandths of their unit.

mod normalize;
mod replicas;

pub use normalize::{History, Limits, Normalized};
pub use replicas::{
    Measured, NoProposal, PodPhase, PodState, Proposal, Readiness, Settling, Target, Tolerance,
    propose,
};

/// A condition's reason and message.
pub type Reason = (&'static str, &'static str);
