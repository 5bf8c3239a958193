//! The rules of a profile, and the workload that they are applied to, at one moment.

use evenkeel_objects::rollout::RolloutProgress;
use jiff::{SignedDuration, Timestamp};

use super::limits::DisruptionLimits;
use super::pod::ProfilePod;

/// A workload and its Pods at one moment.
#[derive(Debug, Clone, Copy)]
pub struct ProfileInput<'a> {
    /// The count in the spec of the workload now.
    pub replicas: i32,
    /// Its Pods that are neither finished nor being deleted, those first that its controller would delete
    /// first.
    pub pods: &'a [ProfilePod],
    pub limits: &'a DisruptionLimits,
    /// True while its Pods are replaced by those of another version: which ones go is not to be chosen then.
    pub is_rolling: bool,
    /// How far its controller says that it has brought its version out.
    pub progress: RolloutProgress,
    /// For how long a Pod has to be ready before its controller takes it for available.
    pub min_ready: SignedDuration,
    /// Since when a scale-in waits for limits ([`ProfilePlan::waits`](super::ProfilePlan::waits)).
    pub waits_since: Option<Timestamp>,
    pub now: Timestamp,
}

impl ProfileInput<'_> {
    /// True where its controller deletes the Pod with the highest ordinal, whatever it does.
    pub(super) fn goes_by_ordinals(&self) -> bool {
        self.pods.iter().any(|pod| pod.ordinal.is_some())
    }
}
