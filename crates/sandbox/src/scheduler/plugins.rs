//! The default plugins of kube-scheduler as functions: which nodes a Pod may go to, which of them
//! it likes best, and how it words that there is none.
//!
//! NodeName, NodeUnschedulable, TaintToleration, NodeAffinity and NodeResourcesFit filter;
//! NodeResourcesFit by LeastAllocated, NodeResourcesBalancedAllocation, TaintToleration and
//! NodeAffinity score, with the weights that kube-scheduler gives them. They look at requests
//! only, which is why the load of network and disk escapes them.

mod affinity;
mod filter;
mod message;
mod score;
mod window;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeAffinity, Taint, Toleration};

pub use filter::{NodeRefusal, refusals};
pub use message::unschedulable;
pub use score::{best, scores};
pub use window::NodeSearchWindow;

use evenkeel_core::placement::kube_scheduler_scores::{ASSUMED_CPU, ASSUMED_MEMORY};
use evenkeel_core::units::{Amount, Resource, Resources};

/// A Pod as the default plugins see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodRequest {
    /// Requests of cpu, memory and disk; the other two are not looked at.
    pub requests: Resources<Amount>,
    /// The node that the Pod asks for by name.
    pub node_name: Option<String>,
    /// Labels that the node must have.
    pub selector: BTreeMap<String, String>,
    /// The nodes that it must and should go to.
    pub affinity: NodeAffinity,
    /// Taints that it bears.
    pub tolerations: Vec<Toleration>,
}

/// A node as the default plugins see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeRequest {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// Set by `kubectl cordon`.
    pub unschedulable: bool,
    /// The amounts that Pods may request together.
    pub allocatable: Resources<Amount>,
    /// How many Pods it takes.
    pub max_pods: u32,
    /// Requests of its Pods.
    pub requested: Resources<Amount>,
    /// The same for scoring, where no Pod counts as asking for nothing.
    pub scored: Resources<Amount>,
    /// How many Pods it has.
    pub pods: u32,
}

impl NodeRequest {
    /// Counts a Pod that goes there.
    pub fn add(&mut self, requests: &Resources<Amount>) {
        let scored = for_scoring(requests);
        for resource in Resource::ALL {
            let sum = self.requested[resource].saturating_add(requests[resource]);
            self.requested[resource] = sum;
            self.scored[resource] = self.scored[resource].saturating_add(scored[resource]);
        }
        self.pods += 1;
    }

    /// Counts a Pod no more that was there.
    pub fn remove(&mut self, requests: &Resources<Amount>) {
        let scored = for_scoring(requests);
        for resource in Resource::ALL {
            let rest = self.requested[resource].saturating_sub(requests[resource]);
            self.requested[resource] = rest;
            self.scored[resource] = self.scored[resource].saturating_sub(scored[resource]);
        }
        self.pods = self.pods.saturating_sub(1);
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
