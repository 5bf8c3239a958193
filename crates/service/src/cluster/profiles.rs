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

    /// Takes a Pod as it now is; gives whether its condition is to be written.
    pub(super) fn apply_pod(&mut self, pod: &Pod, now: Timestamp) -> bool {
        if !pod.is_gated() {
            if !self.gated.is_empty() {
                self.remove_pod(pod.uid());
            }
            return false;
        }
        let uid: Arc<str> = pod.uid().into();
        let is_due = online_condition::patch(pod, now).is_some();
        if is_due {
            self.due.insert(Arc::clone(&uid));
        } else {
            self.due.remove(&uid);
        }
        self.gated.insert(uid, Arc::new(pod.clone()));
        is_due
    }

    /// True for a Pod with the gate that has been seen.
    pub(super) fn knows_pod(&self, uid: &str) -> bool {
        self.gated.contains_key(uid)
    }

    pub(super) fn remove_pod(&mut self, uid: &str) {
        self.gated.remove(uid);
        self.due.remove(uid);
    }

    pub(super) fn retain_pods(&mut self, keep: impl Fn(&str) -> bool) {
        self.gated.retain(|uid, _| keep(uid));
        self.due.retain(|uid| keep(uid));
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
        for (uid, gates, condition, is_due) in [
            ("a", json!(null), json!(null), false),
            ("b", gate.clone(), json!(null), true),
            ("c", gate.clone(), json!("True"), false),
            ("d", gate.clone(), json!("False"), true),
        ] {
            let found = profiles.apply_pod(&pod(uid, &gates, &condition), now);
            assert_eq!(found, is_due, "{uid}");
        }
        let names = |pods: Vec<Arc<Pod>>| -> BTreeSet<String> {
            pods.iter().map(|pod| pod.name().to_owned()).collect()
        };
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names(profiles.gated()), set(&["b", "c", "d"]));
        assert_eq!(names(profiles.due()), set(&["b", "d"]));
        profiles.apply_pod(&pod("b", &gate, &json!("True")), now);
        assert_eq!(names(profiles.due()), set(&["d"]));
        profiles.retain_pods(|uid| uid != "d");
        assert!(profiles.due().is_empty());
        assert_eq!(names(profiles.gated()), set(&["b", "c"]));
    }
}
