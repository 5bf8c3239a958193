//! The Pods that may be resized, by their controllers: those of opted-in namespaces, and all others
//! that carry a resize. About 500 bytes of each are kept. Pods without a node are left out, because
//! a tenant can create any number of them and a resize needs running containers. The Pods of a
//! namespace that opts in were skipped before, so it is marked to be listed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use evenkeel_kubernetes::annotations::RESIZED;
use evenkeel_kubernetes::controller_key::ControllerKey;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::resizable_pod::ResizablePod;

type ResizablePodMap<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub(super) struct ResizablePods {
    pods: ResizablePodMap<Arc<str>, Arc<ResizablePod>>,
    controllers: ResizablePodMap<ControllerKey, BTreeSet<Arc<str>>>,
    resized: BTreeSet<Arc<str>>,
    /// The namespaces that have been seen, and whether they have opted in.
    namespaces: ResizablePodMap<Box<str>, bool>,
    unlisted: HashSet<Box<str>, RandomState>,
}

impl ResizablePods {
    pub(super) fn apply(&mut self, pod: &Pod) {
        self.remove(pod.uid());
        if pod.spec.node_name.is_none() {
            return;
        }
        // A namespace that has not been seen yet counts as opted in.
        let is_in = *self.namespaces.get(pod.namespace()).unwrap_or(&true);
        // Elsewhere Evenkeel acts only on an annotation that it wrote itself.
        let may_be_resized = || {
            let metadata = &pod.metadata;
            metadata.own_records.resize && metadata.annotation(RESIZED).is_some()
        };
        if !is_in && !may_be_resized() {
            return;
        }
        let Some(seen) = ResizablePod::of(pod) else {
            return;
        };
        let uid = Arc::clone(&seen.uid);
        if let Some(controller) = &seen.controller {
            let members = self.controllers.entry(controller.clone()).or_default();
            members.insert(Arc::clone(&uid));
        }
        if seen.is_resized() {
            self.resized.insert(Arc::clone(&uid));
        }
        self.pods.insert(uid, Arc::new(seen));
    }

    pub(super) fn remove(&mut self, uid: &str) {
        let Some(gone) = self.pods.remove(uid) else {
            return;
        };
        self.resized.remove(uid);
        let Some(controller) = &gone.controller else {
            return;
        };
        if let Some(members) = self.controllers.get_mut(controller) {
            members.remove(uid);
            if members.is_empty() {
                self.controllers.remove(controller);
            }
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let gone = self.pods.keys().filter(|uid| !keep(uid));
        for uid in gone.cloned().collect::<Vec<_>>() {
            self.remove(&uid);
        }
    }

    /// A namespace has opted in, or is out.
    pub(super) fn opt(&mut self, namespace: &str, is_in: bool) {
        let before = self.namespaces.insert(namespace.into(), is_in);
        if before == Some(false) && is_in {
            self.unlisted.insert(namespace.into());
        }
        if before != Some(false) && !is_in {
            self.unlisted.remove(namespace);
            let is_left = |pod: &ResizablePod| *pod.namespace != *namespace || pod.is_resized();
            let gone = self.pods.iter().filter(|(_, pod)| !is_left(pod));
            for uid in gone.map(|(uid, _)| Arc::clone(uid)).collect::<Vec<_>>() {
                self.remove(&uid);
            }
        }
    }

    pub(super) fn forget_namespace(&mut self, namespace: &str) {
        self.namespaces.remove(namespace);
        self.unlisted.remove(namespace);
    }

    /// Takes the namespaces with Pods that are to be listed.
    pub(super) fn take_unlisted(&mut self) -> Vec<Box<str>> {
        self.unlisted.drain().collect()
    }

    pub(super) fn unlisted(&mut self, namespace: &str) {
        if self.namespaces.get(namespace) == Some(&true) {
            self.unlisted.insert(namespace.into());
        }
    }

    pub(super) fn of(&self, controller: &ControllerKey) -> Vec<Arc<ResizablePod>> {
        self.all(self.controllers.get(controller))
    }

    pub(super) fn resized(&self) -> Vec<Arc<ResizablePod>> {
        self.all(Some(&self.resized))
    }

    fn all(&self, uids: Option<&BTreeSet<Arc<str>>>) -> Vec<Arc<ResizablePod>> {
        let uids = uids.into_iter().flatten();
        uids.filter_map(|uid| self.pods.get(uid).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_kubernetes::managed_fields::MANAGER;
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, resized: bool) -> Pod {
        let annotations = if resized {
            json!({"evenkeel.dev/resized": "{}"})
        } else {
            json!({})
        };
        of(uid, &annotations, MANAGER)
    }

    fn of(uid: &str, annotations: &Value, manager: &str) -> Pod {
        let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
        serde_json::from_value(json!({
            "metadata": {"name": uid, "namespace": "shop", "uid": uid, "annotations": annotations,
                "managedFields": [{"manager": manager, "fieldsV1": fields}],
                "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "set", "controller": true}]},
            "spec": {"nodeName": "a"}}))
        .unwrap()
    }

    fn set() -> ControllerKey {
        ControllerKey::new("shop", "set")
    }

    fn names(pods: &[Arc<ResizablePod>]) -> Vec<&str> {
        pods.iter().map(|pod| &*pod.name).collect()
    }

    #[test]
    fn pods_are_kept_while_their_namespace_is_in_and_as_long_as_they_carry_a_resize() {
        let mut pods = ResizablePods::default();
        pods.apply(&pod("p", false));
        pods.apply(&pod("q", true));
        assert_eq!(names(&pods.of(&set())), ["p", "q"]);
        pods.opt("shop", false);
        assert_eq!(names(&pods.of(&set())), ["q"]);
        assert_eq!(names(&pods.resized()), ["q"]);
        pods.apply(&pod("p", false));
        assert_eq!(names(&pods.of(&set())), ["q"]);
        pods.apply(&pod("q", false));
        assert!(pods.pods.is_empty() && pods.controllers.is_empty() && pods.resized.is_empty());
    }

    #[test]
    fn a_pod_that_says_it_was_resized_and_was_not_is_no_concern_of_a_namespace_that_is_out() {
        let mut pods = ResizablePods::default();
        let forged = of(
            "p",
            &json!({"evenkeel.dev/resized": "{}"}),
            "kubectl-annotate",
        );
        pods.apply(&forged);
        assert_eq!((pods.of(&set()).len(), pods.resized().len()), (1, 0));
        pods.opt("shop", false);
        pods.apply(&forged);
        assert!(pods.pods.is_empty(), "{pods:?}");
    }

    #[test]
    fn nothing_is_kept_of_pods_that_wait_for_a_node() {
        let mut pods = ResizablePods::default();
        let mut waiting = pod("p", true);
        pods.apply(&waiting);
        assert_eq!(pods.pods.len(), 1);
        waiting.spec.node_name = None;
        pods.apply(&waiting);
        assert!(pods.pods.is_empty() && pods.controllers.is_empty() && pods.resized.is_empty());
    }

    #[test]
    fn the_pods_of_a_namespace_that_opts_in_late_are_listed_once() {
        let mut pods = ResizablePods::default();
        pods.opt("early", true);
        pods.opt("shop", false);
        pods.opt("shop", true);
        assert_eq!(pods.take_unlisted(), ["shop".into()]);
        assert!(pods.take_unlisted().is_empty());
        pods.unlisted("shop");
        assert_eq!(pods.take_unlisted(), ["shop".into()]);
        pods.forget_namespace("shop");
        pods.unlisted("shop");
        assert!(pods.take_unlisted().is_empty());
    }

    #[test]
    fn a_uid_of_another_namespaces_controller_leads_to_none_of_its_pods() {
        let mut pods = ResizablePods::default();
        let mut forged = pod("forged", false);
        forged.metadata.namespace = Some("evil".to_owned());
        pods.apply(&forged);
        pods.apply(&pod("own", false));
        assert_eq!(names(&pods.of(&set())), ["own"]);
    }
}
