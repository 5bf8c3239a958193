//! Evenkeel keeps a Kubernetes cluster on an even keel: it classifies Pods at admission, steers
//! kube-scheduler by real load over five resources, and runs the loops around both. This crate is
//! the command line. The service is in `evenkeel-service`.

#![forbid(unsafe_code)]

pub mod commands;
pub mod doctor;
