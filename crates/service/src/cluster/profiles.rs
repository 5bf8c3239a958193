//! ReplicaProfiles, their disruption budgets, and the Pods with the readiness gate, which are kept
//! whole. If an event shows a Pod with a condition that differs from its label, the Pod is marked
//! as due, so that no caller has to search all Pods.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfile};
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::Pod;
use evenkeel_replica_profile::online_condition;
use foldhash::fast::RandomState;
use jiff::Timestamp;
use tokio::sync::Notify;

use super::pod_store::{ObservedPod, PodStore};

/// The kinds that must be fully listed before Pods are changed for a profile.
pub(super) const NEEDED: [Kind; 2] = [Kind::ReplicaProfile, Kind::PodDisruptionBudget];

#[derive(Debug, Default)]
pub(crate) struct Profiles {
    synced: HashSet<Kind>,
    checked: BTreeMap<String, Arc<CheckedReplicaProfile>>,
    budgets: BTreeMap<String, Arc<DisruptionBudget>>,
    gated: HashMap<Arc<str>, Arc<Pod>, RandomState>,
    /// The gated Pods with a condition that is to be written, by UID.
    due: BTreeSet<Arc<str>>,
    /// Wakes the loop that writes conditions after each event of such a Pod.
    pub(crate) condition_due: Arc<Notify>,
}

impl PodStore for Profiles {
    fn apply(&mut self, seen: &ObservedPod<'_>) {
        let &ObservedPod { pod, now, .. } = seen;
        if !pod.is_gated() {
            return self.remove(pod.uid(), now);
        }
        let uid: Arc<str> = pod.uid().into();
        if online_condition::patch(pod, now).is_some() {
            self.due.insert(Arc::clone(&uid));
            self.condition_due.notify_one();
        } else {
            self.due.remove(&uid);
        }
        self.gated.insert(uid, Arc::new(pod.clone()));
    }

    fn remove(&mut self, uid: &str, _: Timestamp) {
        self.gated.remove(uid);
        self.due.remove(uid);
    }

    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, _: Timestamp) {
        self.gated.retain(|uid, _| keep(uid));
        self.due.retain(|uid| keep(uid));
    }
}

impl Profiles {
    pub(super) fn set_synced(&mut self, kind: Kind, synced: bool) {
        if synced {
            self.synced.insert(kind);
        } else {
            self.synced.remove(&kind);
        }
    }

    pub(super) fn knows_profiles(&self) -> bool {
        self.synced.contains(&Kind::ReplicaProfile)
    }

    pub(super) fn is_synced(&self) -> bool {
        NEEDED.iter().all(|kind| self.synced.contains(kind))
    }

    pub(super) fn apply_profile(&mut self, key: String, profile: &ReplicaProfile) {
        self.checked
            .insert(key, CheckedReplicaProfile::new(profile.clone()));
    }

    pub(super) fn retain_profiles(&mut self, keep: impl Fn(&str) -> bool) {
        self.checked.retain(|key, _| keep(key));
    }

    pub(super) fn apply_budget(&mut self, key: String, budget: &DisruptionBudget) {
        self.budgets.insert(key, Arc::new(budget.clone()));
    }

    pub(super) fn retain_budgets(&mut self, keep: impl Fn(&str) -> bool) {
        self.budgets.retain(|key, _| keep(key));
    }

    /// True for a Pod with the gate that has been seen.
    pub(super) fn knows_pod(&self, uid: &str) -> bool {
        self.gated.contains_key(uid)
    }

    pub(super) fn all(&self) -> Vec<Arc<CheckedReplicaProfile>> {
        self.checked.values().cloned().collect()
    }

    pub(super) fn budgets(&self) -> Vec<Arc<DisruptionBudget>> {
        self.budgets.values().cloned().collect()
    }

    /// All Pods with the gate.
    pub(crate) fn gated(&self) -> Vec<Arc<Pod>> {
        self.gated.values().cloned().collect()
    }

    /// The Pods with a condition that is to be written.
    pub(crate) fn due(&self) -> Vec<Arc<Pod>> {
        let pods = self.due.iter().filter_map(|uid| self.gated.get(uid));
        pods.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, gates: &Value, condition: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": uid, "namespace": "shop", "uid": uid},
            "spec": {"readinessGates": gates},
            "status": {"conditions": [{"type": "evenkeel.dev/online", "status": condition}]},
        }))
        .unwrap()
    }

    #[test]
    fn pods_with_the_gate_are_kept_and_those_are_due_whose_condition_is_another() {
        let gate = json!([{"conditionType": "evenkeel.dev/online"}]);
        let mut profiles = Profiles::default();
        let now = Timestamp::UNIX_EPOCH;
        let apply = |profiles: &mut Profiles, uid: &str, gates: &Value, condition: &Value| {
            profiles.apply(&ObservedPod::new(&pod(uid, gates, condition), false, now));
            profiles.condition_due.notified().now_or_never().is_some()
        };
        for (uid, gates, condition, is_due) in [
            ("a", &json!(null), json!(null), false),
            ("b", &gate, json!(null), true),
            ("c", &gate, json!("True"), false),
            ("d", &gate, json!("False"), true),
        ] {
            let found = apply(&mut profiles, uid, gates, &condition);
            assert_eq!(found, is_due, "{uid}");
        }
        let names = |pods: Vec<Arc<Pod>>| -> BTreeSet<String> {
            pods.iter().map(|pod| pod.name().to_owned()).collect()
        };
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names(profiles.gated()), set(&["b", "c", "d"]));
        assert_eq!(names(profiles.due()), set(&["b", "d"]));
        assert!(!apply(&mut profiles, "b", &gate, &json!("True")));
        assert_eq!(names(profiles.due()), set(&["d"]));
        profiles.retain(&|uid| uid != "d", now);
        assert!(profiles.due().is_empty());
        assert_eq!(names(profiles.gated()), set(&["b", "c"]));
    }
}
