//! The scaling loop.

pub mod board;
pub mod metrics;
pub mod refill;
pub mod samples;
pub mod trace;

pub use board::Board;
pub use metrics::Metrics;
pub use samples::Samples;
pub use trace::Traces;
