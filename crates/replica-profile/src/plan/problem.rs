//! The reasons for which a profile is not followed at all.

use evenkeel_api::replica_profile::profile_rules::ProfileRules;
use evenkeel_api::replica_profile::{
    CheckedReplicaProfile, ReplicaProfile, ReplicaProfileError, ReplicaProfileStatus,
};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::workload::Workload;

use super::profile_objects::{ProfileContext, ProfileObjects};

/// The reason of a profile with a workload that the user keeps at 0.
const SCALED_TO_ZERO: &str = "ScaledToZero";

/// A reason for which a profile is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileProblem {
    /// The spec is not accepted.
    #[error(transparent)]
    Invalid(ReplicaProfileError),
    /// The installation may not write on Pods.
    #[error(
        "this installation changes no Pods: install the component replica-profiles, which sets \
         scaling.replicaProfiles: on and grants the rights"
    )]
    Disabled,
    /// The workload is of another kind.
    #[error("{0} is not a Deployment, a StatefulSet or a ReplicaSet")]
    Kind(String),
    /// There is no such workload.
    #[error("there is no {0} in this namespace")]
    NotFound(String),
    /// Something else scales the workload.
    #[error("{0} also scales the workload: keep one of the two")]
    Rival(String),
    /// The user has set a count of 0, which switches an autoscaler off.
    #[error(
        "the workload has zero replicas, which switches scaling off until it has a replica again"
    )]
    ScaledToZero,
}

impl ProfileProblem {
    /// The kind of problem, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::Disabled => "Disabled",
            Self::Kind(_) => "TargetKind",
            Self::NotFound(_) => "TargetNotFound",
            Self::Rival(_) => "TargetConflict",
            Self::ScaledToZero => SCALED_TO_ZERO,
        }
    }

    /// True where the Pods stay as they are meanwhile: a spec that is mended in a moment is not to bring all
    /// of them online first.
    pub(super) const fn keeps_pods(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::ScaledToZero)
    }
}

/// A profile that is followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptedProfile<'a> {
    pub(super) rules: &'a ProfileRules,
    pub(super) workload: &'a Workload,
}

/// The rules and the workload of a profile.
///
/// # Errors
/// The reason for which the profile is not followed.
pub(super) fn accepted<'a>(
    profiled: &'a ProfileObjects,
    context: &ProfileContext<'_>,
) -> Result<AcceptedProfile<'a>, ProfileProblem> {
    let profile: &CheckedReplicaProfile = &profiled.profile;
    let target = &profile.object.spec.scale_target_ref;
    if !context.settings.follows_profiles {
        return Err(ProfileProblem::Disabled);
    }
    let rules = profile
        .rules()
        .map_err(|error| ProfileProblem::Invalid(error.clone()))?;
    if profile.kind().is_none() {
        return Err(ProfileProblem::Kind(target.to_string()));
    }
    let workload = profiled.workload.as_deref();
    let workload = workload.ok_or_else(|| ProfileProblem::NotFound(target.to_string()))?;
    let scalers = &profiled.scalers;
    match scalers.beside(&profile.object, context.settings) {
        Some(rival) => Err(ProfileProblem::Rival(rival)),
        None if rests_at_zero(&profile.object, rules, workload) => {
            Err(ProfileProblem::ScaledToZero)
        }
        None => Ok(AcceptedProfile { rules, workload }),
    }
}

/// True for a count of 0 that the user has set by hand where an autoscaler has the profile, which switches that off. The profile
/// itself never comes to 0 while it wants Pods: there were some under these counts, or it rested already.
fn rests_at_zero(profile: &ReplicaProfile, rules: &ProfileRules, workload: &Workload) -> bool {
    let owner = profile.metadata.controller();
    let is_autoscalers = owner.is_some_and(|owner| owner.kind == Kind::Ihpa.as_str());
    let status = profile.status.as_ref();
    let told = status.filter(|told| told.observed_generation == profile.metadata.generation);
    let had = told.is_some_and(|told| {
        let counts = [
            told.online_replicas,
            told.cutoff_replicas,
            told.standby_replicas,
        ];
        let rests = (told.conditions.iter())
            .any(|one| one.kind == ReplicaProfileStatus::APPLIED && one.reason == SCALED_TO_ZERO);
        rests || counts.into_iter().flatten().any(|count| count > 0)
    });
    is_autoscalers && workload.replicas == 0 && rules.wanted.total() > 0 && had
}
