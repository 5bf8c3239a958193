//! A change that is held.

use evenkeel_units::words;
use jiff::{SignedDuration, Timestamp};

use crate::staged_change::{Direction, StepCommand};

words! {
    /// The action on a change with a failed check; the later one is the stronger.
    pub enum Action {
        /// It stays where it is.
        Pause = "Pause",
        /// It goes back to its begin.
        Rollback = "Rollback",
    }
}

impl Action {
    pub(super) const fn command(self) -> StepCommand {
        match self {
            Self::Pause => StepCommand::Pause,
            Self::Rollback => StepCommand::RollBack,
        }
    }
}

/// The state of a change that a check holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedChange {
    pub action: Action,
    /// The direction of the change.
    pub direction: Direction,
    /// When the first of its checks failed.
    pub since: Timestamp,
    /// The names of the checks that failed last.
    pub checks: Vec<String>,
    /// The longest cool-down of the checks that have failed.
    pub cool_down: SignedDuration,
    /// Since when all checks pass; `None` while one does not.
    pub passes_since: Option<Timestamp>,
}

impl PausedChange {
    /// The end of the cool-down, where nothing fails until then.
    pub fn ends(&self) -> Option<Timestamp> {
        self.passes_since.map(|since| self.cooled_down(since))
    }

    /// The end of the cool-down while the change that it holds is not wanted.
    pub(super) fn idles_until(&self) -> Timestamp {
        self.cooled_down(self.passes_since.unwrap_or(self.since))
    }

    fn cooled_down(&self, since: Timestamp) -> Timestamp {
        since.checked_add(self.cool_down).unwrap_or(Timestamp::MAX)
    }
}
