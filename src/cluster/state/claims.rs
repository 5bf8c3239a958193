//! Claims of bound Pods in their annotations, kept so that they can be counted anew when a namespace
//! opts in or out, or when the largest node is another one.
//!
//! A claim counts as high as it was when the Pod's binding was first seen: the node was judged by
//! that, and by nothing that is written later.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use evenkeel_core::units::{Amount, Resources};
use evenkeel_kubernetes::demand::Demand;

type Map<K, V> = HashMap<K, V, RandomState>;

/// Claims by resource; `None` where there is none, or none that counts.
pub(super) type Claimed = Resources<Option<Amount>>;

/// The claims of bound Pods, by their UIDs.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pods: Map<Box<str>, Claimant>,
    by_namespace: Map<Box<str>, HashSet<Box<str>, RandomState>>,
}

/// A bound Pod with claims.
#[derive(Debug)]
pub(super) struct Claimant {
    pub(super) namespace: Box<str>,
    pub(super) demand: Demand,
    pub(super) claims: Claimed,
}

impl Claims {
    /// The claims that are kept of a Pod.
    pub(super) fn of(&self, uid: &str) -> Claimed {
        self.pods
            .get(uid)
            .map_or_else(Resources::default, |pod| pod.claims)
    }

    /// Keeps the claims of a Pod in place of those before; a Pod without any is forgotten.
    pub(super) fn set(&mut self, uid: &str, namespace: &str, demand: &Demand, claims: Claimed) {
        if claims.values().iter().all(Option::is_none) {
            return self.remove(uid);
        }
        if !self.pods.contains_key(uid) {
            let pods = self.by_namespace.entry(namespace.into());
            pods.or_default().insert(uid.into());
        }
        let claimant = Claimant {
            namespace: namespace.into(),
            demand: demand.clone(),
            claims,
        };
        self.pods.insert(uid.into(), claimant);
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
        let gone: Vec<Box<str>> = self.pods.keys().filter(|uid| !keep(uid)).cloned().collect();
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
