//! The custom resource ReplicaProfile (`autoscaling.evenkeel.dev/v1alpha1`): how many Pods of a workload
//! take traffic, how many are cut off from it, and how many stand by.
//!
//! [`ReplicaProfileSpec`] is what a user or an autoscaler writes, [`CheckedReplicaProfile`] the same with its
//! rules, and [`ReplicaProfileStatus`] what is told of it. The schema is derived from both: their
//! comments are what `kubectl explain` shows.

pub mod check;
pub mod direction;
pub mod profile_rules;
pub mod refusal;
mod spec;
mod status;

use std::sync::Arc;

use evenkeel_objects::condition::Condition;
use evenkeel_objects::json::null_is_default;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::plan::status_writer::Status;
use serde::Deserialize;

use crate::replica_profile::profile_rules::ProfileRules;

pub use check::drain;
pub use check::{ProfileBehaviorError, ReplicaProfileError, check};
pub use spec::{
    PodSorter, PodTrafficController, ProfileBehavior, READINESS_GATE, ReplicaProfileSpec,
    WORKLOAD_DEFAULT,
};
pub use status::ReplicaProfileStatus;

/// A ReplicaProfile as it is watched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicaProfile {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: ReplicaProfileSpec,
    /// The last status; `None` if there is none, or if it cannot be read.
    #[serde(deserialize_with = "evenkeel_objects::json::lenient")]
    pub status: Option<ReplicaProfileStatus>,
}

impl ReplicaProfile {
    /// The namespace; empty where the object does not name it.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The name; empty where the object does not name it.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// True where the object with this metadata is its controller.
    pub fn belongs_to(&self, owner: &Meta) -> bool {
        let controller = self.metadata.controller();
        let is_it = |uid: &str| owner.uid.as_deref() == Some(uid);
        owner.namespace == self.metadata.namespace
            && controller.is_some_and(|controller| is_it(&controller.uid))
    }
}

/// A ReplicaProfile with its rules, or with the reason why it has none.
#[derive(Debug)]
pub struct CheckedReplicaProfile {
    pub object: ReplicaProfile,
    rules: Result<ProfileRules, ReplicaProfileError>,
}

impl CheckedReplicaProfile {
    /// Checks the rules of an object.
    pub fn new(object: ReplicaProfile) -> Arc<Self> {
        let rules = check(&object.spec);
        Arc::new(Self { object, rules })
    }

    /// The rules in the spec.
    ///
    /// # Errors
    /// The reason why the spec is not accepted.
    pub const fn rules(&self) -> Result<&ProfileRules, &ReplicaProfileError> {
        self.rules.as_ref()
    }

    /// The kind of the workload, where it is one that a profile may name.
    pub fn kind(&self) -> Option<Kind> {
        let target = &self.object.spec.scale_target_ref;
        let kind = Kind::of(target.api_version(), &target.kind)?;
        Kind::REPLICATED.contains(&kind).then_some(kind)
    }

    /// True while it is there to be followed.
    pub const fn is_there(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_none()
    }
}

impl Status for ReplicaProfileStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}
