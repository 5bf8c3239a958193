//! What is remembered of objects beside the node table.

use std::sync::Arc;

use jiff::Timestamp;

use crate::kubernetes::namespace_policy::NamespacePolicy;
use crate::kubernetes::pod::Pod;
use crate::placement::usage::PodName;

/// The kinds of object that are watched; all must have been listed before anything is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Nodes.
    Node,
    /// Pods.
    Pod,
    /// Namespaces.
    Namespace,
    /// ReplicaSets, for the Deployments that own them.
    ReplicaSet,
    /// Jobs, for the CronJobs that own them.
    Job,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Node,
        Self::Pod,
        Self::Namespace,
        Self::ReplicaSet,
        Self::Job,
    ];

    /// The name in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Pod => "pod",
            Self::Namespace => "namespace",
            Self::ReplicaSet => "replicaset",
            Self::Job => "job",
        }
    }
}

/// A Pod that no node had headroom for, by what kube-scheduler wrote into its status.
#[derive(Debug, Clone)]
pub struct WaitingPod {
    /// Its name.
    pub name: PodName,
    /// The Pod, as far as rules read it.
    pub pod: Arc<Pod>,
    /// Since when it has been unschedulable.
    pub since: Timestamp,
}

/// A namespace as plans need it.
#[derive(Debug, Clone)]
pub struct NamespaceRecord {
    /// Its policy.
    pub policy: Arc<NamespacePolicy>,
    /// The version it was read at.
    pub resource_version: String,
    /// The mirror label as it stands.
    pub label: Option<String>,
}

/// A value that was not understood, and on which object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Misunderstood {
    /// `Node`, `Namespace` or `Pod`.
    pub kind: &'static str,
    /// The namespace of a Pod.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What is said of the value.
    pub note: String,
}
