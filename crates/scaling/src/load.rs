//! The load of a target: the sum over the Pods that serve, how long capacity for it takes, and the Pods that it needs.

pub mod horizon;
pub mod hpa_aware;
pub mod observation;
pub mod serving_pods;
pub mod sum;
