//! Claims of bound Pods in their annotations, kept so that they can be counted anew when a namespace
//! opts in or out, or when the largest node is another one.
//!
//! A claim counts as high as it was when the Pod's binding was first seen: the node was judged by
//! that, and by nothing that is written later.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_placement::demand::CompactDemand;
use evenkeel_units::{Amount, Resources};
use foldhash::fast::RandomState;

type ClaimMap<K, V> = HashMap<K, V, RandomState>;

/// Claims by resource; `None` where there is none, or none that counts.
pub(super) type ClaimAmounts = Resources<Option<Amount>>;

/// The claims of bound Pods, by their UIDs.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pods: ClaimMap<Arc<str>, Claimant>,
    by_namespace: ClaimMap<Arc<str>, HashSet<Arc<str>, RandomState>>,
}

/// A bound Pod with claims.
#[derive(Debug)]
pub(super) struct Claimant {
    pub(super) namespace: Arc<str>,
    pub(super) counting: CompactDemand,
}

impl Claims {
    /// The claims that are kept of a Pod.
    pub(super) fn of(&self, uid: &str) -> ClaimAmounts {
        self.pods
            .get(uid)
            .map_or_else(Resources::default, |pod| pod.counting.claims())
    }

    /// Keeps the claims of a Pod in place of those before; a Pod without any is forgotten.
    pub(super) fn set(&mut self, uid: &str, namespace: &str, counting: CompactDemand) {
        if counting.is_without_claims() {
            return self.remove(uid);
        }
        if let Some(known) = self.pods.get_mut(uid) {
            known.counting = counting;
            return;
        }
        let known = self.by_namespace.get_key_value(namespace);
        let namespace = known.map_or_else(|| Arc::from(namespace), |(name, _)| Arc::clone(name));
        let uid: Arc<str> = uid.into();
        let pods = self.by_namespace.entry(Arc::clone(&namespace));
        pods.or_default().insert(Arc::clone(&uid));
        let claimant = Claimant {
            namespace,
            counting,
        };
        self.pods.insert(uid, claimant);
    }

    pub(super) fn remove(&mut self, uid: &str) {
        let Some(gone) = self.pods.remove(uid) else {
            return;
        };
        if let Some(pods) = self.by_namespace.get_mut(&gone.namespace) {
            pods.remove(uid);
            if pods.is_empty() {
                self.by_namespace.remove(&gone.namespace);
            }
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<Arc<str>> = self.pods.keys().filter(|uid| !keep(uid)).cloned().collect();
        for uid in gone {
            self.remove(&uid);
        }
    }

    /// The Pods of a namespace that claim something.
    pub(super) fn within(&self, namespace: &str) -> impl Iterator<Item = (&str, &Claimant)> {
        let uids = self.by_namespace.get(namespace).into_iter().flatten();
        uids.filter_map(|uid| Some((&**uid, self.pods.get(uid)?)))
    }

    /// All Pods that claim something.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Claimant)> {
        self.pods.iter().map(|(uid, pod)| (&**uid, pod))
    }
}
