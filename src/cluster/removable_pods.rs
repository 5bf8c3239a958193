//! The Pods that may go in a scale-in, by namespace and ReplicaSet, with the labels of their nodes.
//! Without deletion costs, only Pods that still carry one of Evenkeel's are kept, to remove it.
//! Pods of one ReplicaSet share labels and constraints, the larger part.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;

use evenkeel_kubernetes::controller_key::ControllerKey;
use evenkeel_kubernetes::node::Node;
use evenkeel_kubernetes::plan::deletion_cost::NodeLabels;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::removable_pod::RemovablePod;

type RemovablePodMap<K, V> = HashMap<K, V, RandomState>;
type Uids = BTreeSet<Arc<str>>;

#[derive(Debug)]
pub(super) struct RemovablePods {
    keeps_all: bool,
    pods: RemovablePodMap<Arc<str>, Arc<RemovablePod>>,
    namespaces: RemovablePodMap<Box<str>, Uids>,
    sets: RemovablePodMap<ControllerKey, Uids>,
    /// Those that carry anything of Evenkeel's.
    marked: Uids,
    nodes: Arc<NodeLabels>,
    /// The names of nodes that Pods are on, once each; also of those that have not been seen yet.
    names: HashSet<Arc<str>, RandomState>,
}

impl RemovablePods {
    pub(super) fn new(keeps_all: bool) -> Self {
        Self {
            keeps_all,
            pods: RemovablePodMap::default(),
            namespaces: RemovablePodMap::default(),
            sets: RemovablePodMap::default(),
            marked: Uids::new(),
            nodes: Arc::default(),
            names: HashSet::default(),
        }
    }

    pub(super) fn apply(&mut self, pod: &Pod) {
        let seen = RemovablePod::of(pod);
        let seen = seen.filter(|seen| self.keeps_all || seen.mark.own.is_some());
        let Some(mut seen) = seen else {
            return self.remove(pod.uid());
        };
        let known = self.pods.get(pod.uid());
        if known.is_some_and(|known| **known == seen) {
            return;
        }
        self.remove(pod.uid());
        let uid = Arc::clone(&seen.uid);
        seen.node = seen.node.map(|node| self.intern(node));
        if let Some(set) = &seen.common.replica_set {
            let members = self.sets.entry(set.key.clone()).or_default();
            let other = members.first().and_then(|other| self.pods.get(other));
            members.insert(Arc::clone(&uid));
            if let Some(other) = other {
                seen.share(other);
            }
        }
        let namespace = self.namespaces.entry(seen.common.namespace.as_str().into());
        namespace.or_default().insert(Arc::clone(&uid));
        if seen.mark.own.is_some() {
            self.marked.insert(Arc::clone(&uid));
        }
        self.pods.insert(uid, Arc::new(seen));
    }

    pub(super) fn remove(&mut self, uid: &str) {
        let Some(gone) = self.pods.remove(uid) else {
            return;
        };
        self.marked.remove(uid);
        leave(&mut self.namespaces, &*gone.common.namespace, uid);
        if let Some(set) = &gone.common.replica_set {
            leave(&mut self.sets, &set.key, uid);
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let gone = self.pods.keys().filter(|uid| !keep(uid));
        for uid in gone.cloned().collect::<Vec<_>>() {
            self.remove(&uid);
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
        self.names
            .retain(|name| Arc::strong_count(name) > 1 || keep(name));
    }

    pub(super) fn get(&self, uid: &str) -> Option<Arc<RemovablePod>> {
        self.pods.get(uid).cloned()
    }

    pub(super) fn within(&self, namespace: &str) -> Vec<Arc<RemovablePod>> {
        self.all(self.namespaces.get(namespace))
    }

    pub(super) fn of_set(&self, set: &ControllerKey) -> Vec<Arc<RemovablePod>> {
        self.all(self.sets.get(set))
    }

    /// The Pods that carry anything of Evenkeel's.
    pub(super) fn marked(&self) -> Vec<Arc<RemovablePod>> {
        self.all(Some(&self.marked))
    }

    pub(super) fn node_labels(&self) -> Arc<NodeLabels> {
        Arc::clone(&self.nodes)
    }

    fn intern(&mut self, node: Arc<str>) -> Arc<str> {
        if let Some(known) = self.names.get(&node) {
            return Arc::clone(known);
        }
        self.names.insert(Arc::clone(&node));
        node
    }

    fn all(&self, uids: Option<&Uids>) -> Vec<Arc<RemovablePod>> {
        let uids = uids.into_iter().flatten();
        uids.filter_map(|uid| self.get(uid)).collect()
    }
}

/// Takes a Pod out of a group, and the group away with its last.
fn leave<K, Q>(groups: &mut RemovablePodMap<K, Uids>, group: &Q, uid: &str)
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    if let Some(members) = groups.get_mut(group) {
        members.remove(uid);
        if members.is_empty() {
            groups.remove(group);
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn all_are_kept_where_costs_are_given_and_else_the_marked_alone() {
        let names = |pods: &[Arc<RemovablePod>]| -> Vec<String> {
            pods.iter().map(|pod| pod.name.to_string()).collect()
        };
        for (keeps_all, known) in [(true, vec!["p", "q"]), (false, vec!["q"])] {
            let mut pods = RemovablePods::new(keeps_all);
            pods.apply(&pod("p", &json!(null)));
            pods.apply(&pod("q", &json!("-1 balance")));
            assert_eq!(names(&pods.within("shop")), known);
            assert_eq!(
                names(&pods.of_set(&ControllerKey::new("shop", "set"))),
                known
            );
            assert_eq!(names(&pods.marked()), ["q"]);
            pods.apply(&pod("q", &json!(null)));
            assert_eq!(names(&pods.marked()), Vec::<String>::new());
            pods.retain(|_| false);
            assert!(pods.pods.is_empty() && pods.namespaces.is_empty() && pods.sets.is_empty());
        }
    }

    #[test]
    fn pods_of_a_replica_set_share_their_labels() {
        let mut pods = RemovablePods::new(true);
        pods.apply(&pod("p", &json!(null)));
        pods.apply(&pod("q", &json!(null)));
        let [one, other] = ["p", "q"].map(|uid| pods.get(uid).unwrap().common.clone());
        assert!(Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn a_uid_of_another_namespaces_replica_set_leads_to_none_of_its_pods() {
        let mut pods = RemovablePods::new(true);
        let mut forged = pod("forged", &json!(null));
        forged.metadata.namespace = Some("evil".to_owned());
        pods.apply(&forged);
        pods.apply(&pod("own", &json!(null)));
        let set = pods.of_set(&ControllerKey::new("shop", "set"));
        assert_eq!(set.iter().map(|pod| &*pod.uid).collect::<Vec<_>>(), ["own"]);
    }
}
