//! The numbers and decisions of Evenkeel: where a Pod may go, what a load will be, how many replicas
//! it takes.
//!
//! Everything is a function of its arguments: no Kubernetes types, no wire formats, no client, no
//! clock. Time is passed in, and the same input gives the same output.

#![forbid(unsafe_code)]

pub mod ahp;
pub mod fnv;
pub mod forecast;
pub mod max_age;
pub mod panic_error;
pub mod placement;
pub mod profile;
pub mod random;
pub mod scaling;
pub mod tuning;
pub mod units;
