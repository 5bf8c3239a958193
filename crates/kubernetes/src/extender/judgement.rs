//! Whether a Pod is judged at all, and what holds for it if it is.

use jiff::{SignedDuration, Timestamp};

use crate::demand::{Demand, demand};
use crate::namespace_policy::{NamespacePolicy, RelaxAfter};
use crate::pod::Pod;
use crate::snapshot::{Blind, OptIn, Snapshot};
use evenkeel_core::placement::{NoHeadroom, Policy};
use evenkeel_core::units::Ratio;

/// What a call is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// The configuration.
    pub policy: &'a Policy,
    /// The time of the request.
    pub now: Timestamp,
    /// Since when this Pod has been refused, if it waits.
    pub refused_since: Option<Timestamp>,
}

/// Why all nodes pass without a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// The Pod's namespace has not been seen.
    NamespaceUnknown,
    /// The Pod's namespace has not opted in.
    NotOptedIn,
    /// The Pod is annotated to be skipped.
    Skipped,
    /// The Pod belongs to a DaemonSet: its node is given.
    DaemonSet,
    /// The Pod mirrors a static one, which runs already.
    Mirror,
    /// The Pod has a `system-*-critical` priority class.
    Critical,
    /// The objects of the cluster have not all been listed.
    NotSynced,
    /// No node has a fresh measurement.
    NoMetrics,
}

impl Pass {
    /// The name in metrics and explanations.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceUnknown => "namespace_unknown",
            Self::NotOptedIn => "not_opted_in",
            Self::Skipped => "skipped",
            Self::DaemonSet => "daemon_set",
            Self::Mirror => "mirror",
            Self::Critical => "critical",
            Self::NotSynced => "not_synced",
            Self::NoMetrics => "no_metrics",
        }
    }
}

/// What holds for one Pod: its demand, its headroom ratio and its namespace's policy.
#[derive(Debug, Clone)]
pub struct Judgement<'a> {
    /// R.
    pub demand: Demand,
    /// h.
    pub headroom: Ratio,
    /// The policy of its namespace.
    pub namespace: &'a NamespacePolicy,
}

impl<'a> Judgement<'a> {
    /// What holds for `pod`, or why it is not judged.
    ///
    /// # Errors
    /// Not a failure: the reason for which every node passes.
    pub fn of(pod: &Pod, call: &Call<'a>) -> Result<Self, Pass> {
        let namespace = match call.snapshot.opt_in(pod.namespace()) {
            _ if !call.snapshot.synced => return Err(Pass::NotSynced),
            OptIn::Unknown => return Err(Pass::NamespaceUnknown),
            OptIn::Out => return Err(Pass::NotOptedIn),
            OptIn::In(policy) => policy,
        };
        if pod.is_skipped() {
            return Err(Pass::Skipped);
        }
        Ok(Self::within(namespace, pod, call.policy))
    }

    /// What would hold for `pod` if it were judged; a namespace that is not known has no policy of
    /// its own.
    #[must_use]
    pub fn if_judged(pod: &Pod, call: &Call<'a>) -> Self {
        static NO_POLICY: NamespacePolicy = NamespacePolicy {
            enabled: false,
            headroom: None,
            profile_threshold: None,
            no_headroom: None,
            relax_after: None,
            scaling: None,
        };
        let namespace = call.snapshot.namespaces.get(pod.namespace());
        Self::within(
            namespace.map_or(&NO_POLICY, |policy| policy),
            pod,
            call.policy,
        )
    }

    /// Whether the Pod goes to the least loaded nodes, now that no node asked about has headroom.
    ///
    /// By policy it does when no node of the cluster has any. One that has waited long enough does
    /// even where another node has room: that node was not among those asked about for as long as
    /// it waited, so the Pod cannot go there.
    #[must_use]
    pub fn relaxes(&self, call: &Call<'_>, room_somewhere: bool) -> bool {
        let mode = self
            .namespace
            .no_headroom
            .unwrap_or(call.policy.no_headroom);
        mode == NoHeadroom::Relax && !room_somewhere || self.has_waited_out(call)
    }

    /// Whether the Pod has been refused for as long as its policy allows.
    #[must_use]
    pub fn has_waited_out(&self, call: &Call<'_>) -> bool {
        let limit: Option<SignedDuration> = match self.namespace.relax_after {
            Some(RelaxAfter::Never) => None,
            Some(RelaxAfter::After(limit)) => Some(limit),
            None => call.policy.relax_after,
        };
        limit
            .zip(call.refused_since)
            .is_some_and(|(limit, since)| call.now.duration_since(since) >= limit)
    }

    fn within(namespace: &'a NamespacePolicy, pod: &Pod, policy: &Policy) -> Self {
        Self {
            demand: demand(pod, policy.caps_as_demand),
            headroom: headroom_for(pod, namespace, policy),
            namespace,
        }
    }
}

/// Why every node passes without a judgement, if so.
#[must_use]
pub fn unjudged(pod: &Pod, call: &Call<'_>) -> Option<Pass> {
    Judgement::of(pod, call)
        .err()
        .or_else(|| exemption(pod))
        .or_else(|| blind(call.snapshot))
}

/// h for a Pod: that of its priority class, else its namespace's, else the configured one.
#[must_use]
pub fn headroom_for(pod: &Pod, namespace: &NamespacePolicy, policy: &Policy) -> Ratio {
    pod.spec
        .priority_class_name
        .as_deref()
        .and_then(|class| policy.headroom_by_priority_class.get(class))
        .copied()
        .or(namespace.headroom)
        .unwrap_or(policy.headroom)
}

/// Why the headroom rule does not hold for a Pod, if so.
#[must_use]
pub fn exemption(pod: &Pod) -> Option<Pass> {
    if pod.is_mirror() {
        Some(Pass::Mirror)
    } else if pod.is_daemon_set() {
        Some(Pass::DaemonSet)
    } else if pod.is_system_critical() {
        Some(Pass::Critical)
    } else {
        None
    }
}

pub(super) fn blind(snapshot: &Snapshot) -> Option<Pass> {
    snapshot.blind().map(|blind| match blind {
        Blind::NotSynced => Pass::NotSynced,
        Blind::NoMetrics => Pass::NoMetrics,
    })
}
