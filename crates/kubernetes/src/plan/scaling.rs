//! The scaling of targets: from the observed objects to the writes that the decisions ask for.
//!
//! [`resolve`] finds the targets and the policy of each in the [`Observed`] objects; after the tick
//! of a target [`plan`] brings its object in line: bounds with the record of whose they are
//! ([`bounds`]), the status ([`status`], [`conditions`]) where its [`sink`] is, and Events.

mod beside;
pub mod bounds;
mod capacity;
pub mod conditions;
pub mod contest;
mod context;
pub mod crons;
mod direct;
mod event_pauses;
mod events;
mod hpa_input;
pub mod ihpa;
mod ihpa_memory;
mod known_pods;
mod memory;
mod observed;
mod observed_profiles;
pub mod owner;
mod portraits;
mod problem;
mod quarantine;
mod query;
pub mod refill;
mod requested;
mod scale_in;
mod scalers;
mod settings;
pub mod sink;
pub mod status;
mod target;
mod target_ref;
mod targets;
mod told;
mod traffic;
mod turns;
mod writes;

pub use capacity::counted_by;
pub use context::Context;
pub use hpa_input::{HpaInput, MeasuredValue, Told};
pub use known_pods::MissingPods;
pub use memory::PlanMemory;
pub use observed::{Observed, Pods};
pub use observed_profiles::ObservedProfiles;
pub use portraits::{Subject, TargetCheck, TargetPortraits};
pub use problem::{HeldBack, Problem};
pub use quarantine::Quarantine;
pub use query::{Question, tells_of_the_past};
pub use scale_in::{Lowering, ScaleIn, scale_in};
pub use scalers::Scalers;
pub use settings::{Queries, Settings};
pub use target::{Learned, Target, TargetReaction};
pub use target_ref::TargetRef;
pub use targets::{Resolved, conflicts, resolve};
pub(super) use told::sleeps;
pub use told::told;
pub use traffic::TargetTraffic;
pub use turns::take_turns;
pub use writes::{follow, plan, restore};

#[cfg(test)]
mod tests;
