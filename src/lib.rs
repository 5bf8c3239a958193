//! Evenkeel keeps a Kubernetes cluster on an even keel: it classifies Pods at admission, steers
//! kube-scheduler by real load over five resources, and runs the loops around both. This crate is
//! the service and its command line: clients, sockets and tasks. Decisions are pure, in a crate
//! for each domain.

#![forbid(unsafe_code)]

pub mod account_tokens;
pub mod agent;
pub mod aggregation;
pub mod annotation_check;
pub mod api;
pub mod certificates;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod controller;
pub mod dashboard;
pub mod doctor;
pub mod external_checks;
pub mod external_metrics;
mod kubeconfig;
pub mod metrics;
pub mod metrics_provider;
pub mod server;
pub mod service;
pub mod telemetry;
pub mod uninstall;
pub mod uninstall_plan;
pub mod watched_types;
