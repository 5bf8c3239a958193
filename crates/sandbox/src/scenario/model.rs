//! The parts of a scenario, and the errors of a text that is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use kube::api::DynamicObject;

use super::faults::Fault;
use super::simulation::Simulation;
use super::surge::Surge;
use super::trace::TrafficTrace;
use crate::portraits::Portraits;
use evenkeel_core::scaling::ScalingMode;
use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::signal::{MetricTarget, Signal};
use evenkeel_core::units::{Amount, Ratio, Resource, Resources};
use evenkeel_kubernetes::scaling_policy::ScalingPolicy;

#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name of the scenario.
    pub name: String,
    /// Where in the traffic's trace the run begins.
    pub trace_offset: SignedDuration,
    /// For how long before the run there were measurements of workloads that serve requests.
    pub past: SignedDuration,
    /// The nodes; at least one.
    pub nodes: Vec<NodeShape>,
    /// The workloads, in the order of the file.
    pub workloads: Vec<ScenarioWorkload>,
    /// The planned faults, with their times.
    pub faults: Vec<Fault>,
    /// Further objects of the cluster, which are there from the beginning: each with its kind and name.
    pub objects: Vec<DynamicObject>,
    /// How `evenkeel simulate` simulates the scenario.
    pub simulation: Simulation,
}

/// A node's name and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShape {
    /// The name of the Node object.
    pub name: String,
    /// T of each resource.
    pub capacity: Resources<Amount>,
    /// How many Pods it takes.
    pub pods: u32,
}

/// Replicas of one kind of Pod.
#[derive(Debug, Clone)]
pub struct ScenarioWorkload {
    /// The name of the Deployment.
    pub name: String,
    pub namespace: String,
    /// When it is created.
    pub arrival: SignedDuration,
    /// How many replicas it has, at first where something scales it.
    pub replicas: u32,
    /// Later counts and their times, which a recorded trace tells.
    pub changes: Vec<(SignedDuration, u32)>,
    /// R: requests, and annotations for network and disk I/O.
    pub demand: Resources<Amount>,
    /// The cpu and memory limits of its container; zero for no limit.
    pub limits: Resources<Amount>,
    /// The use of a replica, which need not be what it requests.
    pub usage: ReplicaUsage,
    /// The time that a replica takes until it serves.
    pub startup: Startup,
    /// The time that a replica which is deleted takes to finish what it has.
    pub shutdown: SignedDuration,
    /// Requests that the replicas serve.
    pub traffic: Option<Traffic>,
    /// The annotations of the Deployment.
    pub annotations: BTreeMap<String, String>,
    /// The bounds and target of its HorizontalPodAutoscaler.
    pub scale: Option<ScenarioHpa>,
    /// The annotations of that.
    pub scale_annotations: BTreeMap<String, String>,
    /// The providers that may have a say in its replicas instead.
    pub portraits: Option<Arc<Portraits>>,
}

/// The use of one replica.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaUsage {
    pub idle: Resources<Amount>,
    /// In addition, for each request per second that it serves.
    pub per_request: Resources<Amount>,
    /// While it warms up, in place of both.
    pub warm_up: Resources<Amount>,
    /// By how large a share the rates of cpu, network and disk vary.
    pub noise: Ratio,
}

/// How long the stages of a Pod's start take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Startup {
    /// Pulling the image, on a node that does not have it.
    pub pull: SignedDuration,
    /// From then until its containers run.
    pub start: SignedDuration,
    /// From then until it is ready.
    pub warm_up: SignedDuration,
}

/// Requests to a workload, which follow a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Requests per second at the trace's peak.
    pub peak: f64,
    /// The most that one ready replica serves per second; what is above that is lost.
    pub per_replica: f64,
    /// The trace that they follow; the one compiled into the program unless the file names another.
    pub trace: Arc<TrafficTrace>,
    /// Where in the trace it is when the run is at its begin, beyond the offset of the whole scenario.
    pub offset: SignedDuration,
    /// The surges that multiply the requests of the trace.
    pub surges: Vec<Surge>,
    /// The deviation of the requests of each 15 s from what is said here, as a share of them; only replays
    /// over several seeds have it.
    pub noise: f64,
}

impl ScenarioWorkload {
    /// The metric that its HPA scales by, with the load that one replica is to carry; in mode direct the cpu that its
    /// annotations name. `None` for a workload that nothing scales, and where cpu is to be held and it requests none.
    #[must_use]
    pub fn capacity(&self) -> Option<(ScaleBy, PodCapacity)> {
        let by = self.scale.map(|scale| scale.by);
        let by = by.or_else(|| self.direct_target().map(ScaleBy::Cpu))?;
        let (each, target) = match by {
            ScaleBy::Cpu(share) => (self.demand[Resource::Cpu].as_f64(), share),
            ScaleBy::Requests(requests) => (f64::from(requests), Ratio::ONE),
        };
        Some((by, PodCapacity::new(each, target).ok()?))
    }

    /// The target utilisation of cpu that its annotations name in mode direct.
    fn direct_target(&self) -> Option<Ratio> {
        let (policy, _) = ScalingPolicy::parse(&self.annotations);
        let metrics = policy.metrics().0;
        let mut metrics = metrics
            .iter()
            .filter(|_| policy.scaling == Some(ScalingMode::Direct));
        metrics.find_map(|metric| match metric {
            MetricSpec::Known(signal, Some(MetricTarget::Utilization(percent)))
                if *signal == Signal::CPU =>
            {
                Ratio::new(f64::from(*percent) / 100.0).ok()
            }
            _ => None,
        })
    }
}

/// The bounds and the target of a HorizontalPodAutoscaler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioHpa {
    pub min: u32,
    pub max: u32,
    pub by: ScaleBy,
}

/// The metric of a HorizontalPodAutoscaler, with its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleBy {
    /// Mean usage of the requested cpu to be held.
    Cpu(Ratio),
    /// Requests per second that each Pod is to serve.
    Requests(u32),
}
