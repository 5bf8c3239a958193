//! The status of a ReplicaProfile: the Pods by their state, and whether they are as wanted.

use evenkeel_core::scaling::replica_profile::ProfileRefusal;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// The status of a ReplicaProfile. Absent parts are written as null, which in a merge patch takes away what
/// was there before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaProfileStatus {
    /// The generation that the rest was told of.
    pub observed_generation: Option<i64>,
    /// The Pods that take traffic, once they are ready.
    pub online_replicas: Option<i32>,
    /// Those of them that are ready.
    pub ready_replicas: Option<i32>,
    pub cutoff_replicas: Option<i32>,
    pub standby_replicas: Option<i32>,
    pub conditions: Vec<Condition>,
}

impl ReplicaProfileStatus {
    /// The condition that the profile is followed.
    pub(crate) const APPLIED: &str = "Applied";
    /// The condition that the Pods are as the profile wants them.
    pub(crate) const ENSURED: &str = "Ensured";

    /// Why Pods stay in traffic that the profile wants out of it, in one word.
    #[must_use]
    pub fn staying(&self) -> Option<&'static str> {
        let mut conditions = self.conditions.iter();
        let ensured = conditions.find(|one| one.kind == Self::ENSURED)?;
        ProfileRefusal::of_staying(&ensured.reason)
    }
}
