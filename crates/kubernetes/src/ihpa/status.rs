//! The status of an IntelligentHorizontalPodAutoscaler: the request of each provider, the value that holds, the
//! staged change, the results of the checks, and the state from which a new leader continues.

use evenkeel_core::scaling::ReplicaCounts;
use evenkeel_core::scaling::stability::{Action, PausedChange};
use evenkeel_core::scaling::staged_change::{Direction, Progress, StagedChange};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// The status of an IntelligentHorizontalPodAutoscaler. Absent parts are written as null, which in a merge patch takes away
/// what was there before, but within lists, which a patch replaces whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IhpaStatus {
    /// The generation that the rest was told of.
    pub observed_generation: Option<i64>,
    /// The replicas that the workload has.
    pub current_replicas: Option<i32>,
    /// The replicas in each state that are asked for.
    pub desired: Option<IhpaReplicaCounts>,
    /// The value that held before the current one.
    pub previous_portrait_value: Option<PortraitValue>,
    /// The value that holds.
    pub current_portrait_value: Option<PortraitValue>,
    /// The result of each provider.
    pub portraits: Vec<PortraitStatus>,
    /// The staged change that is under way, or was until a moment ago.
    pub gray: Option<GrayStatus>,
    /// The results of the stability checks.
    pub stability: Option<StabilityStatus>,
    pub last_scale_time: Option<Timestamp>,
    pub conditions: Vec<Condition>,
}

impl IhpaStatus {
    /// The condition that the replicas of the workload follow the portraits.
    pub(crate) const SCALING_ACTIVE: &str = "ScalingActive";
}

/// Replicas by the states of their Pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // they are the API's
pub struct IhpaReplicaCounts {
    pub online_replicas: i32,
    pub cutoff_replicas: i32,
    pub standby_replicas: i32,
}

/// A count that a provider asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitValue {
    pub provider: String,
    pub replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
}

/// The result of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitStatus {
    pub provider: String,
    pub priority: i32,
    /// `Value`, `Absent`, `Expired` or `Failed`.
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when the outcome is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A staged change that is under way, or was until a moment ago.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GrayStatus {
    pub gray_percent: i32,
    /// When the last step was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Timestamp>,
    /// When that of the last change in the other direction was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opposite_update_time: Option<Timestamp>,
    /// How far the last step has come: `Made`, `Pending`, `Limited` or `Finished`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
    /// The replicas at its begin.
    pub from: IhpaReplicaCounts,
    /// The replicas that are to be online in the end.
    pub to_replicas: i32,
    /// Those that are to be online by now.
    pub online_replicas: i32,
    /// Where it stands: `Stepping`, `Observing`, `Waiting`, `Paused`, `RolledBack` or, once it is done, `Settled`.
    pub phase: String,
    /// When it moves again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_time: Option<Timestamp>,
}

/// The results of the stability checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StabilityStatus {
    /// The changes that are held, at most one in each direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldStatus>,
    pub checkers: Vec<CheckerStatus>,
}

/// A change that checks hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldStatus {
    pub action: String,
    /// `up` or `down`.
    pub direction: String,
    pub since: Timestamp,
    #[serde(default)]
    pub checkers: Vec<String>,
    #[serde(default)]
    pub cool_down_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes_since: Option<Timestamp>,
}

/// The result of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckerStatus {
    pub name: String,
    /// `Pass`, `Unknown` or `Fail`.
    pub verdict: String,
    pub message: String,
    /// Since when the verdict is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl From<ReplicaCounts> for IhpaReplicaCounts {
    fn from(counts: ReplicaCounts) -> Self {
        let ReplicaCounts {
            online,
            cutoff,
            standby,
        } = counts;
        Self {
            online_replicas: online,
            cutoff_replicas: cutoff,
            standby_replicas: standby,
        }
    }
}

impl From<IhpaReplicaCounts> for ReplicaCounts {
    fn from(counts: IhpaReplicaCounts) -> Self {
        let IhpaReplicaCounts {
            online_replicas,
            cutoff_replicas,
            standby_replicas,
        } = counts;
        Self {
            online: online_replicas,
            cutoff: cutoff_replicas,
            standby: standby_replicas,
        }
    }
}

impl GrayStatus {
    /// The change with the words beside it.
    #[must_use]
    pub fn new(change: &StagedChange, phase: &str, next_time: Option<Timestamp>) -> Self {
        let StagedChange {
            begun,
            to,
            online,
            percent,
            stepped,
            opposite,
            progress,
        } = *change;
        Self {
            gray_percent: percent,
            last_update_time: stepped,
            opposite_update_time: opposite,
            progress: progress.word().to_owned(),
            from: begun.into(),
            to_replicas: to,
            online_replicas: online,
            phase: phase.to_owned(),
            next_time,
        }
    }

    /// True unless it is done.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        Progress::of_word(&self.progress) != Some(Progress::Finished)
    }

    /// The change that it tells of.
    #[must_use]
    pub fn change(&self) -> StagedChange {
        StagedChange {
            begun: self.from.into(),
            to: self.to_replicas,
            online: self.online_replicas,
            percent: self.gray_percent,
            stepped: self.last_update_time,
            opposite: self.opposite_update_time,
            progress: Progress::of_word(&self.progress).unwrap_or_default(),
        }
    }
}

impl From<&PausedChange> for HoldStatus {
    fn from(hold: &PausedChange) -> Self {
        let PausedChange {
            action,
            direction,
            since,
            checks,
            cool_down,
            passes_since,
        } = hold.clone();
        Self {
            action: action.word().to_owned(),
            direction: direction.word().to_owned(),
            since,
            checkers: checks,
            cool_down_seconds: cool_down.as_secs(),
            passes_since,
        }
    }
}

impl StabilityStatus {
    /// The holds that it tells of.
    #[must_use]
    pub fn holds(&self) -> Vec<PausedChange> {
        self.holds.iter().filter_map(HoldStatus::hold).collect()
    }
}

impl HoldStatus {
    /// The hold that it describes; `None` if a user has changed its words.
    #[must_use]
    pub fn hold(&self) -> Option<PausedChange> {
        let actions = [Action::Pause, Action::Rollback];
        let directions = [Direction::Up, Direction::Down];
        Some(PausedChange {
            action: actions.into_iter().find(|one| one.word() == self.action)?,
            direction: directions
                .into_iter()
                .find(|one| one.word() == self.direction)?,
            since: self.since,
            checks: self.checkers.clone(),
            cool_down: SignedDuration::from_secs(self.cool_down_seconds),
            passes_since: self.passes_since,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_a_hold_come_back_as_they_were() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let change = StagedChange {
            begun: ReplicaCounts {
                online: 10,
                cutoff: 2,
                standby: 1,
            },
            to: 4,
            online: 7,
            percent: 50,
            stepped: Some(at(100)),
            opposite: Some(at(50)),
            progress: Progress::Pending,
        };
        let status = GrayStatus::new(&change, "Stepping", Some(at(160)));
        let written = serde_json::to_value(&status).unwrap();
        let read: GrayStatus = serde_json::from_value(written).unwrap();
        assert_eq!((read.change(), &read), (change, &status));
        for (action, direction) in [
            (Action::Pause, Direction::Up),
            (Action::Rollback, Direction::Down),
        ] {
            let hold = PausedChange {
                action,
                direction,
                since: at(5),
                checks: vec!["errors".to_owned()],
                cool_down: SignedDuration::from_secs(60),
                passes_since: Some(at(9)),
            };
            let written = serde_json::to_value(HoldStatus::from(&hold)).unwrap();
            let read: HoldStatus = serde_json::from_value(written).unwrap();
            assert_eq!(read.hold(), Some(hold));
        }
    }
}
