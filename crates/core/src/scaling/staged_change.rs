//! Staged scaling: from one count of replicas to another in steps.
//!
//! The first step is made at once, each other one an interval later, and what has been reached is
//! observed before it counts as done. On the way down, Pods wait cut off or on standby until then, so that they can be
//! brought back without a start; on the way up those that wait are taken first. A change whose target
//! moves goes on from what is there, as does one in the other direction. A step that has not come about is waited for: none follows
//! it, and it is not observed until then. A change that is done is kept until its interval is over, and what follows in its direction
//! goes on with it: a target that creeps makes no more steps than one that jumps.
//!
//! [`step`] is a function of the [`StagedChange`] that is under way, which is all that has to be remembered, of the counts as they
//! are written at present, and of the [`StepCommand`] of the stability checks. Calling it again with the same gives the same, and
//! a change whose counts were never written is written again: so neither of the two writes of a tick has to come first.

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
