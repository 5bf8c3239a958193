//! The service: clients, sockets and tasks around the decisions of the other crates.

#![allow(clippy::missing_errors_doc)] // a part of the program: each error says what failed

pub mod account_tokens;
pub mod agent;
pub mod aggregation;
pub mod annotation_check;
pub mod api;
pub mod certificates;
pub mod cluster;
pub mod config;
pub mod controller;
pub mod dashboard;
pub mod external_checks;
pub mod external_metrics;
pub mod hpa_reader;
pub mod kubeconfig;
pub mod lifecycle;
pub mod metrics;
pub mod metrics_provider;
pub mod server;
pub mod span_export;
pub mod telemetry;
pub mod uninstall;
pub mod uninstall_plan;
pub mod watched_types;
