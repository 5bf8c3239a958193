//! Scaling: how many replicas a target is to have, from the usage of its Pods to one decision.
//!
//! Everything is a function of policy, state and observation, `now` among them, so that the same
//! history gives the same decisions to the last bit. Prediction only adds to what reacts to the
//! load as it is now, moves no faster than the target's scaleUp policies, and does nothing on data
//! that is missing or stale. A raised floor comes down by the target's scaleDown rules alone.
//!
//! The way of the numbers: [`targets`] resolves policy and signals of each target from its objects,
//! [`load`] sums the load of each signal over the Pods, [`state`] remembers it and asks the models,
//! and [`recommend`] turns load and forecasts into a decision within the [`limits`]. [`merge`] and
//! [`bounds_record`] make the bounds of an object of it, [`status`] shows it, and [`writes`] puts all
//! into requests. [`tick`] runs this for all targets, with [`crons`] and [`ihpa`] beside.

pub mod bounds_record;
pub mod counterfactual;
mod crons;
pub mod external;
pub mod ihpa;
pub mod limits;
pub mod load;
pub mod merge;
pub mod migration;
pub mod recommend;
pub mod specs;
mod stability;
pub mod staged_change;
pub mod state;
pub mod status;
pub mod targets;
pub mod tick;
pub mod writes;
