//! Converts a staged change and a paused change to and from the status of an IHPA. The status is the only record
//! of both, so a new leader continues from it.

use evenkeel_api::ihpa::status::{GrayStatus, HoldStatus, StabilityStatus};
use jiff::{SignedDuration, Timestamp};

use crate::stability::{Action, PausedChange};
use crate::staged_change::{Direction, Progress, StagedChange};

impl StagedChange {
    /// The change with the words beside it.
    pub(crate) fn to_status(self, phase: &str, next_time: Option<Timestamp>) -> GrayStatus {
        let Self {
            begun,
            to,
            online,
            percent,
            stepped,
            opposite,
            progress,
        } = self;
        GrayStatus {
            gray_percent: percent,
            last_update_time: stepped,
            opposite_update_time: opposite,
            progress: progress.as_str().to_owned(),
            from: begun.into(),
            to_replicas: to,
            online_replicas: online,
            phase: phase.to_owned(),
            next_time,
        }
    }

    /// The change that it tells of.
    pub(crate) fn from_status(status: &GrayStatus) -> Self {
        Self {
            begun: status.from.into(),
            to: status.to_replicas,
            online: status.online_replicas,
            percent: status.gray_percent,
            stepped: status.last_update_time,
            opposite: status.opposite_update_time,
            progress: Progress::named(&status.progress).unwrap_or_default(),
        }
    }
}

impl PausedChange {
    /// The paused change as a field of the status.
    pub(crate) fn to_status(&self) -> HoldStatus {
        let Self {
            action,
            direction,
            since,
            checks,
            cool_down,
            passes_since,
        } = self.clone();
        HoldStatus {
            action: action.as_str().to_owned(),
            direction: direction.as_str().to_owned(),
            since,
            checkers: checks,
            cool_down_seconds: cool_down.as_secs(),
            passes_since,
        }
    }

    /// The hold that it describes; `None` if a user has changed its words.
    pub(crate) fn from_status(status: &HoldStatus) -> Option<Self> {
        Some(Self {
            action: Action::named(&status.action)?,
            direction: Direction::named(&status.direction)?,
            since: status.since,
            checks: status.checkers.clone(),
            cool_down: SignedDuration::from_secs(status.cool_down_seconds),
            passes_since: status.passes_since,
        })
    }

    /// The holds that it tells of.
    pub(crate) fn all_of_status(status: &StabilityStatus) -> Vec<Self> {
        status.holds.iter().filter_map(Self::from_status).collect()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_api::replica_counts::ReplicaCounts;

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
        let status = change.to_status("Stepping", Some(at(160)));
        let written = serde_json::to_value(&status).unwrap();
        let read: GrayStatus = serde_json::from_value(written).unwrap();
        assert_eq!((StagedChange::from_status(&read), &read), (change, &status));
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
            let written = serde_json::to_value(hold.to_status()).unwrap();
            let read: HoldStatus = serde_json::from_value(written).unwrap();
            assert_eq!(PausedChange::from_status(&read), Some(hold));
        }
    }
}
