//! The scaling loop.

pub mod board;
pub mod metrics;
pub mod refill;

pub use board::Board;
pub use metrics::Metrics;
