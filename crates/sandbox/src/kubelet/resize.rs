//! Resources of running Pods, as kubelets allocate them: a change of the spec is granted where the node has
//! room for its requests, deferred while it has not, and refused for good where it never can.
//!
//! What is granted is what the status shows; a Pod that waits goes on with what it has.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::objects::stamp;
use evenkeel_core::tuning::{CpuMemory, TunedResource};
use evenkeel_core::units::{Amount, Quantity};

/// What a Pod has, and what it waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Allocation {
    /// `resources` by the names of the containers.
    containers: BTreeMap<String, Value>,
    /// The resize that is not done.
    pending: Option<Pending>,
}

/// A resize that is not done.
#[derive(Debug, Clone, PartialEq)]
struct Pending {
    reason: &'static str,
    message: String,
    since: Timestamp,
}

impl Allocation {
    /// `resources` of a container.
    pub(super) fn of(&self, container: &str) -> Value {
        self.containers
            .get(container)
            .cloned()
            .unwrap_or_else(|| json!({}))
    }

    /// The requests of a container, as kubelet tells them beside its resources.
    pub(super) fn requests(&self, container: &str) -> Value {
        let resources = self.of(container);
        resources
            .get("requests")
            .cloned()
            .unwrap_or_else(|| json!({}))
    }

    /// The condition of a resize that waits; the directive that takes it away where none does.
    pub(super) fn condition(&self) -> Value {
        match &self.pending {
            None => json!({"type": "PodResizePending", "$patch": "delete"}),
            Some(Pending {
                reason,
                message,
                since,
            }) => json!({
                "type": "PodResizePending", "status": "True", "reason": reason,
                "message": message, "lastTransitionTime": stamp(*since),
            }),
        }
    }

    /// The same while a change of it waits.
    fn waiting(&self, reason: &'static str, resource: TunedResource, now: Timestamp) -> Self {
        let since = self
            .pending
            .as_ref()
            .filter(|pending| pending.reason == reason);
        Self {
            containers: self.containers.clone(),
            pending: Some(Pending {
                reason,
                message: format!("Node didn't have enough resource: {resource}"),
                since: since.map_or(now, |pending| pending.since),
            }),
        }
    }

    fn requested(&self) -> CpuMemory<Amount> {
        CpuMemory::from_fn(|resource| {
            let all = self.containers.values();
            all.map(|resources| amount(&resources["requests"], resource))
                .sum()
        })
    }
}

/// The node that a Pod is on, where it is known.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    pub(super) node: Option<&'a Node>,
}

/// The allocations of all Pods that are on a node.
#[derive(Debug, Default)]
pub(super) struct Allocations(HashMap<String, (String, Arc<Allocation>)>);

impl Allocations {
    /// Keeps only the Pods with these UIDs.
    pub(super) fn retain(&mut self, uids: &HashSet<&str>) {
        self.0.retain(|uid, _| uids.contains(uid.as_str()));
    }

    /// What a Pod has on its node, after a look at what its spec asks for; a node that is not known has
    /// room for anything.
    pub(super) fn look(&mut self, pod: &Pod, on: Place<'_>, now: Timestamp) -> Arc<Allocation> {
        let uid = pod.uid().unwrap_or_default();
        let Place { name, node } = on;
        let name = name.to_owned();
        let asked = Allocation {
            containers: asked(pod),
            pending: None,
        };
        let Some((_, has)) = self.0.get(&uid) else {
            // It has been placed by what it asks for.
            return self.grant(uid, name, asked);
        };
        if has.containers == asked.containers {
            let settled = has.pending.is_none();
            return if settled {
                Arc::clone(has)
            } else {
                self.grant(uid, name, asked)
            };
        }
        let others = self
            .0
            .iter()
            .filter(|(other, (on, _))| *on == name && **other != uid);
        let taken: Vec<CpuMemory<Amount>> = others
            .map(|(_, (_, allocation))| allocation.requested())
            .collect();
        let wants = asked.requested();
        let has = Arc::clone(has);
        for resource in TunedResource::ALL {
            let Some(can) = node.and_then(|node| allocatable(node, resource)) else {
                continue;
            };
            let taken: Amount = taken.iter().map(|one| one[resource]).sum();
            let grows = wants[resource] > has.requested()[resource];
            let reason = if wants[resource] > can {
                "Infeasible"
            } else if grows && wants[resource].saturating_add(taken) > can {
                "Deferred"
            } else {
                continue;
            };
            let waiting = has.waiting(reason, resource, now);
            return self.grant(uid, name, waiting);
        }
        self.grant(uid, name, asked)
    }

    fn grant(&mut self, uid: String, node: String, allocation: Allocation) -> Arc<Allocation> {
        let allocation = Arc::new(allocation);
        self.0.insert(uid, (node, Arc::clone(&allocation)));
        allocation
    }
}

fn asked(pod: &Pod) -> BTreeMap<String, Value> {
    let containers = pod.spec.iter().flat_map(|spec| {
        let init = spec.init_containers.iter().flatten();
        let sidecars = init.filter(|one| one.restart_policy.as_deref() == Some("Always"));
        spec.containers.iter().chain(sidecars)
    });
    containers
        .map(|container| {
            let resources = container.resources.as_ref();
            (
                container.name.clone(),
                resources.map_or_else(|| json!({}), |all| json!(all)),
            )
        })
        .collect()
}

fn allocatable(node: &Node, resource: TunedResource) -> Option<Amount> {
    let allocatable = node.status.as_ref()?.allocatable.as_ref()?;
    let is_told = allocatable.contains_key(resource.as_str());
    is_told.then(|| amount(&json!(allocatable), resource))
}

fn amount(amounts: &Value, resource: TunedResource) -> Amount {
    let text = amounts[resource.as_str()].as_str();
    let quantity: Option<Quantity> = text.and_then(|text| text.parse().ok());
    let quantity = quantity.map(|quantity| match resource {
        TunedResource::Cpu => quantity.milli_ceil(),
        TunedResource::Memory => quantity.ceil(),
    });
    Amount::new(quantity.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, request: &str, limit: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": name},
            "spec": {"containers": [{"name": "app", "resources": {
                "requests": {"cpu": request}, "limits": {"cpu": limit}}}]}}))
        .unwrap()
    }

    #[test]
    fn a_resize_is_granted_where_its_node_has_room_deferred_or_infeasible() {
        let node = json!({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let on = Place {
            name: "a",
            node: Some(&node),
        };
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut all = Allocations::default();
        all.look(&pod("other", "1", "1"), on, at(0));
        all.look(&pod("web", "500m", "600m"), on, at(0));
        let cpu = |allocation: &Allocation| allocation.requests("app")["cpu"].clone();
        for (request, has, reason) in [
            ("800m", "800m", None),
            ("1500m", "800m", Some("Deferred")),
            ("3", "800m", Some("Infeasible")),
            ("800m", "800m", None),
            ("1", "1", None),
            ("400m", "400m", None),
        ] {
            let found = all.look(&pod("web", request, "4"), on, at(10));
            assert_eq!(cpu(&found), has, "{request}");
            let condition = found.condition();
            assert_eq!(condition["reason"].as_str(), reason, "{request}");
        }
        // It waits from when it first did, and gets what it asks for once another goes.
        all.look(&pod("web", "1500m", "4"), on, at(20));
        let found = all.look(&pod("web", "1500m", "4"), on, at(30));
        assert_eq!(found.condition()["lastTransitionTime"], stamp(at(20)));
        all.retain(&HashSet::from(["web"]));
        let found = all.look(&pod("web", "1500m", "4"), on, at(40));
        assert_eq!(cpu(&found), "1500m");
    }
}
