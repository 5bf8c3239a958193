//! What stands against following a profile at all.

use super::profiled::{Context, Profiled};
use crate::replica_profile::{CheckedReplicaProfile, ReplicaProfileError};
use crate::workload::Workload;
use evenkeel_core::scaling::replica_profile::Rules;

/// A reason for which a profile is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileProblem {
    /// The spec is not accepted.
    #[error(transparent)]
    Invalid(ReplicaProfileError),
    /// The installation may not write on Pods.
    #[error(
        "this installation changes no Pods: it needs scaling.replicaProfiles: on, which the component \
         replica-profiles sets with the rights for it"
    )]
    Disabled,
    /// The workload is of another kind.
    #[error("{0} is not a Deployment, a StatefulSet or a ReplicaSet")]
    Kind(String),
    /// There is no such workload.
    #[error("there is no {0} in this namespace")]
    NotFound(String),
    /// Something else scales the workload.
    #[error("{0} scales the workload as well; accepted: one of them")]
    Rival(String),
}

impl ProfileProblem {
    /// The kind of problem, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::Disabled => "Disabled",
            Self::Kind(_) => "TargetKind",
            Self::NotFound(_) => "TargetNotFound",
            Self::Rival(_) => "TargetConflict",
        }
    }

    /// True where the Pods stay as they are meanwhile: a spec that is mended in a moment is not to bring all
    /// of them online first.
    pub(super) const fn keeps_pods(&self) -> bool {
        matches!(self, Self::Invalid(_))
    }
}

/// A profile that is followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepted<'a> {
    pub(super) rules: &'a Rules,
    pub(super) workload: &'a Workload,
}

/// The rules and the workload of a profile.
///
/// # Errors
/// What stands against it.
pub(super) fn accepted<'a>(
    profiled: &'a Profiled,
    context: &Context<'_>,
) -> Result<Accepted<'a>, ProfileProblem> {
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
        None => Ok(Accepted { rules, workload }),
    }
}
