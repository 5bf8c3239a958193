//! The status of an IntelligentHorizontalPodAutoscaler: the request of each provider, the value that holds, the
//! staged change, the results of the checks, and the state from which a new leader continues.

use evenkeel_objects::condition::Condition;
use evenkeel_objects::plan::status_writer::Status;
use evenkeel_objects::schema::conditions;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{MOST_CHECKERS, MOST_PROVIDERS};
use crate::replica_counts::ReplicaCounts;

/// The requested replicas, the state of a change, and the reasons. Written by Evenkeel.
// Absent parts are written as null: in a merge patch, null removes the earlier value. A patch replaces lists whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub struct IhpaStatus {
    /// The generation of the spec that the status describes.
    pub observed_generation: Option<i64>,
    /// The replicas that the workload has.
    #[schemars(range(min = 0))]
    pub current_replicas: Option<i32>,
    /// The replicas in each state that are requested now.
    pub desired: Option<IhpaReplicaCounts>,
    /// The value that applied before.
    pub previous_portrait_value: Option<PortraitValue>,
    /// The value that applies; absent if no provider has a value.
    pub current_portrait_value: Option<PortraitValue>,
    /// The result of each provider.
    #[schemars(length(max = MOST_PROVIDERS))]
    pub portraits: Vec<PortraitStatus>,
    pub gray: Option<GrayStatus>,
    pub stability: Option<StabilityStatus>,
    /// When the counts were last changed.
    pub last_scale_time: Option<Timestamp>,
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
}

impl IhpaStatus {
    /// The condition that the replicas of the workload follow the portraits.
    pub const SCALING_ACTIVE: &str = "ScalingActive";
}

/// Replicas by the states of their Pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // they are the API's
pub struct IhpaReplicaCounts {
    /// Replicas that take traffic.
    #[schemars(range(min = 0))]
    pub online_replicas: i32,
    /// Replicas that run without traffic.
    #[schemars(range(min = 0))]
    pub cutoff_replicas: i32,
    /// Replicas on standby with less resources.
    #[schemars(range(min = 0))]
    pub standby_replicas: i32,
}

/// A count that a provider asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitValue {
    /// The provider that asks for it.
    pub provider: String,
    /// The replicas that should be online.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Until when it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
}

/// The result of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortraitStatus {
    /// The provider.
    pub provider: String,
    /// Its priority.
    #[schemars(with = "i64")]
    pub priority: i32,
    /// Value; Absent, if it asks for nothing now; Expired, if it was not renewed; or Failed.
    pub outcome: String,
    /// The replicas that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Until when the outcome applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
    /// The reason in one word, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when the outcome has been the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// The staged change in progress, or the one that has just ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["grayPercent"]))]
pub struct GrayStatus {
    /// How far it has come.
    #[schemars(range(min = 0, max = 100))]
    pub gray_percent: i32,
    /// When the last step took place, or was complete if that took longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Timestamp>,
    /// The same for the last change in the other direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opposite_update_time: Option<Timestamp>,
    /// The state of the last step: Made, Pending, Limited or Finished.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
    /// The replicas in each state at its beginning.
    pub from: IhpaReplicaCounts,
    /// The replicas that should be online at the end.
    #[schemars(range(min = 0))]
    pub to_replicas: i32,
    /// The replicas that should be online now.
    #[schemars(range(min = 0))]
    pub online_replicas: i32,
    /// Stepping, Observing, Waiting, Paused, RolledBack or, once done, Settled.
    pub phase: String,
    /// When it continues by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_time: Option<Timestamp>,
}

/// The results of the stability checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = []))]
pub struct StabilityStatus {
    /// The paused changes, at most one for each direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub holds: Vec<HoldStatus>,
    /// The result of each check.
    #[schemars(length(max = MOST_CHECKERS))]
    pub checkers: Vec<CheckerStatus>,
}

/// The checks that pause a change, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["action", "direction", "since"]))]
pub struct HoldStatus {
    /// Pause or Rollback.
    pub action: String,
    /// The direction of the change, up or down; changes in the other direction are not paused.
    pub direction: String,
    /// Since when it has been paused.
    pub since: Timestamp,
    /// The checks that failed last.
    #[serde(default)]
    #[schemars(length(max = MOST_CHECKERS))]
    pub checkers: Vec<String>,
    /// How long all checks must pass before it continues.
    #[serde(default)]
    pub cool_down_seconds: i64,
    /// Since when all checks have passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes_since: Option<Timestamp>,
}

/// The result of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "verdict"]))]
pub struct CheckerStatus {
    /// The check.
    pub name: String,
    /// Pass, Fail, or Unknown if its data are missing or too old.
    pub verdict: String,
    /// The reason in words.
    pub message: String,
    /// Since when the verdict has been the same.
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

/// The word of a change that is done.
const FINISHED: &str = "Finished";

impl GrayStatus {
    /// True unless it is done.
    pub fn is_under_way(&self) -> bool {
        self.progress != FINISHED
    }
}

impl Status for IhpaStatus {
    const FIGURES_EVERY: SignedDuration = SignedDuration::from_mins(5);

    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn differs_in_figures_only(&self, other: &Self) -> bool {
        without_texts(self) == without_texts(other)
    }
}

/// A status without what changes with every tick and changes nothing: figures in words, and the moments until which
/// forecasts stand.
fn without_texts(status: &IhpaStatus) -> IhpaStatus {
    let mut status = status.clone();
    for portrait in &mut status.portraits {
        portrait.message = None;
        portrait.expire_time = None;
    }
    if let Some(value) = &mut status.current_portrait_value {
        value.expire_time = None;
    }
    for checker in status
        .stability
        .iter_mut()
        .flat_map(|one| &mut one.checkers)
    {
        checker.message.clear();
    }
    for condition in &mut status.conditions {
        condition.message.clear();
    }
    status
}
