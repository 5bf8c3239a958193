//! The status of a CronHPA: its present request, past and next runs, and the state from which a new leader
//! continues.

use evenkeel_core::scaling::cron::{ActiveRun, CronState, RuleState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// The status of a CronHPA. Absent parts are written as null, which in a merge patch takes away what was
/// there before, but within lists, which a patch replaces whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CronHpaStatus {
    /// The generation that the rest was told of.
    pub observed_generation: Option<i64>,
    /// The request at present.
    pub active: Option<ActiveCron>,
    /// The change that the last run made and that stands.
    pub held: Option<HeldCron>,
    /// The last run that was made.
    pub last_run: Option<LastRun>,
    /// The next runs and windows of all rules.
    pub next_runs: Vec<NextRun>,
    /// The state of each rule.
    pub crons: Vec<CronStatus>,
    pub conditions: Vec<Condition>,
}

/// The request of a CronHPA at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveCron {
    /// The least replicas.
    pub min_replicas: i32,
    /// The end of the window that asks for them; none where they stand until the next run.
    #[serde(default)]
    pub until: Option<Timestamp>,
}

/// A change by a run, which stands until the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldCron {
    /// The rule that ran.
    pub cron: String,
    pub scheduled_time: Timestamp,
    pub min_replicas: i32,
    /// The user's own least at the run, by which it raised or lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_min_replicas: Option<i32>,
}

/// A run that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// The rule that ran.
    pub cron: String,
    /// The moment of the run, by its schedule.
    pub scheduled_time: Timestamp,
    pub target: i32,
    /// The replicas that there were.
    pub replicas: i32,
}

/// A run or a window to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextRun {
    pub cron: String,
    pub time: Timestamp,
    /// The same in the zone of the rule, for people.
    pub local_time: String,
    pub replicas: i32,
    /// The moment at which the window closes; none for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
}

/// The state of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CronStatus {
    pub name: String,
    /// Its schedules: with others it is another rule.
    pub schedule: String,
    /// When it was first seen.
    pub since: Timestamp,
    /// The last run, made or missed, or the start of the last window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Timestamp>,
    /// True while its window is open.
    #[serde(default)]
    pub open: bool,
    /// The user's own least when its window opened, by which it raises or lowers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_min_replicas: Option<i32>,
}

impl CronHpaStatus {
    /// The condition that the crons are followed.
    pub(crate) const READY: &str = "Ready";

    /// The state that it holds of the rules.
    #[must_use]
    pub fn state(&self) -> CronState {
        let rules = self.crons.iter().map(|cron| {
            let CronStatus {
                name,
                schedule,
                since,
                last_time,
                open,
                user_min_replicas,
            } = cron.clone();
            let state = RuleState {
                when: schedule,
                since,
                last: last_time,
                open,
                least: user_min_replicas,
            };
            (name, state)
        });
        let held = self.held.clone().map(|held| {
            let HeldCron {
                cron,
                scheduled_time,
                min_replicas,
                user_min_replicas,
            } = held;
            ActiveRun {
                rule: cron,
                at: scheduled_time,
                min: min_replicas,
                least: user_min_replicas,
            }
        });
        CronState {
            rules: rules.collect(),
            held,
        }
    }

    /// Puts the state of the rules into it.
    pub fn hold(&mut self, state: &CronState) {
        let CronState { rules, held } = state;
        self.held = held.clone().map(|held| {
            let ActiveRun {
                rule,
                at,
                min,
                least,
            } = held;
            HeldCron {
                cron: rule,
                scheduled_time: at,
                min_replicas: min,
                user_min_replicas: least,
            }
        });
        let crons = rules.iter().map(|(name, state)| {
            let RuleState {
                when,
                since,
                last,
                open,
                least,
            } = state.clone();
            CronStatus {
                name: name.clone(),
                schedule: when,
                since,
                last_time: last,
                open,
                user_min_replicas: least,
            }
        });
        self.crons = crons.collect();
    }

    /// The status without moments: the last run, the next ones, and the end of the request.
    pub(crate) fn without_moments(&self) -> Self {
        let Self {
            observed_generation,
            active,
            held,
            last_run: _,
            next_runs: _,
            crons,
            conditions,
        } = self.clone();
        let crons = crons.into_iter().map(|cron| CronStatus {
            last_time: None,
            ..cron
        });
        let conditions = conditions.into_iter().map(|condition| Condition {
            message: String::new(),
            ..condition
        });
        Self {
            observed_generation,
            active: active.map(|active| ActiveCron {
                until: None,
                ..active
            }),
            held: held.map(|held| HeldCron {
                cron: String::new(),
                scheduled_time: Timestamp::UNIX_EPOCH,
                ..held
            }),
            last_run: None,
            next_runs: Vec::new(),
            crons: crons.collect(),
            conditions: conditions.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_in_a_status() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let rule = |last, open| RuleState {
            when: "0 8 * * * UTC".to_owned(),
            since: at(5),
            last,
            open,
            least: open.then_some(2),
        };
        let state = CronState {
            rules: [
                ("a".to_owned(), rule(None, false)),
                ("b".to_owned(), rule(Some(at(9)), true)),
            ]
            .into(),
            held: Some(ActiveRun {
                rule: "a".to_owned(),
                at: at(7),
                min: 3,
                least: Some(1),
            }),
        };
        let mut status = CronHpaStatus::default();
        status.hold(&state);
        let text = serde_json::to_string(&status).unwrap();
        let read: CronHpaStatus = serde_json::from_str(&text).unwrap();
        assert_eq!(read.state(), state);
        assert_eq!(CronHpaStatus::default().state(), CronState::default());
        // As a version wrote it that did not say what was decided on which least.
        let old = text
            .replace(r#","userMinReplicas":1"#, "")
            .replace(r#","userMinReplicas":2"#, "");
        let old: CronHpaStatus = serde_json::from_str(&old).unwrap();
        assert_eq!(
            old.state().held.map(|held| (held.min, held.least)),
            Some((3, None))
        );
        assert!(old.state().rules.values().all(|rule| rule.least.is_none()));
        // A null in a list would stay there, and no schema takes it.
        let written: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = written["crons"][0].as_object().unwrap();
        assert!(!first.contains_key("lastTime"), "{written}");
    }
}
