//! The input of a step, and its result.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_units::words;
use jiff::Timestamp;

use super::change::StagedChange;
use crate::limits::LimitedBy;

/// The input of a step beside the rules and the change that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staging {
    /// The counts that are written in the cluster at present.
    pub current: ReplicaCounts,
    /// The replicas that are to be online in the end.
    pub wanted: i32,
    pub command: StepCommand,
    /// The progress towards the written counts; `None` if they are the Pods that exist, as without a ReplicaProfile.
    pub reached: Option<ReplicaProgress>,
    pub now: Timestamp,
}

/// The progress towards counts that another controller brings about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaProgress {
    /// The Pods that take traffic, ready or not; `None` while it is not reported.
    pub online: Option<i32>,
    /// Why there are more of them than is written, in one word.
    pub refused: Option<&'static str>,
}

/// The word of the stability checks on the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StepCommand {
    /// The change goes on by its rules.
    #[default]
    Proceed,
    /// A check does not know: nothing but the first step is made.
    Wait,
    /// A check has failed: the change stays where it is.
    Pause,
    /// A check has failed: the change goes back to its begin.
    RollBack,
    /// A user has resumed the change: the next step is made at once, whatever the checks say.
    Resume,
}

words! {
    /// Where a target stands between two counts.
    pub enum ChangePhase {
        /// Nothing is under way.
        Settled = "Settled",
        /// Steps are made.
        Stepping = "Stepping",
        /// All steps are made, and the last one is being observed.
        Observing = "Observing",
        /// A check that does not know is waited for.
        Waiting = "Waiting",
        /// A failed check holds it.
        Paused = "Paused",
        /// A failed check has brought it back to its begin, and holds it there.
        RolledBack = "RolledBack",
    }
}

/// Something that a step has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagedChangeEvent {
    /// A step was made, the first of a change or another one.
    Stepped,
    /// A change was finished.
    Finished,
    /// A change went back to its begin.
    RolledBack,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepResult {
    /// The replicas in each state that are to be written.
    pub counts: ReplicaCounts,
    /// The change that is under way from here on, to be given to the next step.
    pub change: Option<StagedChange>,
    pub phase: ChangePhase,
    pub happened: Option<StagedChangeEvent>,
    /// The rule that keeps it from what is wanted.
    pub limited_by: Option<LimitedBy>,
    /// When it moves again by itself; `None` where that depends on others.
    pub next: Option<Timestamp>,
    /// Where it stands, in words.
    pub reason: String,
}
