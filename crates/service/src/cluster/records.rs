//! The kinds that are watched, and the records of objects beside the node table.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::plan::annotation_warning::AnnotationWarning;
use foldhash::fast::RandomState;
use jiff::Timestamp;
use moka::sync::Cache;

pub const WATCHED: [Kind; 15] = [
    Kind::Node,
    Kind::Pod,
    Kind::Namespace,
    Kind::ReplicaSet,
    Kind::Job,
    Kind::HorizontalPodAutoscaler,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::ScaledObject,
    Kind::CronHpa,
    Kind::ReplicaProfile,
    Kind::PodDisruptionBudget,
    Kind::Ihpa,
    Kind::HorizontalPortrait,
];

/// The kinds to list before Pods are judged and the service is ready. ReplicaSets and Jobs lead to
/// workloads.
pub const PLACEMENT: [Kind; 5] = [
    Kind::Node,
    Kind::Pod,
    Kind::Namespace,
    Kind::ReplicaSet,
    Kind::Job,
];

/// The kinds to list before anything is scaled. The service is ready without them: admission and
/// the extender do not use autoscalers.
pub const SCALING: [Kind; 10] = [
    Kind::Pod,
    Kind::Namespace,
    Kind::ReplicaSet,
    Kind::HorizontalPodAutoscaler,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::ScaledObject,
    Kind::CronHpa,
    Kind::Ihpa,
    Kind::HorizontalPortrait,
];

/// The custom resources among these that Evenkeel knows itself. If a list of one is unreadable,
/// Evenkeel stops waiting for it after a while, because any user may have caused the fault.
pub(super) const WAITED_FOR: [Kind; 4] = [
    Kind::ScaledObject,
    Kind::CronHpa,
    Kind::Ihpa,
    Kind::HorizontalPortrait,
];

/// A Pod that no node had headroom for, by what kube-scheduler wrote into its status.
#[derive(Debug, Clone)]
pub struct WaitingPod {
    /// The Pod, as far as rules read it.
    pub pod: Arc<Pod>,
    /// The time since which it has been refused.
    pub since: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NamespaceRecord {
    pub policy: Arc<NamespacePolicy>,
    pub resource_version: String,
    pub label: Option<String>,
}

/// Warnings to write, without recent repeats. Both are bounded: a replica that does not lead writes
/// nothing, and users may give any number of invalid values.
#[derive(Debug)]
pub(super) struct WarningQueue {
    waiting: VecDeque<AnnotationWarning>,
    seen: Cache<u64, ()>,
    hasher: RandomState,
}

/// The most warnings that wait; further ones drop the oldest.
const WAITING: usize = 256;

/// The most warnings that are remembered as seen: each takes some 100 bytes.
const SEEN: u64 = 10_000;

impl Default for WarningQueue {
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

impl WarningQueue {
    pub(super) fn take(&mut self, most: usize) -> Vec<AnnotationWarning> {
        let count = most.min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }
}

impl Extend<AnnotationWarning> for WarningQueue {
    fn extend<I: IntoIterator<Item = AnnotationWarning>>(&mut self, warnings: I) {
        for warning in warnings {
            let digest = self.hasher.hash_one(&warning);
            if self.seen.contains_key(&digest) {
                continue;
            }
            self.seen.insert(digest, ());
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::plan::event::RegardingObject;

    use super::*;

    fn warning(number: usize) -> AnnotationWarning {
        AnnotationWarning {
            regarding: RegardingObject {
                kind: Kind::Pod,
                namespace: None,
                name: number.to_string(),
                uid: number.to_string(),
            },
            note: String::new(),
        }
    }

    #[test]
    fn each_warning_is_taken_once_however_often_it_is_seen() {
        let mut queue = WarningQueue::default();
        queue.extend([warning(1), warning(2), warning(1)]);
        assert_eq!(queue.take(1), [warning(1)]);
        queue.extend([warning(1)]);
        assert_eq!(queue.take(9), [warning(2)]);
    }

    #[test]
    fn where_nobody_takes_them_the_newest_wait() {
        let mut queue = WarningQueue::default();
        queue.extend((0..1000).map(warning));
        let waiting = queue.take(usize::MAX);
        assert_eq!(waiting.len(), WAITING);
        assert_eq!(waiting.last(), Some(&warning(999)));
    }
}
