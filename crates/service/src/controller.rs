//! The loops around the live cluster, and the one leader-checked writer that serves them.

pub mod external_portraits;
#[cfg(test)]
pub(crate) mod fake_api;
mod hours_ahead;
pub mod leader_rounds;
pub mod leadership;
pub mod metrics;
pub mod online_conditions;
mod overload;
mod profiles;
mod queue;
mod scale_in;
pub mod scaling;
mod score_labels;
pub mod switch;
pub mod tuning;
mod work;
pub mod writer;

pub use external_portraits::ExternalPortraits;
pub use hours_ahead::HoursAheadLoop;
pub use leader_rounds::Rounds;
pub use leadership::{Elector, Leadership, Replica};
pub use metrics::ControllerMetrics;
pub use online_conditions::OnlineConditions;
pub use overload::OverloadWatch;
pub use queue::WriteQueue;
pub use scale_in::ScaleIns;
pub use switch::{WriteSwitch, Writes};
pub use tuning::TuningLoop;
pub use writer::Writer;
