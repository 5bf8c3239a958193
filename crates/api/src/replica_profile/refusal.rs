//! The reasons why a ReplicaProfile is applied only in part, or not at all.

use std::fmt;

use super::direction::Direction;

/// A reason for which something that a profile asks for is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileRefusal {
    /// The profile is paused.
    Paused,
    /// The direction of the change is not allowed.
    Direction {
        allowed: Direction,
        current: i32,
        wanted: i32,
    },
    /// More would be out of traffic than the workload's `maxUnavailable`.
    MaxUnavailable { wanted: i32, allowed: i32 },
    /// So many Pods are unavailable that `maxUnavailable` lets no further one be taken out of traffic.
    Unavailable { pods: i32 },
    /// A StatefulSet that waits for each Pod to be ready does nothing while more than one is not.
    Ordered { wanted: i32 },
    /// A PodDisruptionBudget has no disruption left.
    DisruptionBudget { name: String },
    /// These Pods have no readiness gate.
    NoGate { pods: i32 },
    /// These Pods do not get their resources back at present.
    Withheld { pods: i32 },
}

impl ProfileRefusal {
    /// The reasons for which Pods stay in traffic that are wanted out of it.
    const OF_STAYING: [&str; 4] = [
        "MaxUnavailable",
        "OrderedReady",
        "PodDisruptionBudget",
        "NoReadinessGate",
    ];

    /// The reason of this word, where it is one for which Pods stay in traffic that are wanted out of it.
    pub fn of_staying(word: &str) -> Option<&'static str> {
        Self::OF_STAYING.into_iter().find(|one| *one == word)
    }

    /// The reason in one word, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Paused => "Paused",
            Self::Direction { .. } => "DirectionNotAllowed",
            Self::MaxUnavailable { .. } | Self::Unavailable { .. } => "MaxUnavailable",
            Self::Ordered { .. } => "OrderedReady",
            Self::DisruptionBudget { .. } => "PodDisruptionBudget",
            Self::NoGate { .. } => "NoReadinessGate",
            Self::Withheld { .. } => "ResourcesWithheld",
        }
    }
}

impl fmt::Display for ProfileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused => f.write_str("the profile is paused"),
            Self::Direction {
                allowed,
                current,
                wanted,
            } => write!(
                f,
                "allowedScalingDirection is {}: {current} online replicas stay, and the profile \
                 asks for {wanted}",
                allowed.as_str()
            ),
            Self::MaxUnavailable { wanted, allowed } => write!(
                f,
                "the profile asks for {wanted} Pods out of traffic, and maxUnavailable of the \
                 workload allows {allowed}"
            ),
            Self::Unavailable { pods } => write!(
                f,
                "{pods} Pods are not ready, so maxUnavailable of the workload allows no other Pod \
                 out of traffic"
            ),
            Self::Ordered { wanted } => write!(
                f,
                "the profile asks for {wanted} Pods out of traffic, and a StatefulSet with \
                 podManagementPolicy OrderedReady stops if more than one Pod is not ready; \
                 accepted: 1 Pod, or podManagementPolicy Parallel"
            ),
            Self::DisruptionBudget { name } => write!(
                f,
                "the PodDisruptionBudget {name} allows no further Pod out of traffic"
            ),
            Self::NoGate { pods } => write!(
                f,
                "{pods} Pods have no readiness gate evenkeel.dev/online and stay in traffic until \
                 they are recreated: they are older than the profile, or were created while \
                 Evenkeel could not set the condition of the gate"
            ),
            Self::Withheld { pods } => write!(
                f,
                "{pods} Pods take no traffic because they cannot get their resources back: their \
                 nodes or a quota of the namespace have no room"
            ),
        }
    }
}
