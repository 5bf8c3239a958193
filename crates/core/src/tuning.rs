//! Tuning in place: what the limits of running containers should be by what they use.
//!
//! `[CLBP] 4.5` aims at the mean of five one-minute samples, widened or narrowed by an elasticity
//! ([`target()`]). Taken alone that would set limits below what a container has just used, so bounds come
//! first, each with its reason ([`decide()`]). Every ten minutes it is the turn ([`is_turn_of()`]) of those Pods
//! of each node that use the most of it ([`Highest`]), as far as there is [`Room`], and of no workload that a
//! scaling decision is about ([`Quiet`]).

mod bounds;
mod cpu_memory;
mod decide;
mod highest;
mod lasting;
mod mode;
mod quiet;
mod room;
mod samples;
mod standby;
mod step;
mod target;
mod turn;

pub use bounds::{Bound, Bounds, Range};
pub use cpu_memory::{CpuMemory, TunedResource};
pub use decide::{Container, Decision, Unchanged, Values, decide};
pub use highest::{Highest, HighestPod, PER_NODE};
pub use lasting::{History, Lasting, Percentiles, lasting};
pub use mode::{Mode, UnknownMode};
pub use quiet::{Quiet, is_called_for};
pub use room::{Given, Room};
pub use samples::{SAMPLES, Samples, Window};
pub use standby::StandbyRequest;
pub use target::{AT_LIMIT, Elasticity, ElasticityError, STEADY, Trend, target};
pub use turn::is_turn_of;

#[cfg(test)]
mod tests;
