//! Resources of running Pods, allocated like kubelets do: a resize is granted if the node has room
//! for the requests, deferred without room, and refused if it can never fit. Granted resources are
//! reserved at once; until the runtime has applied them, the resize is in progress. A Pod with a
//! deferred resize keeps its old resources.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use evenkeel_quantity::Quantity;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::objects::stamp;

/// How long the runtime takes to apply a granted resize; the first round after it reports it.
const APPLYING: SignedDuration = SignedDuration::from_secs(1);

const PENDING: &str = "PodResizePending";

/// Condition of a granted resize that is not applied yet.
const IN_PROGRESS: &str = "PodResizeInProgress";

/// `resources` by container name.
type ByContainer = BTreeMap<String, Value>;

/// Resources of a Pod: reserved resources, present ones, and those of a waiting resize.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Allocation {
    containers: ByContainer,
    pending: Option<UngrantedResize>,
    applying: Option<ResizeInProgress>,
}

#[derive(Debug, Clone, PartialEq)]
struct UngrantedResize {
    reason: &'static str,
    message: String,
    since: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
struct ResizeInProgress {
    /// The resources of the containers until the resize is done.
    has: ByContainer,
    since: Timestamp,
}

impl Allocation {
    /// Allocation of a Pod without a pending resize.
    fn settled(containers: ByContainer) -> Self {
        Self {
            containers,
            pending: None,
            applying: None,
        }
    }

    pub(super) fn of(&self, container: &str) -> Value {
        let applying = self.applying.as_ref();
        let has = applying.map_or(&self.containers, |applying| &applying.has);
        resources(has, container)
    }

    /// Reserved requests of a container, which kubelet reports beside its resources.
    pub(super) fn requests(&self, container: &str) -> Value {
        let resources = resources(&self.containers, container);
        resources
            .get("requests")
            .cloned()
            .unwrap_or_else(|| json!({}))
    }

    /// Conditions of a waiting resize and of one in progress; without one, the directive that
    /// deletes the condition.
    pub(super) fn conditions(&self) -> [Value; 2] {
        let pending = self.pending.as_ref().map(|pending| {
            json!({
                "type": PENDING, "status": "True", "reason": pending.reason,
                "message": pending.message, "lastTransitionTime": stamp(pending.since),
            })
        });
        let applying = self.applying.as_ref().map(|applying| {
            json!({
                "type": IN_PROGRESS, "status": "True", "lastTransitionTime": stamp(applying.since),
            })
        });
        [(PENDING, pending), (IN_PROGRESS, applying)]
            .map(|(kind, told)| told.unwrap_or_else(|| json!({"type": kind, "$patch": "delete"})))
    }

    fn is_settled(&self) -> bool {
        self.pending.is_none() && self.applying.is_none()
    }

    /// A resize in progress for long enough is done.
    fn later(&self, now: Timestamp) -> Self {
        let applying = self.applying.clone();
        Self {
            applying: applying.filter(|one| now.duration_since(one.since) < APPLYING),
            ..self.clone()
        }
    }

    /// Nothing waits any more.
    fn without_pending(self) -> Self {
        Self {
            pending: None,
            ..self
        }
    }

    fn waiting(self, reason: &'static str, resource: TunedResource, now: Timestamp) -> Self {
        let before = self
            .pending
            .as_ref()
            .filter(|pending| pending.reason == reason);
        let since = before.map_or(now, |pending| pending.since);
        Self {
            pending: Some(UngrantedResize {
                reason,
                message: format!("Node didn't have enough resource: {resource}"),
                since,
            }),
            ..self
        }
    }

    /// Other resources are granted: the containers keep what they have for a while.
    fn granted(self, containers: ByContainer, now: Timestamp) -> Self {
        let has = self
            .applying
            .map_or(self.containers, |applying| applying.has);
        Self {
            containers,
            pending: None,
            applying: Some(ResizeInProgress { has, since: now }),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct PodHostNode<'a> {
    pub(super) name: &'a str,
    pub(super) node: Option<&'a Node>,
}

/// Allocations of all Pods on nodes, by UID.
#[derive(Debug, Default)]
pub(super) struct Allocations(HashMap<String, (String, Arc<Allocation>)>);

impl Allocations {
    pub(super) fn retain(&mut self, uids: &HashSet<&str>) {
        self.0.retain(|uid, _| uids.contains(uid.as_str()));
    }

    /// Compares a Pod's allocation with its spec, starts a resize if they differ, and returns the
    /// allocation. An unknown node has room for any resize.
    pub(super) fn look(
        &mut self,
        pod: &Pod,
        on: PodHostNode<'_>,
        now: Timestamp,
    ) -> Arc<Allocation> {
        let uid = pod.uid().unwrap_or_default();
        let asked = asked(pod);
        let next = match self.0.get(&uid) {
            // It was placed by what it requests.
            None => Allocation::settled(asked),
            Some((_, has)) if has.is_settled() && has.containers == asked => {
                return Arc::clone(has);
            }
            Some((_, has)) if has.containers == asked => has.later(now).without_pending(),
            Some((_, has)) => match self.lacking(&uid, has, &asked, on) {
                Some((reason, resource)) => has.later(now).waiting(reason, resource, now),
                None => has.later(now).granted(asked, now),
            },
        };
        let next = Arc::new(next);
        self.0.insert(uid, (on.name.to_owned(), Arc::clone(&next)));
        next
    }

    /// The resource that the node lacks for a resize, after the reason of the refusal.
    fn lacking(
        &self,
        uid: &str,
        has: &Allocation,
        asked: &ByContainer,
        on: PodHostNode<'_>,
    ) -> Option<(&'static str, TunedResource)> {
        let others = self.0.iter();
        let others = others.filter(|(other, (node, _))| *node == *on.name && **other != *uid);
        let taken: Vec<CpuMemory<Amount>> = others
            .map(|(_, (_, allocation))| requested(&allocation.containers))
            .collect();
        let (has, wants) = (requested(&has.containers), requested(asked));
        TunedResource::ALL.into_iter().find_map(|resource| {
            let can = on.node.and_then(|node| allocatable(node, resource))?;
            let taken: Amount = taken.iter().map(|one| one[resource]).sum();
            let grows = wants[resource] > has[resource];
            if wants[resource] > can {
                Some(("Infeasible", resource))
            } else if grows && wants[resource].saturating_add(taken) > can {
                Some(("Deferred", resource))
            } else {
                None
            }
        })
    }
}

fn resources(all: &ByContainer, container: &str) -> Value {
    all.get(container).cloned().unwrap_or_else(|| json!({}))
}

fn requested(all: &ByContainer) -> CpuMemory<Amount> {
    CpuMemory::from_fn(|resource| {
        let requests = all.values().map(|resources| &resources["requests"]);
        requests.map(|requests| amount(requests, resource)).sum()
    })
}

fn asked(pod: &Pod) -> ByContainer {
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
        let on = PodHostNode {
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
            let [pending, _] = found.conditions();
            assert_eq!(pending["reason"].as_str(), reason, "{request}");
        }
        // It waits since the first time, and gets its request once another Pod goes.
        all.look(&pod("web", "1500m", "4"), on, at(20));
        let found = all.look(&pod("web", "1500m", "4"), on, at(30));
        let [pending, _] = found.conditions();
        assert_eq!(pending["lastTransitionTime"], stamp(at(20)));
        all.retain(&HashSet::from(["web"]));
        let found = all.look(&pod("web", "1500m", "4"), on, at(40));
        assert_eq!(cpu(&found), "1500m");
    }

    #[test]
    fn containers_have_a_moment_later_what_was_set_aside_for_them() {
        let on = PodHostNode {
            name: "a",
            node: None,
        };
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let mut all = Allocations::default();
        all.look(&pod("web", "500m", "1"), on, at(0));
        for (request, millis, has, in_progress) in [
            ("500m", 0, "500m", None),
            ("800m", 5000, "500m", Some(5000)),
            ("800m", 5900, "500m", Some(5000)),
            ("800m", 6000, "800m", None),
            // A resize during another one starts anew, with what the containers still have.
            ("600m", 7000, "800m", Some(7000)),
            ("700m", 7500, "800m", Some(7500)),
            ("700m", 8000, "800m", Some(7500)),
            ("700m", 9000, "700m", None),
        ] {
            let found = all.look(&pod("web", request, "1"), on, at(millis));
            assert_eq!(found.requests("app")["cpu"], request, "{millis}");
            assert_eq!(found.of("app")["requests"]["cpu"], has, "{millis}");
            let [pending, progress] = found.conditions();
            assert_eq!(pending["$patch"], "delete", "{millis}");
            let since = in_progress.map(|since| stamp(at(since)));
            assert_eq!(progress["status"] == "True", since.is_some(), "{millis}");
            assert_eq!(progress["lastTransitionTime"].as_str(), since.as_deref());
        }
    }

    #[test]
    fn what_is_in_progress_goes_on_beside_a_change_that_waits() {
        let node = json!({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let on = PodHostNode {
            name: "a",
            node: Some(&node),
        };
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut all = Allocations::default();
        all.look(&pod("web", "500m", "4"), on, at(0));
        all.look(&pod("web", "800m", "4"), on, at(10));
        let infeasible = pod("web", "2", "4");
        let found = all.look(&infeasible, on, at(10));
        let [pending, progress] = found.conditions();
        assert_eq!(pending["reason"], "Infeasible");
        assert_eq!(progress["status"], "True");
        assert_eq!(found.of("app")["requests"]["cpu"], "500m");
        let found = all.look(&infeasible, on, at(11));
        let [pending, progress] = found.conditions();
        assert_eq!(pending["reason"], "Infeasible");
        assert_eq!(progress["$patch"], "delete");
        assert_eq!(found.of("app")["requests"]["cpu"], "800m");
    }
}
