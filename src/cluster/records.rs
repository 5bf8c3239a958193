//! What is remembered of objects beside the node table.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;
use moka::sync::Cache;

use evenkeel_core::placement::usage::PodName;
use evenkeel_kubernetes::annotations::InvalidAnnotation;
use evenkeel_kubernetes::meta::Meta;
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;
use evenkeel_kubernetes::pod::Pod;

/// The kinds of object that are watched.
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
    /// HorizontalPodAutoscalers.
    Autoscaler,
    /// Deployments.
    Deployment,
    /// StatefulSets.
    StatefulSet,
    /// KEDA's ScaledObjects, where the cluster has them.
    ScaledObject,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Node,
        Self::Pod,
        Self::Namespace,
        Self::ReplicaSet,
        Self::Job,
        Self::Autoscaler,
        Self::Deployment,
        Self::StatefulSet,
        Self::ScaledObject,
    ];

    /// Those that must have been listed before Pods are judged and the service is ready.
    pub const PLACEMENT: [Self; 5] = [
        Self::Node,
        Self::Pod,
        Self::Namespace,
        Self::ReplicaSet,
        Self::Job,
    ];

    /// Those that must have been listed before anything is scaled. The service is ready without
    /// them: admission and the extender ask nothing of autoscalers.
    pub const SCALING: [Self; 7] = [
        Self::Pod,
        Self::Namespace,
        Self::ReplicaSet,
        Self::Autoscaler,
        Self::Deployment,
        Self::StatefulSet,
        Self::ScaledObject,
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
            Self::Autoscaler => "horizontalpodautoscaler",
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
            Self::ScaledObject => "scaledobject",
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
    /// The object's kind in Kubernetes.
    pub kind: &'static str,
    /// Its namespace; `None` for cluster objects.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What is said of the value.
    pub note: String,
}

impl Misunderstood {
    /// What is said of an annotation that is not accepted.
    #[must_use]
    pub fn new(kind: &'static str, metadata: &Meta, invalid: &InvalidAnnotation) -> Self {
        Self {
            kind,
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            note: invalid.to_string(),
        }
    }
}

/// Values that wait to be told, without those that were told lately.
///
/// Both are bounded: a replica that does not lead tells nothing, and a user may write any number
/// of values that are not understood.
#[derive(Debug)]
pub(super) struct Untold {
    waiting: VecDeque<Misunderstood>,
    seen: Cache<u64, ()>,
    hasher: RandomState,
}

/// Values that wait at most; further ones drop the oldest.
const WAITING: usize = 256;

/// Values that are remembered as seen: each takes some 100 bytes.
const SEEN: u64 = 10_000;

impl Default for Untold {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            seen: Cache::builder()
                .max_capacity(SEEN)
                .eviction_policy(moka::policy::EvictionPolicy::lru())
                .build(),
            hasher: RandomState::default(),
        }
    }
}

impl Untold {
    pub(super) fn take(&mut self, most: usize) -> Vec<Misunderstood> {
        let count = most.min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }
}

impl Extend<Misunderstood> for Untold {
    fn extend<I: IntoIterator<Item = Misunderstood>>(&mut self, values: I) {
        for value in values {
            let digest = self.hasher.hash_one(&value);
            if self.seen.contains_key(&digest) {
                continue;
            }
            self.seen.insert(digest, ());
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: usize) -> Misunderstood {
        Misunderstood {
            kind: "Pod",
            namespace: None,
            name: number.to_string(),
            uid: number.to_string(),
            note: String::new(),
        }
    }

    #[test]
    fn each_value_is_told_once_however_often_it_is_seen() {
        let mut untold = Untold::default();
        untold.extend([value(1), value(2), value(1)]);
        assert_eq!(untold.take(1), [value(1)]);
        untold.extend([value(1)]);
        assert_eq!(untold.take(9), [value(2)]);
    }

    #[test]
    fn where_nobody_tells_the_newest_wait() {
        let mut untold = Untold::default();
        untold.extend((0..1000).map(value));
        let waiting = untold.take(usize::MAX);
        assert_eq!(waiting.len(), WAITING);
        assert_eq!(waiting.last(), Some(&value(999)));
    }
}
