//! The parts that commands share: tables and other output, files and connections of clusters.

#![allow(clippy::missing_errors_doc)] // a part of the program: each error says what failed

pub mod cluster_args;
pub mod cluster_file;
pub mod explanation;
pub mod help;
pub mod output;
pub mod pod_file;
pub mod resource_units;
pub mod runtime;
pub mod score_label_table;
pub mod service_api;
pub mod settings;
