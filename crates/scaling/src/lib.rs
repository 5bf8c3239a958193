//! Scaling: how many replicas a target is to have, from the usage of its Pods to one decision.
//!
//! Everything is a function of policy, state and observation, `now` among them, so that the same
//! history gives the same decisions to the last bit. Prediction only adds to what reacts to the
//! load as it is now, moves no faster than the target's scaleUp policies, and does nothing on data
//! that is missing or stale. A raised floor comes down by the target's scaleDown rules alone.
//!
//! A load passes these modules. [`specs`] checks the specs and annotations of users. [`targets`] resolves
//! the policy and signals of each target. [`load`] adds up each signal over the Pods. [`tracker`] keeps its
//! history and runs the models. [`recommend`] decides within [`limits`]; [`counterfactual`] tells whether
//! floors are worth their cost. [`staged_change`] and [`stability`] split a change into checked steps.
//! [`merge`] combines all recommendations, and [`bounds_record`] keeps the user's own bounds. [`status`]
//! reports the decision, and [`writes`] plans the requests. [`tick`] runs all of this for every target;
//! [`crons`] and [`ihpa`] plan their kinds. [`external_checks`], [`external_metrics`] and
//! [`horizontal_portraits`] serve other programs, and [`migration`] converts
//! manifests of other products.

pub mod bounds_record;
pub mod counterfactual;
mod crons;
pub mod external_checks;
pub mod external_metrics;
pub mod horizontal_portraits;
pub mod ihpa;
pub mod limits;
pub mod load;
pub mod merge;
pub mod migration;
pub mod recommend;
pub mod specs;
mod stability;
pub mod staged_change;
pub mod status;
pub mod targets;
pub mod tick;
pub mod tracker;
pub mod writes;
