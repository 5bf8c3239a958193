//! The user's rules for changes of the count.

use evenkeel_units::words;
use jiff::{SignedDuration, Timestamp};

/// The rules for both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StagedBehavior {
    pub up: ScaleUpBehavior,
    pub down: ScaleDownWay,
}

/// The rules for scaling out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScaleUpBehavior {
    /// True where the count is not raised.
    pub disabled: bool,
    /// The steps; `None` makes the change at once.
    pub stages: Option<StepPace>,
}

/// The rules for scaling in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScaleDownWay {
    /// True where the count is not lowered.
    pub disabled: bool,
    /// The steps; `None` makes the change at once, by deletion.
    pub stages: Option<ScaleDownStages>,
}

/// The steps of scaling in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleDownStages {
    pub pace: StepPace,
    /// The state of Pods until the change is done.
    pub park: ScaleDownTarget,
}

words! {
    /// The direction of a change.
    pub enum Direction {
        Up = "up",
        Down = "down",
    }
}

impl Direction {
    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// The state of Pods that a scale-in takes, until it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScaleDownTarget {
    /// They run and take no traffic.
    Cutoff,
    /// They take no traffic, and their resources are lowered.
    Standby,
    /// They are deleted at once.
    Deleted,
}

/// The steps of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepPace {
    pub size: StepSize,
    /// The time from one step to the next.
    pub interval: SignedDuration,
    /// The time from the last step until the change is done.
    pub observation: SignedDuration,
}

/// The size of a step: one Pod at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepSize {
    /// A percentage of the whole change, 1 to 100.
    Percent(u8),
    /// A number of Pods, 1 or more.
    Count(i32),
}

/// The pace of a change that is made at once.
const AT_ONCE: StepPace = StepPace {
    size: StepSize::Percent(100),
    interval: SignedDuration::ZERO,
    observation: SignedDuration::ZERO,
};

impl StagedBehavior {
    /// The steps in a direction, of which a change at once has one.
    pub(super) fn pace(&self, direction: Direction) -> StepPace {
        match direction {
            Direction::Up => self.up.stages.unwrap_or(AT_ONCE),
            Direction::Down => self.down.stages.map_or(AT_ONCE, |stages| stages.pace),
        }
    }

    /// True while the interval after a step is not over.
    pub(super) fn is_recent(
        &self,
        direction: Direction,
        stepped: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        let next = stepped.map(|at| at.checked_add(self.pace(direction).interval));
        next.is_some_and(|next| next.unwrap_or(Timestamp::MAX) > now)
    }

    /// The state of Pods until a scale-in is done.
    pub fn park(&self) -> ScaleDownTarget {
        self.down
            .stages
            .map_or(ScaleDownTarget::Deleted, |stages| stages.park)
    }
}
