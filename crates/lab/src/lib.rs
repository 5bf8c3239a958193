//! The commands that try Evenkeel out: simulated clusters, forecasts of files, comparisons and benchmarks.

#![allow(clippy::missing_errors_doc)] // a part of the program: each error says what failed

pub mod assess;
pub mod bench;
pub mod dev;
pub mod forecast;
mod prometheus_history;
mod scenario_file;
pub mod simulate;
pub mod tune;
