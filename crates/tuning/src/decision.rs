//! Tuning in place: what the limits of running containers should be by what they use.
//!
//! `[CLBP] 4.5` aims at the mean of five one-minute samples, widened or narrowed by an elasticity
//! ([`target()`]). Taken alone that would set limits below what a container has just used, so bounds come
//! first, each with its reason ([`decide()`]). Every ten minutes it is the turn ([`is_turn_of()`]) of those Pods
//! of each node that use the most of it ([`HighestPods`]), as far as there is [`ResourceBudget`], and of no workload that a
//! scaling decision is about ([`HpaActivity`]).

mod bounds;
mod disk_limit;
mod highest_pods;
mod hpa_interference;
mod limit_step;
mod node_stagger;
mod resource_budget;
mod resource_decision;
mod samples;
mod standby;
pub mod target;
mod template_recommendation;

pub use bounds::{Bound, Range, TuningBounds};
pub use disk_limit::{DiskLimitBounds, disk_limit};
pub use highest_pods::{HighestPod, HighestPods, PER_NODE};
pub use hpa_interference::{HpaActivity, is_called_for};
pub use node_stagger::is_turn_of;
pub use resource_budget::{ResourceBudget, ResourceGrants};
pub use resource_decision::{TuningDecision, TuningInput, TuningSkipReason, decide};
pub use samples::{MinuteSamples, SAMPLES, SampleWindow};
pub use standby::StandbyRequest;
pub use target::{AT_LIMIT, Elasticity, ElasticityError, STEADY, Trend, target};
pub use template_recommendation::{ContainerHistory, Percentiles, TemplateRecommendation, lasting};

#[cfg(test)]
mod tests;
