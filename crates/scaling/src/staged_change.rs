//! Staged scaling: from one count of replicas to another in steps.
//!
//! The first step is made at once, each further step an interval after the last one has come about,
//! and its result is observed. On the way down, Pods wait cut off or on standby until then; on the
//! way up, waiting Pods are taken first. If the target moves or turns, the change goes on from the
//! current counts. A finished change is kept until its interval is over: a target that creeps makes
//! no more steps than one that jumps.
//!
//! [`step`] is a function of the current [`StagedChange`], of the counts written at present, and of
//! the [`StepCommand`] of the stability checks. It needs no other memory: the same input gives the
//! same result, and counts that were never written are written again. So the two writes of a tick
//! may come in any order.

mod behavior;
mod change;
mod change_direction;
mod step;
mod step_result;

pub use behavior::{
    Direction, ScaleDownStages, ScaleDownTarget, ScaleDownWay, ScaleUpBehavior, StagedBehavior,
    StepPace, StepSize,
};
pub use change::{Progress, StagedChange};
pub use change_direction::{ChangeDirection, heading};
pub use step::step;
pub use step_result::{
    ChangePhase, ReplicaProgress, StagedChangeEvent, Staging, StepCommand, StepResult,
};

#[cfg(test)]
mod tests;
