//! The Pods that may be resized, by their controllers: those of opted-in namespaces, and all others
//! that carry a resize. Pods of a controller share what is equal. Pods without a node are left out, because
//! a tenant can create any number of them and a resize needs running containers. The Pods of a
//! namespace that opts in were skipped before, so it is marked to be listed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::annotations::RESIZED;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::pod::Pod;
use evenkeel_tuning::resizable_pod::ResizablePod;
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::grouped_pods::{GroupedPod, GroupedPods, PodGroup};
use super::node_names::NodeNameInterner;
use super::pod_store::{ObservedPod, PodStore};

/// Pods of a controller that a new one shares equal parts with: more than one, because some may have been
/// resized.
const COMPARED: usize = 4;

/// The Pods that may be resized.
#[derive(Debug, Default)]
pub(crate) struct ResizablePods {
    pods: GroupedPods<ResizablePod>,
    names: NodeNameInterner,
    /// The namespaces that have been seen, and whether they have opted in.
    namespaces: HashMap<Box<str>, bool, RandomState>,
    unlisted: HashSet<Box<str>, RandomState>,
}

impl GroupedPod for ResizablePod {
    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn groups(&self) -> impl Iterator<Item = PodGroup> {
        let controller = self.controller.clone().map(PodGroup::Controller);
        let marked = self.is_resized().then_some(PodGroup::Marked);
        controller.into_iter().chain(marked)
    }
}

impl PodStore for ResizablePods {
    fn apply(&mut self, seen: &ObservedPod<'_>) {
        self.update(seen.pod);
    }

    fn remove(&mut self, uid: &str, _: Timestamp) {
        self.pods.remove(uid);
    }

    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, _: Timestamp) {
        self.pods.retain(|pod| keep(&pod.uid));
    }
}

impl ResizablePods {
    /// Takes a Pod as an event or a list of a late namespace shows it.
    pub(crate) fn update(&mut self, pod: &Pod) {
        self.pods.remove(pod.uid());
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
        if (is_in || may_be_resized())
            && let Some(mut seen) = ResizablePod::of(pod)
        {
            seen.node = seen.node.map(|node| self.names.shared(node));
            let controller = seen.controller.clone().map(PodGroup::Controller);
            for other in controller
                .iter()
                .flat_map(|one| self.pods.of(one).take(COMPARED))
            {
                seen.share(other);
            }
            self.pods.insert(seen);
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
            self.pods.retain(is_left);
        }
    }

    pub(super) fn forget_namespace(&mut self, namespace: &str) {
        self.namespaces.remove(namespace);
        self.unlisted.remove(namespace);
    }

    /// Takes the namespaces with Pods that are to be listed.
    pub(crate) fn take_unlisted(&mut self) -> Vec<Box<str>> {
        self.unlisted.drain().collect()
    }

    /// A namespace could not be listed.
    pub(crate) fn unlisted(&mut self, namespace: &str) {
        if self.namespaces.get(namespace) == Some(&true) {
            self.unlisted.insert(namespace.into());
        }
    }

    /// The Pods of a controller.
    pub(crate) fn of(&self, controller: &ControllerKey) -> Vec<Arc<ResizablePod>> {
        let group = PodGroup::Controller(controller.clone());
        self.pods.of(&group).cloned().collect()
    }

    /// The Pods that carry a record of a resize.
    pub(crate) fn resized(&self) -> Vec<Arc<ResizablePod>> {
        self.pods.of(&PodGroup::Marked).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::managed_fields::MANAGER;
    use evenkeel_units::cpu_memory::TunedResource;
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
            "spec": {"nodeName": "a", "containers": [{"name": "app"}]}}))
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
        pods.update(&pod("p", false));
        pods.update(&pod("q", true));
        assert_eq!(names(&pods.of(&set())), ["p", "q"]);
        pods.opt("shop", false);
        assert_eq!(names(&pods.of(&set())), ["q"]);
        assert_eq!(names(&pods.resized()), ["q"]);
        pods.update(&pod("p", false));
        assert_eq!(names(&pods.of(&set())), ["q"]);
        pods.update(&pod("q", false));
        assert!(pods.pods.is_empty());
    }

    #[test]
    fn a_pod_that_says_it_was_resized_and_was_not_is_no_concern_of_a_namespace_that_is_out() {
        let mut pods = ResizablePods::default();
        let forged = of(
            "p",
            &json!({"evenkeel.dev/resized": "{}"}),
            "kubectl-annotate",
        );
        pods.update(&forged);
        assert_eq!((pods.of(&set()).len(), pods.resized().len()), (1, 0));
        pods.opt("shop", false);
        pods.update(&forged);
        assert!(pods.pods.is_empty(), "{pods:?}");
    }

    #[test]
    fn pods_of_a_controller_share_their_texts_and_containers() {
        let mut pods = ResizablePods::default();
        pods.update(&pod("p", false));
        pods.update(&pod("q", false));
        let found = pods.of(&set());
        let [one, other] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(Arc::ptr_eq(&one.namespace, &other.namespace));
        assert!(Arc::ptr_eq(&one.containers, &other.containers));
        let nodes = [one, other].map(|pod| pod.node.clone().unwrap());
        assert!(Arc::ptr_eq(&nodes[0], &nodes[1]));
        // Others do not share what differs, and share it among each other.
        for uid in ["r", "s"] {
            let mut larger = pod(uid, false);
            let limits = json!({"resources": {"limits": {"cpu": "1"}}, "name": "app"});
            larger.spec.containers = vec![serde_json::from_value(limits).unwrap()];
            pods.update(&larger);
        }
        let found = pods.of(&set());
        let containers: Vec<_> = found.iter().map(|pod| &pod.containers).collect();
        assert_ne!(containers[0], containers[2]);
        assert!(Arc::ptr_eq(containers[2], containers[3]));
        assert!(
            found[2].containers[0].values[TunedResource::Cpu]
                .limit
                .is_some()
        );
    }

    #[test]
    fn nothing_is_kept_of_pods_that_wait_for_a_node() {
        let mut pods = ResizablePods::default();
        let mut waiting = pod("p", true);
        pods.update(&waiting);
        assert_eq!(names(&pods.resized()), ["p"]);
        waiting.spec.node_name = None;
        pods.update(&waiting);
        assert!(pods.pods.is_empty());
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
        pods.update(&forged);
        pods.update(&pod("own", false));
        assert_eq!(names(&pods.of(&set())), ["own"]);
    }
}
