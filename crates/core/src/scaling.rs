//! Scaling: how many replicas a target is to have, from the usage of its Pods to one decision.
//!
//! Everything is a function of policy, state and observation, `now` among them, so that the same
//! history gives the same decisions to the last bit. Prediction only adds to what reacts to the
//! load as it is now, moves no faster than the target's scaleUp policies, and does nothing on data
//! that is missing or stale. A raised floor comes down by the target's scaleDown rules alone.
//!
//! The way of the numbers: [`observation`] sums the load of each [`signal`] over the Pods,
//! [`tracker`] remembers it and asks the models, [`decide`] turns load and forecasts into a
//! [`Decision`], and [`contribution`] and [`bounds_record`] into the bounds of an object.

pub mod answers_taken;
mod bounds;
pub mod bounds_record;
pub mod carriers;
mod contest;
pub mod contribution;
pub mod cron;
pub mod decide;
mod decision;
pub mod ds_hpa;
mod expected_load;
pub mod fit_times;
pub mod frontier;
mod grounds;
pub mod horizon;
pub mod hpa;
pub mod hpa_aware;
mod input;
mod limit;
pub mod load_unit;
mod mode;
pub mod observation;
pub mod pod;
mod policy;
pub mod portrait;
mod portrayed;
mod ranked;
mod reason;
pub mod refill;
mod replica_counts;
mod risk;
pub mod sample;
mod scale_down;
pub mod signal;
pub mod stability;
pub mod stages;
pub mod sum;
pub mod tick_schedule;
pub mod tracker;
pub mod traffic;
mod traffic_fit;
mod traffic_need;
pub mod trial;
pub mod worth;

pub use bounds::{Bounds, BoundsError, NO_MOST, ObjectBounds};
pub use contest::{Contest, Rest};
pub use decide::{State, decide};
pub use decision::{Decision, Floor};
pub use expected_load::{ExpectedLoad, LoadBasis};
pub use grounds::Grounds;
pub use input::{DecisionInput, Estimate, Prediction, SignalLoad};
pub use limit::{LimitedBy, scale_up_limit};
pub use mode::{Mode, ScaleDown, UnknownMode};
pub use policy::{Policy, Strategy};
pub use portrayed::{Check, Evidence, PortraitInput, Portrayed, Speaker};
pub use replica_counts::ReplicaCounts;
pub use risk::{Risk, RiskError};
pub use traffic_fit::{AcceptedTraffic, TrafficFit, TrafficRefusal};
pub use traffic_need::{TrafficLack, TrafficNeed, TrafficOfKind, TrafficStanding};
