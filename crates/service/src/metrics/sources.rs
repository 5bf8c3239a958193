//! The sources of measured usage.

pub mod metrics_api;
mod none;
pub mod prometheus;

pub use self::none::NoMetrics;
