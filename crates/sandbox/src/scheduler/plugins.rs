//! The default plugins of kube-scheduler as functions: feasible nodes, preferred nodes, and the
//! text of a refusal. NodeName, NodeUnschedulable, TaintToleration, NodeAffinity and
//! NodeResourcesFit filter; NodeResourcesFit by LeastAllocated, NodeResourcesBalancedAllocation,
//! TaintToleration, NodeAffinity and PodTopologySpread with its default constraint score, with
//! kube-scheduler's weights. They use requests only, and so miss the load of network and disk.

mod affinity;
mod filter;
mod message;
mod score;
mod spread;
mod window;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeAffinity, Taint, Toleration};

pub use filter::{NodeRefusal, refusals};
pub use message::unschedulable;
pub use score::{affinity_points, best, scores};
pub use window::NodeSearchWindow;

use evenkeel_placement::kube_scheduler_scores::{ASSUMED_CPU, ASSUMED_MEMORY};
use evenkeel_units::{Amount, Resource, Resources};

/// As the default plugins see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodRequest {
    /// Requests of cpu, memory and disk; the other two are not used.
    pub requests: Resources<Amount>,
    pub node_name: Option<String>,
    /// Required labels of the node.
    pub selector: BTreeMap<String, String>,
    /// Required and preferred nodes.
    pub affinity: NodeAffinity,
    pub tolerations: Vec<Toleration>,
    /// The controller whose Pods are spread over nodes; `None` if its kind has no default
    /// constraint.
    pub spread_with: Option<Arc<str>>,
}

/// As the default plugins see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeRequest {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// Set by `kubectl cordon`.
    pub unschedulable: bool,
    /// The sum that Pods may request.
    pub allocatable: Resources<Amount>,
    pub max_pods: u32,
    pub requested: Resources<Amount>,
    /// For scoring, where no Pod requests 0.
    pub scored: Resources<Amount>,
    pub pods: u32,
    /// The Pods that count for the spread, by controller.
    pub spread_pods: HashMap<Arc<str>, u32>,
}

impl NodeRequest {
    pub fn add(&mut self, requests: &Resources<Amount>, spread_with: Option<&Arc<str>>) {
        let scored = for_scoring(requests);
        for resource in Resource::ALL {
            let sum = self.requested[resource].saturating_add(requests[resource]);
            self.requested[resource] = sum;
            self.scored[resource] = self.scored[resource].saturating_add(scored[resource]);
        }
        self.pods += 1;
        if let Some(controller) = spread_with {
            *self.spread_pods.entry(Arc::clone(controller)).or_default() += 1;
        }
    }

    pub fn remove(&mut self, requests: &Resources<Amount>, spread_with: Option<&Arc<str>>) {
        let scored = for_scoring(requests);
        for resource in Resource::ALL {
            let rest = self.requested[resource].saturating_sub(requests[resource]);
            self.requested[resource] = rest;
            self.scored[resource] = self.scored[resource].saturating_sub(scored[resource]);
        }
        self.pods = self.pods.saturating_sub(1);
        if let Some(controller) = spread_with
            && let Some(count) = self.spread_pods.get_mut(controller)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.spread_pods.remove(controller);
            }
        }
    }
}

fn for_scoring(requests: &Resources<Amount>) -> Resources<Amount> {
    let or = |resource: Resource, default: Amount| match requests[resource] {
        Amount::ZERO => default,
        amount => amount,
    };
    let mut scored = *requests;
    scored[Resource::Cpu] = or(Resource::Cpu, ASSUMED_CPU);
    scored[Resource::Memory] = or(Resource::Memory, ASSUMED_MEMORY);
    scored
}
