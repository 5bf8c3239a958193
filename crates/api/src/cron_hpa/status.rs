//! The status of a CronHPA: its present request, past and next runs, and the state from which a new leader
//! continues.

use evenkeel_cron::{ActiveRun, CronState, RuleState};
use evenkeel_objects::condition::Condition;
use evenkeel_objects::plan::status_writer::Status;
use evenkeel_objects::schema::conditions;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::MOST_CRONS;

/// The requested replicas, the last run, and the next runs. Written by Evenkeel.
// Absent parts are written as null: in a merge patch, null removes the earlier value. A patch replaces lists whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub struct CronHpaStatus {
    /// The generation of the spec that the status describes.
    pub observed_generation: Option<i64>,
    pub active: Option<ActiveCron>,
    pub held: Option<HeldCron>,
    pub last_run: Option<LastRun>,
    /// The next runs and windows of all crons.
    #[schemars(length(max = 5))]
    pub next_runs: Vec<NextRun>,
    /// The state of each cron.
    #[schemars(length(max = MOST_CRONS))]
    pub crons: Vec<CronStatus>,
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
}

/// The replicas that are requested now; absent if there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["minReplicas"]))]
pub struct ActiveCron {
    /// The minimum of replicas; for a workload without a HorizontalPodAutoscaler, the replicas.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
    /// The end of the window that asks for them; absent if they apply until the next run.
    #[serde(default)]
    pub until: Option<Timestamp>,
}

/// The change of the last run, which applies until the next run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldCron {
    /// The cron that ran.
    pub cron: String,
    /// The time of the run, by its schedule.
    pub scheduled_time: Timestamp,
    /// The minimum of replicas that it set.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
    /// The user's minReplicas at the run. If the user later sets a larger number than the run
    /// raised it to, that number applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub user_min_replicas: Option<i32>,
}

/// The last run. If runs that change nothing follow each other within a minute, it may be an
/// earlier one: they update the status once a minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// The cron that ran.
    pub cron: String,
    /// The time of the run, by its schedule.
    pub scheduled_time: Timestamp,
    /// The target of the run.
    #[schemars(range(min = 0))]
    pub target: i32,
    /// The replicas before the run.
    #[schemars(range(min = 0))]
    pub replicas: i32,
}

/// A future run or window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["cron", "time", "replicas"]))]
pub struct NextRun {
    /// The cron.
    pub cron: String,
    /// Its moment.
    pub time: Timestamp,
    /// Its time in the time zone of the cron.
    pub local_time: String,
    /// Its replicas.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// The time at which the window closes; absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
}

/// The state of one cron.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "schedule", "since"]))]
pub struct CronStatus {
    /// Its name.
    pub name: String,
    /// Its schedules, by which Evenkeel notices that a cron has changed.
    pub schedule: String,
    /// When it was first seen: earlier runs are not made up.
    pub since: Timestamp,
    /// Its last run, also if it was missed, or the start of its last window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Timestamp>,
    /// True while its window is open.
    #[serde(default)]
    pub open: bool,
    /// The user's minReplicas when its window opened. If the user later sets a larger number than
    /// the window raises it to, that number applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub user_min_replicas: Option<i32>,
}

impl CronHpaStatus {
    /// The condition that the crons are followed.
    pub const READY: &str = "Ready";

    /// The state that it holds of the rules.
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
    pub fn without_moments(&self) -> Self {
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

impl Status for CronHpaStatus {
    /// So the status of a schedule that runs every minute shows each run, and one that runs every second costs no
    /// more.
    const FIGURES_EVERY: SignedDuration = SignedDuration::from_mins(1);

    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The moments differ: the last run, the next ones, and the end of the request.
    fn differs_in_figures_only(&self, other: &Self) -> bool {
        self.without_moments() == other.without_moments()
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
