//! The commands that the image lacks: simulation, forecasts, training, benchmarks, and recommendations from recorded use.

#![allow(clippy::missing_errors_doc)] // a part of the program: each error says what failed

pub mod assess;
pub mod bench;
pub mod dev;
pub mod forecast;
mod prometheus_history;
pub mod record;
mod replay;
mod scenario_file;
pub mod simulate;
pub mod tune;
