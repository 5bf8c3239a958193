//! The loops around the live cluster, and the one leader-checked writer that serves them.

pub mod leadership;
pub mod metrics;
pub mod switch;
pub mod writer;

pub use leadership::{Elector, Leadership};
pub use metrics::Metrics;
pub use switch::WriteSwitch;
pub use writer::{WriteQueue, Writer};
