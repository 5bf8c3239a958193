//! The rules that hold for one Pod, or the exemption from them.

use evenkeel_objects::namespace_policy::{NamespacePolicy, RelaxAfter};
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_objects::pod::Pod;
use evenkeel_units::{Ratio, words};
use jiff::{SignedDuration, Timestamp};

use crate::SchedulingPolicy;
use crate::demand::{Demand, demand};
use crate::score_labels::terms::carried_shape;
use crate::snapshot::{OptIn, Snapshot, SnapshotGap};

/// The circumstances in which one Pod is judged.
#[derive(Debug, Clone, Copy)]
pub struct PlacementContext<'a> {
    pub snapshot: &'a Snapshot,
    pub policy: &'a SchedulingPolicy,
    pub now: Timestamp,
    /// The time since which this Pod has been refused; `None` while it has not been.
    pub refused_since: Option<Timestamp>,
}

words! {
    /// A reason for which all nodes pass without a judgement.
    pub enum Exemption {
        /// The Pod's namespace has not been seen.
        NamespaceUnknown = "namespace_unknown",
        /// The Pod's namespace has not opted in.
        NotOptedIn = "not_opted_in",
        Skipped = "skipped",
        /// The Pod belongs to a DaemonSet: its node is given.
        DaemonSet = "daemon_set",
        /// The Pod mirrors a static one, which runs already.
        Mirror = "mirror",
        /// The Pod has a `system-*-critical` priority class.
        Critical = "critical",
        /// The objects of the cluster have not all been listed.
        NotSynced = "not_synced",
        /// No node has a fresh measurement.
        NoMetrics = "no_metrics",
        /// The Pod has score terms, so NodeAffinity scores the nodes. Prioritize alone is exempt.
        ScoreTerms = "score_terms",
    }
}

impl Exemption {
    /// The reason after "because".
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::NamespaceUnknown => "its namespace is not known",
            Self::NotOptedIn => {
                "its namespace has not opted in (annotation evenkeel.dev/enabled: \"true\")"
            }
            Self::Skipped => "it has the annotation evenkeel.dev/skip: \"true\"",
            Self::DaemonSet => "it belongs to a DaemonSet, which names its node",
            Self::Mirror => "it mirrors a static Pod, which runs already",
            Self::Critical => "its priority class is critical to the system",
            Self::NotSynced => "the objects of the cluster are not all listed yet",
            Self::NoMetrics => "no node has a fresh measurement",
            Self::ScoreTerms => "score labels are on, and it has terms that read them",
        }
    }

    /// True if prioritize scores the nodes anyway: the Pod is exempt from the headroom rule alone.
    pub const fn is_scored(self) -> bool {
        matches!(self, Self::DaemonSet | Self::Mirror | Self::Critical)
    }
}

/// The figures and rules by which one Pod is judged.
#[derive(Debug, Clone)]
pub(crate) struct PlacementRules<'a> {
    /// R in `[CLBP] (4.1)`, with the source of each number.
    pub demand: Demand,
    /// h in `[CLBP] (4.1)`: the largest share of a node that may be in use.
    pub headroom: Ratio,
    pub namespace: &'a NamespacePolicy,
}

impl<'a> PlacementRules<'a> {
    /// The rules for `pod`.
    ///
    /// # Errors
    /// The exemption, where `pod` is not judged and every node passes. That is no failure.
    pub(crate) fn of(pod: &Pod, call: &PlacementContext<'a>) -> Result<Self, Exemption> {
        let namespace = match call.snapshot.opt_in(pod.namespace()) {
            _ if !call.snapshot.synced => return Err(Exemption::NotSynced),
            OptIn::Unknown => return Err(Exemption::NamespaceUnknown),
            OptIn::Out => return Err(Exemption::NotOptedIn),
            OptIn::In(policy) => policy,
        };
        if pod.is_skipped() {
            return Err(Exemption::Skipped);
        }
        Ok(Self::within(namespace, pod, call.policy))
    }

    /// The rules for `pod` if it were judged. An unknown namespace has no policy of its own.
    pub(crate) fn if_judged(pod: &Pod, call: &PlacementContext<'a>) -> Self {
        static NO_POLICY: NamespacePolicy = NamespacePolicy {
            enabled: false,
            headroom: None,
            profile_threshold: None,
            no_headroom: None,
            relax_after: None,
            score_labels: None,
            scaling: None,
            risk: None,
            tuning: None,
        };
        let namespace = call.snapshot.namespaces.get(pod.namespace());
        Self::within(
            namespace.map_or(&NO_POLICY, |policy| policy),
            pod,
            call.policy,
        )
    }

    /// True if the Pod goes to the least loaded nodes, given that no requested node has headroom.
    /// The policy decides, unless another node has room that kube-scheduler may only not have
    /// shown. A Pod that has waited long enough goes anyway: that node was not among those
    /// requested meanwhile.
    pub(crate) fn relaxes(&self, call: &PlacementContext<'_>, room_elsewhere: bool) -> bool {
        let mode = self
            .namespace
            .no_headroom
            .unwrap_or(call.policy.no_headroom);
        mode == NoHeadroom::Relax && !room_elsewhere || self.has_waited_out(call)
    }

    /// True once the Pod has been refused for as long as its policy allows.
    fn has_waited_out(&self, call: &PlacementContext<'_>) -> bool {
        let limit: Option<SignedDuration> = match self.namespace.relax_after {
            Some(RelaxAfter::Never) => None,
            Some(RelaxAfter::After(limit)) => Some(limit),
            None => call.policy.relax_after,
        };
        limit
            .zip(call.refused_since)
            .is_some_and(|(limit, since)| call.now.duration_since(since) >= limit)
    }

    fn within(namespace: &'a NamespacePolicy, pod: &Pod, policy: &SchedulingPolicy) -> Self {
        Self {
            demand: demand(pod, policy.caps_as_demand),
            headroom: headroom_for(pod.spec.priority_class_name.as_deref(), namespace, policy),
            namespace,
        }
    }
}

/// The Pod's exemption; one from any score comes before one from the headroom rule alone.
pub fn exemption(pod: &Pod, call: &PlacementContext<'_>) -> Option<Exemption> {
    PlacementRules::of(pod, call)
        .err()
        .or_else(|| blind(call.snapshot))
        .or_else(|| headroom_exemption(pod))
}

/// h for Pods: that of their priority class, else that of their namespace, else the configured one.
pub(crate) fn headroom_for(
    priority_class: Option<&str>,
    namespace: &NamespacePolicy,
    policy: &SchedulingPolicy,
) -> Ratio {
    priority_class
        .and_then(|class| policy.headroom_by_priority_class.get(class))
        .copied()
        .or(namespace.headroom)
        .unwrap_or(policy.headroom)
}

/// The exemption from scores of a Pod that score labels place: its score would count twice. Terms
/// that read labels of no node place it nowhere.
pub(super) fn labels_exemption(
    pod: &Pod,
    snapshot: &Snapshot,
    policy: &SchedulingPolicy,
) -> Option<Exemption> {
    policy.score_labels.as_ref()?;
    let carried = carried_shape(&pod.spec.preferred_node_terms)?;
    let is_placed = snapshot.labelled_shapes.contains(&carried);
    is_placed.then_some(Exemption::ScoreTerms)
}

pub(super) fn headroom_exemption(pod: &Pod) -> Option<Exemption> {
    if pod.is_mirror() {
        Some(Exemption::Mirror)
    } else if pod.is_daemon_set() {
        Some(Exemption::DaemonSet)
    } else if pod.is_system_critical() {
        Some(Exemption::Critical)
    } else {
        None
    }
}

/// True if the headroom rule holds for Pods of this kind, so that their claims were checked against
/// the node.
pub fn has_checked_claims(pod: &Pod) -> bool {
    !pod.is_skipped() && headroom_exemption(pod).is_none()
}

/// The exemption of every Pod while too little is known of the cluster.
pub(super) fn blind(snapshot: &Snapshot) -> Option<Exemption> {
    snapshot.blind().map(|blind| match blind {
        SnapshotGap::NotSynced => Exemption::NotSynced,
        SnapshotGap::NoMetrics => Exemption::NoMetrics,
    })
}
