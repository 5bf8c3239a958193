//! The HPA algorithm against what Kubernetes 1.36 itself came to, function by function and for whole
//! reconciliations.
//!
//! The cases are those of `tests/fixtures/vectors/hpa`, and those below the folders that
//! `EVENKEEL_EXTRA_VECTORS` names. Each function has a test, which prints how many cases it ran and
//! shows those that came out differently.

#![allow(missing_docs)]
#![allow(clippy::print_stdout)] // how many cases ran is part of what these tests report

#[path = "scaling_conformance/behavior.rs"]
mod behavior;
#[path = "scaling_conformance/cases.rs"]
mod cases;
#[path = "scaling_conformance/pods.rs"]
mod pods;
#[path = "scaling_conformance/reconcile.rs"]
mod reconcile;
#[path = "scaling_conformance/replicas.rs"]
mod replicas;
#[path = "scaling_conformance/rules.rs"]
mod rules;
#[path = "scaling_conformance/sequence.rs"]
mod sequence;

macro_rules! functions {
    ($($function:ident => $check:path;)*) => {
        /// The functions that there are cases of.
        const FUNCTIONS: &[&str] = &[$(stringify!($function)),*];

        $(
            #[test]
            fn $function() {
                cases::run(stringify!($function), $check);
            }
        )*
    };
}

functions! {
    build_quantity => behavior::build_quantity;
    calculate_requests => replicas::calculate_requests;
    calculate_scale_down_limit_with_behaviors => behavior::scale_down_limit;
    calculate_scale_up_limit_with_scaling_rules => behavior::scale_up_limit;
    convert_desired_replicas_with_behavior_rate => behavior::limit;
    convert_desired_replicas_with_rules => behavior::limit_without_behavior;
    default_behavior => behavior::default_behavior;
    get_replicas_change_per_period => behavior::change_per_period;
    group_pods => replicas::group_pods;
    metric_usage_ratio => replicas::metric_usage_ratio;
    normalize_desired_replicas => behavior::normalize;
    normalize_desired_replicas_with_behaviors => behavior::normalize;
    reconcile => reconcile::check;
    replicas => replicas::check;
    resource_utilization_ratio => replicas::resource_utilization_ratio;
    sequence => sequence::check;
    should_compute_metrics_for_zero_replicas => behavior::zero_replicas;
    stabilize_recommendation => behavior::stabilize_without_behavior;
    stabilize_recommendation_with_behaviors => behavior::stabilize;
    store_scale_event => behavior::store_scale_event;
    tolerances_for_hpa => behavior::tolerances;
}
