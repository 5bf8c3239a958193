//! The loops around the live cluster, and the one leader-checked writer that serves them.

pub mod certificates;
#[cfg(test)]
mod fake_api;
pub mod leadership;
pub mod metrics;
pub mod rounds;
pub mod scaling;
pub mod switch;
pub mod writer;

pub use certificates::SelfManaged;
pub use leadership::{Elector, Leadership};
pub use metrics::Metrics;
pub use rounds::Rounds;
pub use switch::WriteSwitch;
pub use writer::{WriteQueue, Writer};
