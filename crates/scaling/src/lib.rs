//! Scaling: how many replicas a target is to have, from the usage of its Pods to one decision.
//!
//! Everything is a function of policy, state and observation, `now` among them, so that the same
//! history gives the same decisions to the last bit. Prediction only adds to what reacts to the
//! load as it is now, moves no faster than the target's scaleUp policies, and does nothing on data
//! that is missing or stale. A raised floor comes down by the target's scaleDown rules alone.
//!
//! The way of the numbers: [`observation`] sums the load of each signal over the Pods,
//! [`tracker`] remembers it and asks the models, [`decide()`] turns load and forecasts into a
//! [`ScalingDecision`], and [`merge`] and [`bounds_record`] into the bounds of an object.

pub mod bounds_annotation;
pub mod bounds_record;
mod contest;
pub mod contributions;
pub mod cost_benefit;
pub mod counterfactual;
pub mod cron_hpa;
pub mod decide;
mod decision;
mod decision_basis;
pub mod ds_hpa;
mod expected_load;
pub mod external_check;
pub mod external_metrics;
pub mod external_portraits;
pub mod fit_times;
pub mod history_backfill;
pub mod horizon;
pub mod horizontal_portrait;
pub mod hpa_aware;
pub mod ihpa;
mod input;
mod limit;
pub mod load_query;
pub mod load_sum;
pub mod measurement_dedup;
pub mod merge;
mod merged_portraits;
pub mod migration;
pub mod observation;
pub mod opt_in_notice;
pub mod pareto_frontier;
pub mod plan;
mod policy;
pub mod portrait;
pub mod portrait_check;
pub mod portrait_job;
pub mod query_answers;
mod reason;
pub mod recommendation;
mod scale_down;
pub mod scaled_object;
pub mod scaling_policy;
pub mod serving_pods;
pub mod stability;
pub mod staged_change;
pub mod tick_schedule;
pub mod tracker;
pub mod traffic;
mod traffic_fit;
mod traffic_need;
pub mod traffic_query;

pub use contest::{Contest, ContestPause};
pub use decide::{DecisionState, decide};
pub use decision::{Floor, ScalingDecision};
pub use decision_basis::DecisionBasis;
pub use expected_load::{ExpectedLoad, LoadBasis};
pub use input::{DecisionInput, LoadEstimate, Prediction, SignalLoad};
pub use limit::{LimitedBy, scale_up_limit};
pub use merged_portraits::{
    CheckInput, MergedPortraits, PortraitInput, ProviderRef, StabilityCheck,
};
pub use policy::{Strategy, TargetPolicy};
pub use traffic_fit::{AcceptedTraffic, TrafficFit, TrafficRefusal};
pub use traffic_need::{TrafficLack, TrafficNeed, TrafficOfKind, TrafficStanding};
