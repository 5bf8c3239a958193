//! The HorizontalPodAutoscaler of Kubernetes 1.36, whole, as pure functions ([HPA] of
//! docs/project/sources.md).
//!
//! [`reconcile()`] is one look of the controller at one HPA: from the spec, the previous status, the
//! scale of the target, its Pods, what is measured and what is remembered, to a replica count,
//! conditions, metric values and Events. Where the count changes, the write of the scale is its
//! second step ([`Rescale`]).
//!
//! It is Kubernetes' arithmetic to the letter, integer divisions and all, since what it says is held
//! against what the cluster's own controller does. These of its ways surprise:
//!
//! - The tolerance test is `1 - down <= ratio <= 1 + up` in floats: with 0.1 the ratio 1.1 is
//!   inside, which `|1 - ratio| <= 0.1` would refuse.
//! - Utilisation is cut off to whole percents, and a mean to whole thousandths, before the ratio to
//!   the target is taken.
//! - A tolerance of an HPA is the digits of its quantity times a power of ten, as a float: `0.29`
//!   and `290m` may differ in the last place ([`Quantity::approximate_f64`]).
//! - A negative sum of an external metric with a target per Pod counts as an overflow, and so as the
//!   largest integer; with a target for the total it stays negative and asks for no replica.
//! - Results for a total are capped at the largest count, those for an object per Pod are not: Go's
//!   conversion of a float that does not fit depends on the processor. Here all conversions of
//!   floats saturate, and sums of integers wrap around as in Go.
//! - A proposal of 0 gives way to any other, even to a negative one.
//! - With 0 replicas and a target per Pod the value in the status is infinite in Kubernetes; here it
//!   is the largest integer.
//! - The error of an object metric mixes up its arguments: `unable to get metric X: Kind on
//!   namespace name/error`. An object metric with a target per Pod is called an external one, and
//!   selectors are worded as Go prints structures.
//! - An HPA that shares Pods with another one computes nothing (`AmbiguousSelector`).
//! - A change by a window or a bound alone gives an Event without a reason.
//! - A recommendation exactly as old as its window still counts without `behavior`, and not with it.
//!
//! [`Quantity::approximate_f64`]: evenkeel_quantity::Quantity::approximate_f64

pub mod autoscaler;
mod basis;
mod behavior;
pub mod behavior_text;
mod error;
mod events;
pub mod explanation;
mod groups;
mod limits;
mod memory;
mod metrics;
mod normalize;
mod outcome;
mod pod_values;
mod readings;
pub mod reconcile;
pub mod reconciler;
mod reconciliation;
mod replicas;
mod requests;
mod rescale;
mod scale_to_zero;
mod selector;
mod settings;
mod spec;
mod status;
pub mod target_metrics;
mod target_state;
mod trace;

pub use basis::{PodTrace, ProposalBasis, ProposalRule};
pub use behavior::{
    Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, ScalingRules, SelectPolicy,
};
pub use error::{ReadError, ReplicasError};
pub use events::{ScaleEvent, ScaleEvents};
pub use groups::{PodGroup, PodGroups, Startup};
pub use limits::{legacy_scale_up_limit, scale_down_limit, scale_up_limit};
pub use memory::{HpaMemory, TimedRecommendation};
pub use metrics::resource_quantity;
pub use normalize::{LimitedReplicas, NormalizedReplicas, Normalizer};
pub use outcome::{Action, HpaOutcome, ReconcileError};
pub use pod_values::ByPod;
pub use readings::Readings;
pub use reconcile::{ReconcileStep, reconcile, reconcile_traced};
pub use reconciler::{ReconcileResult, Reconciler};
pub use replicas::{
    MetricProposal, ReplicaCalculator, TargetUsage, metric_usage, resource_utilization,
};
pub use requests::{request, requests};
pub use rescale::{AfterWrite, Rescale};
pub use scale_to_zero::{Zero, ZeroReplicas, zero_replicas};
pub use settings::{Controller, FeatureGates, Settings};
pub use spec::{HorizontalPodAutoscaler, HpaSpec, MetricSpec, Tolerances};
pub use status::{
    ConditionReason, ConditionType, CurrentValue, EventType, HpaCondition, HpaEvent, HpaStatus,
    MetricStatus,
};
pub use target_state::{ObservedTarget, ScaleError, ScaleWriteError, TargetScale};
pub use trace::{DecisionTrace, MetricTrace};

#[cfg(test)]
mod tests;
