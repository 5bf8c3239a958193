//! The handlers of admission and of the scheduler extender: from a request's body to the pure
//! decision and back.
//!
//! A handler takes the newest snapshot once, decides on it, records the decision for explanations,
//! and answers. Nothing is awaited after the body is read.

mod admission;
mod answer;
mod choices;
mod decisions;
mod extender;
mod fail_open;
mod metrics;
mod routes;
mod state;

pub(crate) use answer::json_body;
pub use metrics::Metrics;
pub use routes::Settings;
pub use state::Handlers;
