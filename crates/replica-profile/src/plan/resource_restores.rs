//! Pods that are to have their resources back, and since when: a quota that others have used up meanwhile refuses
//! the resize, and a kubelet that is away never answers it, so that neither is waited for without end.
//!
//! That a resize is refused stands nowhere on the Pod. So the wait is remembered, and begins anew with another
//! leader.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use jiff::{SignedDuration, Timestamp};

use super::standby;
use crate::decision::PodResources;

/// The time within which a kubelet that can give resources back does so: it takes some seconds.
const AWAITED: SignedDuration = SignedDuration::from_secs(30);

/// Since when Pods wait for their resources, by their UIDs.
#[derive(Debug, Default)]
pub struct GiveBacks(BTreeMap<String, Timestamp>);

impl GiveBacks {
    /// Forgets all Pods but these.
    pub fn retain<'a>(&mut self, pods: impl IntoIterator<Item = &'a Pod>) {
        if !self.0.is_empty() {
            let there: BTreeSet<&str> = pods.into_iter().map(Pod::uid).collect();
            self.0.retain(|uid, _| there.contains(uid.as_str()));
        }
    }

    /// The resources of a Pod, which is to have them back unless it stands by.
    pub(super) fn resources(&mut self, pod: &Pod, to: PodState, now: Timestamp) -> PodResources {
        let found = standby::resources(pod);
        if found != PodResources::Lowered || to == PodState::Standby {
            self.0.remove(pod.uid());
            return found;
        }
        let since = self.0.entry(pod.uid().to_owned()).or_insert(now);
        if now.duration_since(*since) < AWAITED {
            PodResources::Lowered
        } else {
            PodResources::Withheld
        }
    }
}
