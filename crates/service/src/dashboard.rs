//! The dashboard's listener: read-only JSON about scaling and placement, and a list of its paths.
//! It reads the states that the loops and handlers leave behind, and waits for neither. It does not
//! authenticate callers, so it listens on loopback, and answers to [`Hosts`] only.

mod explain;
mod hosts;
mod index;
mod query;
mod scaling;

pub use explain::explanations;
pub use hosts::Hosts;
pub use index::index;
pub use scaling::DashboardScalingState;
