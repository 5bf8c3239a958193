//! The objects of one target side by side, as the watches hold them.

use std::sync::Arc;

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::start_time::StartTime;
use evenkeel_objects::workload::Workload;

use super::observed_profiles::ObservedProfiles;
use super::reference::TargetRef;
use super::scaled_object::ScaledObject;
use crate::specs::horizontal_portrait::CheckedHorizontalPortrait;
use crate::specs::ihpa::CheckedIhpa;

/// The objects of what may be a target: an autoscaler or an annotated workload, with all that
/// belongs to it.
#[derive(Debug, Clone)]
pub struct TargetObjects {
    /// The namespace of all of the objects.
    pub namespace: Arc<str>,
    /// The policy of that namespace; the default, which opts out, where it is not known.
    pub namespace_policy: Arc<NamespacePolicy>,
    /// The HPA; `None` for a workload without one.
    pub autoscaler: Option<Arc<Autoscaler>>,
    /// The IntelligentHorizontalPodAutoscaler; `None` for a target without one. A target with an IHPA has no HPA
    /// here: an HPA is another target, and the two are in conflict.
    pub ihpa: Option<Arc<CheckedIhpa>>,
    /// The portraits that others make for the IHPA.
    pub portraits: Vec<Arc<CheckedHorizontalPortrait>>,
    /// The ReplicaProfiles that it has to do with.
    pub profiles: ObservedProfiles,
    /// The KEDA ScaledObject that manages the HPA, or that has lost its HPA.
    pub scaled_object: Option<Arc<ScaledObject>>,
    /// The workload that is scaled, where it is a Deployment or a StatefulSet that exists.
    pub workload: Option<Arc<Workload>>,
    /// The workload by its full name, whether it exists or not.
    pub target: TargetRef,
    /// The Pods of the workload.
    pub pods: TargetPodFacts,
}

impl TargetObjects {
    /// A target of which no object is known yet.
    pub fn alone(target: TargetRef) -> Self {
        Self {
            namespace: target.namespace().into(),
            namespace_policy: Arc::default(),
            autoscaler: None,
            ihpa: None,
            portraits: Vec::new(),
            profiles: ObservedProfiles::default(),
            scaled_object: None,
            workload: None,
            target,
            pods: TargetPodFacts::default(),
        }
    }

    /// The replicas of a workload with one Pod for each replica, if its controller may run surplus Pods for a
    /// while. `None` for any other workload: in unknown kinds, a replica may be a group of Pods.
    pub(crate) fn replicas_of_pods(&self) -> Option<i32> {
        let is_known = match self.target.foreign_group() {
            None => self.target.kind() == "Deployment",
            Some("argoproj.io") => self.target.kind() == "Rollout",
            Some("apps.kruise.io") => self.target.kind() == "CloneSet",
            Some(_) => false,
        };
        let workload = self.workload.as_ref().filter(|_| is_known)?;
        Some(workload.replicas)
    }
}

/// The Pods of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetPodFacts {
    /// Those that have not ended, in no order.
    pub members: Vec<Arc<PodFacts>>,
    /// The starts of the last 50 that became ready for the first time, the newest last.
    pub starts: Vec<StartTime>,
}

/// The Pods that are known, of those that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownPods {
    /// All, but for a few.
    Enough,
    /// Fewer than three of four.
    TooFew,
    None,
}

impl KnownPods {
    pub(crate) fn of(observed: &TargetObjects) -> Self {
        let workload = observed.workload.as_deref();
        let custom = workload.and_then(|workload| Some((workload.replicas, workload.custom?)));
        let Some((replicas, scale)) = custom else {
            return Self::Enough;
        };
        let known = observed.pods.members.len();
        let there = usize::try_from(scale.pods).unwrap_or(0);
        if there == 0 || replicas <= 0 {
            Self::Enough
        } else if known == 0 {
            Self::None
        } else if known.saturating_mul(4) < there.saturating_mul(3) {
            Self::TooFew
        } else {
            Self::Enough
        }
    }
}
