//! The handlers of admission and of the scheduler extender: from a request's body to the pure
//! decision and back. A handler takes the newest snapshot once, decides on it, records the decision
//! for explanations, and answers. Nothing is awaited after the body is read.

mod admission;
mod answer;
mod bind_wait;
mod extender;
mod fail_open;
mod metrics;
mod recent_decisions;
mod routes;
mod spans;
mod state;

pub(crate) use answer::json_body;
pub use metrics::HandlerMetrics;
pub(crate) use recent_decisions::KEPT as PLACEMENTS_KEPT;
pub use routes::Settings;
pub use state::Handlers;
