//! Owner chains: from the ReplicaSet or Job that a Pod names to the workload behind it.

use std::collections::HashMap;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::{Kind, foreign_group};
use evenkeel_objects::meta::OwnerReference;
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    #[serde(skip)]
    pub group: Option<Box<str>>,
    pub kind: String,
    pub name: String,
}

impl Owner {
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            group: foreign_group(api_version, kind).map(Box::from),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl From<&OwnerReference> for Owner {
    fn from(reference: &OwnerReference) -> Self {
        let OwnerReference {
            api_version,
            kind,
            name,
            ..
        } = reference;
        Self::new(api_version, kind, name)
    }
}

/// The owners of ReplicaSets and Jobs.
#[derive(Debug, Default)]
pub struct Owners {
    replica_sets: HashMap<ControllerKey, Owner, RandomState>,
    jobs: HashMap<ControllerKey, Owner, RandomState>,
}

impl Owners {
    /// Takes an object with what owns it; one without an owner is the end of its chain.
    pub fn apply(&mut self, kind: Kind, key: &ControllerKey, owner: Option<Owner>) {
        match (self.of(kind), owner) {
            (Some(owners), Some(owner)) => {
                owners.insert(key.clone(), owner);
            }
            (Some(owners), None) => {
                owners.remove(key);
            }
            (None, _) => {}
        }
    }

    pub fn remove(&mut self, kind: Kind, key: &ControllerKey) {
        if let Some(owners) = self.of(kind) {
            owners.remove(key);
        }
    }

    pub fn retain(&mut self, kind: Kind, keep: &impl Fn(&ControllerKey) -> bool) {
        if let Some(owners) = self.of(kind) {
            owners.retain(|key, _| keep(key));
        }
    }

    /// The owner of a ReplicaSet or Job that the API server has shown, by its UID.
    pub fn workload(&self, key: &ControllerKey) -> Option<&Owner> {
        self.replica_sets.get(key).or_else(|| self.jobs.get(key))
    }

    /// The end of the chain that starts with the controller of a Pod in a namespace.
    pub fn resolve(&self, namespace: &str, reference: &OwnerReference) -> Owner {
        let owners = match reference.kind.as_str() {
            "ReplicaSet" => Some(&self.replica_sets),
            "Job" => Some(&self.jobs),
            _ => None,
        };
        let known = owners
            .and_then(|owners| owners.get(&ControllerKey::of_reference(namespace, reference)?));
        known.cloned().unwrap_or_else(|| reference.into())
    }

    fn of(&mut self, kind: Kind) -> Option<&mut HashMap<ControllerKey, Owner, RandomState>> {
        match kind {
            Kind::ReplicaSet => Some(&mut self.replica_sets),
            Kind::Job => Some(&mut self.jobs),
            _ => None,
        }
    }
}
