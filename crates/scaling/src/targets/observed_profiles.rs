//! The ReplicaProfiles of a target: those about its workload, and the IHPA's own, which has its name and is owned
//! by it.
//!
//! A profile is an IHPA's own by the UID of its controller alone. An object of the same name from another author, or
//! from a deleted IHPA of the same name, stays as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use evenkeel_api::replica_profile::CheckedReplicaProfile;
use evenkeel_objects::kinds::Kind;

use super::reference::TargetRef;
use crate::specs::ihpa::CheckedIhpa;

/// The ReplicaProfiles that a target has to do with, and the Pods that are out of traffic.
#[derive(Debug, Clone, Default)]
pub struct ObservedProfiles {
    /// Those about its workload, and those of the name of its IHPA.
    pub all: Vec<Arc<CheckedReplicaProfile>>,
    /// The names of the Pods of the namespace that take no traffic.
    pub parked: Arc<BTreeSet<String>>,
}

impl ObservedProfiles {
    /// True for a profile that concerns a workload, or the IHPA of it.
    pub fn concern(
        profile: &CheckedReplicaProfile,
        ihpa: Option<&CheckedIhpa>,
        target: &TargetRef,
    ) -> bool {
        ihpa.is_some_and(|ihpa| has_its_name(profile, ihpa)) || is_about(profile, target)
    }

    /// The one that belongs to the IHPA.
    pub fn own(&self, ihpa: &CheckedIhpa) -> Option<&CheckedReplicaProfile> {
        let mut all = self.all.iter().filter(|profile| profile.is_there());
        all.find(|profile| is_own(profile, ihpa))
            .map(|profile| &**profile)
    }

    /// A profile of another author about the same workload.
    pub(crate) fn rival(&self, ihpa: Option<&CheckedIhpa>, target: &TargetRef) -> Option<&str> {
        let foreign = |profile: &&Arc<CheckedReplicaProfile>| {
            let is_own = ihpa.is_some_and(|ihpa| is_own(profile, ihpa));
            profile.is_there() && is_about(profile, target) && !is_own
        };
        self.all.iter().find(foreign).map(|one| one.object.name())
    }

    /// A profile of another author with the name that the IHPA's own is to have.
    pub(crate) fn namesake(&self, ihpa: &CheckedIhpa) -> Option<&str> {
        let foreign = |profile: &&Arc<CheckedReplicaProfile>| {
            profile.is_there() && has_its_name(profile, ihpa) && !is_own(profile, ihpa)
        };
        self.all.iter().find(foreign).map(|one| one.object.name())
    }
}

/// True where a profile is about a workload.
pub(crate) fn is_about(profile: &CheckedReplicaProfile, target: &TargetRef) -> bool {
    let named = &profile.object.spec.scale_target_ref;
    profile.kind().map(Kind::as_str) == Some(target.kind()) && named.name == target.name()
}

fn has_its_name(profile: &CheckedReplicaProfile, ihpa: &CheckedIhpa) -> bool {
    Some(profile.object.name()) == ihpa.object.metadata.name.as_deref()
}

fn is_own(profile: &CheckedReplicaProfile, ihpa: &CheckedIhpa) -> bool {
    has_its_name(profile, ihpa) && profile.object.belongs_to(&ihpa.object.metadata)
}
