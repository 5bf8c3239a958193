//! The targets of scaling: the policy, the signals and the bounds of each, resolved from the objects that the watches
//! hold ([`target_objects`]), or the problem for which it is refused.

pub mod bound_setters;
pub mod bounds;
pub mod capacity;
pub mod history_backfill;
pub mod hpa_input;
pub mod observed_profiles;
pub mod owner;
pub(crate) mod portraits;
pub mod problem;
pub mod reference;
mod requested_policy;
pub mod resolve;
pub mod scaled_object;
pub mod scalers;
pub mod scaling_target;
pub(crate) mod schedules;
pub mod settings;
pub mod signal_query;
pub mod target_objects;
pub(crate) mod traffic;
