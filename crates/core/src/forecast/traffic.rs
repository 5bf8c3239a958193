//! `traffic`: the utilisation of a target's Pods from the traffic that they take.
//!
//! The Linear-Residual model [IHPA]. A linear model L with coefficients of at least 0 ([`ElasticNet`]) tells the
//! utilisation from each kind of traffic per replica, ŷ_l = L(x); boosted trees R tell what it misses from its answer
//! and the time, ê = R(ŷ_l, ω), such as a job that runs each Sunday; the utilisation is ŷ_l + ê. Of L, less
//! traffic per replica never means more utilisation, which is what makes it possible to ask for the
//! replicas that traffic needs ([`crate::scaling::traffic`]).
//!
//! Needs two days of all of its columns at any distance; a week, and better several, before it knows what happens
//! once a week. An answer takes some microseconds, a model 20 KB.
//!
//! [`ElasticNet`]: super::ElasticNet

mod file;
mod function;
mod model;

pub use file::{TRAFFIC_VERSION, TrafficModelError};
pub use function::{CalendarInputs, LinearResidual, RESIDUAL_INPUTS};
pub use model::{HeldOutDay, TrafficModel};
