//! The objects that set the count of a workload beside a ReplicaProfile. The decision is that of the scaling loop,
//! so that two objects that would set the count each see the other.

use std::sync::Arc;

use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfile};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaling_mode::ScalingMode;

use super::owner::Owner;
use super::requested_policy::RequestedPolicy;
use super::settings::Settings;
use super::target_objects::TargetObjects;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::specs::ihpa::CheckedIhpa;

/// All that may set the count of one workload, but for the profile that is asked about.
#[derive(Debug, Clone, Default)]
pub struct Scalers {
    /// The targets of scaling that it is.
    pub targets: Vec<TargetObjects>,
    /// The CronHPAs that name it themselves.
    pub crons: Vec<Arc<CheckedCronHpa>>,
    /// The other profiles about it.
    pub profiles: Vec<Arc<CheckedReplicaProfile>>,
}

impl Scalers {
    /// The other object that sets the count, such as `HorizontalPodAutoscaler web`; the profile's own IHPA is none.
    pub fn beside(&self, profile: &ReplicaProfile, settings: &Settings) -> Option<String> {
        let is_own = |ihpa: &CheckedIhpa| profile.belongs_to(&ihpa.object.metadata);
        let mut targets = self.targets.iter().filter(|observed| {
            let is_own = observed.ihpa.as_deref().is_some_and(is_own);
            !is_own && sets_count(observed, settings)
        });
        let named = |kind: Kind, name: Option<&str>| {
            let name = name.unwrap_or_default();
            format!("{} {name}", kind.as_str())
        };
        let target = targets.next().map(|observed| {
            let scaler = Owner::scaler(observed);
            scaler.map_or_else(
                || "mode direct of its annotations".to_owned(),
                |scaler| named(scaler.kind, scaler.metadata.name.as_deref()),
            )
        });
        target
            .or_else(|| {
                let cron = self.cron()?;
                Some(named(Kind::CronHpa, cron.object.metadata.name.as_deref()))
            })
            .or_else(|| {
                let other = self.profiles.first()?;
                Some(named(Kind::ReplicaProfile, Some(other.object.name())))
            })
    }

    /// A CronHPA that is followed, as none is beside an IHPA.
    fn cron(&self) -> Option<&CheckedCronHpa> {
        let by_portraits = self.targets.iter().any(|one| one.ihpa.is_some());
        let mut crons = self.crons.iter().filter(|_| !by_portraits);
        crons.find(|cron| cron.is_active()).map(|cron| &**cron)
    }
}

/// True where the count of a target's workload is set: by the HPA, or by the loop of scaling.
fn sets_count(observed: &TargetObjects, settings: &Settings) -> bool {
    if observed.autoscaler.is_some() {
        return true;
    }
    let rules = observed.ihpa.as_ref().and_then(|ihpa| ihpa.rules().ok());
    let is_paused = rules.is_some_and(|rules| rules.paused);
    let has_owner = Owner::of(observed).is_some();
    let mode = RequestedPolicy::of(observed).mode(observed, settings, has_owner);
    mode == ScalingMode::Direct && !is_paused
}
