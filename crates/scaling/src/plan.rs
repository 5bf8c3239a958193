//! The scaling of targets: from the observed objects to the writes that the decisions ask for.
//!
//! [`resolve`] finds the targets and the policy of each in the [`TargetObjects`]. After the tick of a
//! target, [`plan`] writes its bounds with their record ([`bounds`]), its Events, and its status
//! ([`status`], [`conditions`]) in an annotation.

pub mod bounds;
mod capacity;
pub mod conditions;
pub mod contest;
pub mod crons;
mod direct_mode;
mod events;
mod fairness;
pub mod history_backfill;
mod hpa_input;
pub mod ihpa;
mod last_status;
mod memory;
mod observed_profiles;
pub mod owner;
mod pod_coverage;
mod portraits;
mod problem;
mod quarantine;
mod query;
mod requested_policy;
mod scale_in;
mod scalers;
pub mod scaling_status;
mod schedules;
mod settings;
mod stale_metadata;
pub mod status;
mod target;
mod target_objects;
mod target_ref;
mod targets;
pub mod tick;
mod traffic;
mod writes;

pub use capacity::counted_by;
pub use evenkeel_objects::plan::context::PlanContext;
pub use fairness::take_turns;
pub use hpa_input::{HpaInput, LastStatus, MeasuredValue};
pub use last_status::sleeps;
pub use last_status::told;
pub use memory::PlanMemory;
pub use observed_profiles::ObservedProfiles;
pub use pod_coverage::PodCoverage;
pub use portraits::{CheckSubject, TargetCheck, TargetPortraits};
pub use problem::{HeldBack, TargetProblem};
pub use quarantine::Quarantine;
pub use query::{SignalQuerySource, tells_of_the_past};
pub use scale_in::{PendingScaleIn, ScaleInWrite, scale_in};
pub use scalers::Scalers;
pub use settings::{Queries, Settings};
pub use target::{ScalingTarget, TargetReaction};
pub use target_objects::{TargetObjects, TargetPodFacts};
pub use target_ref::TargetRef;
pub use targets::{ResolvedTarget, conflicts, resolve};
pub use traffic::TargetTraffic;
pub use writes::{follow, plan, restore};

#[cfg(test)]
mod tests;
