//! The status of a ReplicaProfile: the Pods by their state, and whether they are as wanted.

use evenkeel_objects::condition::Condition;
use evenkeel_objects::schema::conditions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::replica_profile::refusal::ProfileRefusal;

/// The Pods in each state, and whether they are as requested. Written by Evenkeel.
// Absent parts are written as null: in a merge patch, null removes the earlier value. A patch replaces lists whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub struct ReplicaProfileStatus {
    /// The generation of the spec that the status describes.
    pub observed_generation: Option<i64>,
    /// The Pods that take traffic once they are ready.
    #[schemars(range(min = 0))]
    pub online_replicas: Option<i32>,
    /// The ready Pods among them.
    #[schemars(range(min = 0))]
    pub ready_replicas: Option<i32>,
    /// The Pods that run and take no traffic.
    #[schemars(range(min = 0))]
    pub cutoff_replicas: Option<i32>,
    /// The Pods that take no traffic and have less resources than they request.
    #[schemars(range(min = 0))]
    pub standby_replicas: Option<i32>,
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
}

impl ReplicaProfileStatus {
    /// The condition that the profile is followed.
    pub const APPLIED: &str = "Applied";
    /// The condition that the Pods are as the profile wants them.
    pub const ENSURED: &str = "Ensured";

    /// Why Pods stay in traffic that the profile wants out of it, in one word.
    pub fn staying(&self) -> Option<&'static str> {
        let mut conditions = self.conditions.iter();
        let ensured = conditions.find(|one| one.kind == Self::ENSURED)?;
        ProfileRefusal::of_staying(&ensured.reason)
    }
}
