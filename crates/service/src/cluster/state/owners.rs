//! Owner chains in the picture: the ReplicaSets and Jobs between Pods and their workloads.

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::Pod;

use super::ClusterState;
use crate::cluster::owners::Owner;

impl ClusterState {
    /// Takes a ReplicaSet or a Job with what owns it.
    pub fn apply_owner(&self, kind: Kind, key: &ControllerKey, owner: Option<Owner>) {
        if kind == Kind::ReplicaSet {
            self.scaling().pods.apply_owner(key, owner.clone());
        }
        self.change(|inner| inner.owners.apply(kind, key, owner));
    }

    /// Forgets a ReplicaSet or a Job.
    pub(crate) fn remove_owner(&self, kind: Kind, key: &ControllerKey) {
        if kind == Kind::ReplicaSet {
            self.scaling().pods.remove_owner(key);
        }
        self.change(|inner| inner.owners.remove(kind, key));
    }

    /// Keeps only these ReplicaSets or Jobs, after a complete list.
    pub(crate) fn retain_owners(&self, kind: Kind, keep: impl Fn(&ControllerKey) -> bool) {
        if kind == Kind::ReplicaSet {
            self.scaling().pods.retain_owners(&keep);
        }
        self.change(|inner| inner.owners.retain(kind, &keep));
    }

    /// The workload at the end of a Pod's owner chain, for example the Deployment behind its
    /// ReplicaSet.
    pub fn workload(&self, pod: &Pod) -> Option<Owner> {
        pod.metadata
            .controller()
            .map(|owner| self.lock().owners.resolve(pod.namespace(), owner))
    }
}
