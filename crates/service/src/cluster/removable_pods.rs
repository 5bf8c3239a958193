//! The Pods that may go in a scale-in, by namespace and ReplicaSet, with the labels of their nodes.
//! Without deletion costs, only Pods that still carry one of Evenkeel's are kept, to remove it.
//! Pods of one ReplicaSet share labels and constraints, the larger part.

use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::node::Node;
use evenkeel_placement::plan::deletion_cost::NodeLabels;
use evenkeel_placement::removable_pod::{Cost, RemovablePod};
use jiff::Timestamp;

use super::grouped_pods::{GroupedPod, GroupedPods, PodGroup};
use super::node_names::NodeNameInterner;
use super::pod_store::{ObservedPod, PodStore};

#[derive(Debug)]
pub(crate) struct RemovablePods {
    keeps_all: bool,
    pods: GroupedPods<RemovablePod>,
    nodes: Arc<NodeLabels>,
    names: NodeNameInterner,
}

impl GroupedPod for RemovablePod {
    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn groups(&self) -> impl Iterator<Item = PodGroup> {
        let set = self.common.replica_set.as_ref();
        let namespace = PodGroup::Namespace(self.common.namespace.as_str().into());
        let set = set.map(|set| PodGroup::Controller(set.key.clone()));
        let marked = self.mark.own.is_some().then_some(PodGroup::Marked);
        [namespace].into_iter().chain(set).chain(marked)
    }
}

impl PodStore for RemovablePods {
    fn apply(&mut self, seen: &ObservedPod<'_>) {
        let pod = seen.pod;
        let seen = RemovablePod::of(pod);
        let seen = seen.filter(|seen| self.keeps_all || seen.mark.own.is_some());
        let Some(mut seen) = seen else {
            return self.pods.remove(pod.uid());
        };
        let known = self.pods.get(pod.uid());
        if known.is_some_and(|known| **known == seen) {
            return;
        }
        self.pods.remove(pod.uid());
        seen.node = seen.node.map(|node| self.names.shared(node));
        let set = seen.common.replica_set.as_ref();
        let set = set.map(|set| PodGroup::Controller(set.key.clone()));
        if let Some(other) = set.and_then(|set| self.pods.of(&set).next()) {
            seen.share(other);
        }
        self.pods.insert(seen);
    }

    fn remove(&mut self, uid: &str, _: Timestamp) {
        self.pods.remove(uid);
    }

    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, _: Timestamp) {
        self.pods.retain(|pod| keep(&pod.uid));
    }
}

impl RemovablePods {
    pub(super) fn new(keeps_all: bool) -> Self {
        Self {
            keeps_all,
            pods: GroupedPods::default(),
            nodes: Arc::default(),
            names: NodeNameInterner::default(),
        }
    }

    pub(super) fn apply_node(&mut self, node: &Node) {
        let known = self.nodes.get(node.name());
        if self.keeps_all && known.is_none_or(|known| **known != node.labels) {
            let labels = Arc::new(node.labels.clone());
            Arc::make_mut(&mut self.nodes).insert(node.name().into(), labels);
        }
    }

    pub(super) fn retain_nodes(&mut self, keep: impl Fn(&str) -> bool) {
        if self.nodes.keys().any(|name| !keep(name)) {
            Arc::make_mut(&mut self.nodes).retain(|name, _| keep(name));
        }
    }

    /// The cost that Evenkeel has given a Pod.
    pub(crate) fn cost(&self, uid: &str) -> Option<Cost> {
        self.pods.get(uid)?.mark.given()
    }

    /// The Pods of a namespace.
    pub(crate) fn within(&self, namespace: &str) -> Vec<Arc<RemovablePod>> {
        self.of(&PodGroup::Namespace(namespace.into()))
    }

    /// The Pods of a ReplicaSet.
    pub(crate) fn of_set(&self, set: &ControllerKey) -> Vec<Arc<RemovablePod>> {
        self.of(&PodGroup::Controller(set.clone()))
    }

    /// The Pods that carry a cost of Evenkeel's.
    pub(crate) fn marked(&self) -> Vec<Arc<RemovablePod>> {
        self.of(&PodGroup::Marked)
    }

    /// The labels of all nodes, where costs are given.
    pub(crate) fn node_labels(&self) -> Arc<NodeLabels> {
        Arc::clone(&self.nodes)
    }

    fn of(&self, group: &PodGroup) -> Vec<Arc<RemovablePod>> {
        self.pods.of(group).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::pod::Pod;
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, own: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": uid, "namespace": "shop", "uid": uid, "labels": {"app": "web"},
                "annotations": {"evenkeel.dev/deletion-cost": own},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": "web", "uid": "set", "controller": true}]},
            "spec": {"nodeName": "a"}}))
        .unwrap()
    }

    fn see(pods: &mut RemovablePods, pod: &Pod) {
        pods.apply(&ObservedPod::new(pod, false, Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn all_are_kept_where_costs_are_given_and_else_the_marked_alone() {
        let names = |pods: &[Arc<RemovablePod>]| -> Vec<String> {
            pods.iter().map(|pod| pod.name.to_string()).collect()
        };
        for (keeps_all, known) in [(true, vec!["p", "q"]), (false, vec!["q"])] {
            let mut pods = RemovablePods::new(keeps_all);
            see(&mut pods, &pod("p", &json!(null)));
            see(&mut pods, &pod("q", &json!("-1 balance")));
            assert_eq!(names(&pods.within("shop")), known);
            assert_eq!(
                names(&pods.of_set(&ControllerKey::new("shop", "set"))),
                known
            );
            assert_eq!(names(&pods.marked()), ["q"]);
            see(&mut pods, &pod("q", &json!(null)));
            assert_eq!(names(&pods.marked()), Vec::<String>::new());
            pods.pods.retain(|_| false);
            assert!(pods.pods.is_empty());
        }
    }

    #[test]
    fn pods_of_a_replica_set_share_their_labels() {
        let mut pods = RemovablePods::new(true);
        see(&mut pods, &pod("p", &json!(null)));
        see(&mut pods, &pod("q", &json!(null)));
        let [one, other] = ["p", "q"].map(|uid| pods.pods.get(uid).unwrap().common.clone());
        assert!(Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn a_uid_of_another_namespaces_replica_set_leads_to_none_of_its_pods() {
        let mut pods = RemovablePods::new(true);
        let mut forged = pod("forged", &json!(null));
        forged.metadata.namespace = Some("evil".to_owned());
        see(&mut pods, &forged);
        see(&mut pods, &pod("own", &json!(null)));
        let set = pods.of_set(&ControllerKey::new("shop", "set"));
        assert_eq!(set.iter().map(|pod| &*pod.uid).collect::<Vec<_>>(), ["own"]);
    }
}
