//! `traffic`: the utilisation of a target's Pods from the traffic that they take.
//!
//! The Linear-Residual model [IHPA]: a linear model L with coefficients of at least 0
//! ([`ElasticNet`]) computes the utilisation from each kind of traffic per replica, ŷ_l = L(x).
//! Boosted trees R correct it from ŷ_l and the time ω, for example for a job that runs each Sunday;
//! the utilisation is ŷ_l + R(ŷ_l, ω). In L, less traffic per replica never means more utilisation.
//! The module `traffic` of `evenkeel-scaling` can therefore compute the replicas that the traffic needs.
//!
//! It needs two days of all columns at any distance, and a week or better several for weekly
//! events. An answer takes some microseconds, a model 20 KB.
//!
//! [`ElasticNet`]: super::ElasticNet

mod file;
mod function;
mod model;

pub use file::{TRAFFIC_VERSION, TrafficModelError};
pub use function::{CalendarInputs, LinearResidual, RESIDUAL_INPUTS};
pub use model::{HeldOutDay, TrafficModel};
