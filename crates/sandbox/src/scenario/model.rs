//! The parts of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::{MetricTarget, Signal};
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_units::{Amount, Ratio, Resource, Resources};
use jiff::SignedDuration;
use kube::api::DynamicObject;

use super::faults::Fault;
use super::simulation::Simulation;
use super::surge::Surge;
use super::trace::TrafficTrace;
use crate::portraits::Portraits;

#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: String,
    /// Begin of the run in the traffic's trace.
    pub trace_offset: SignedDuration,
    /// How long before the run workloads with requests were measured.
    pub past: SignedDuration,
    /// At least one.
    pub nodes: Vec<NodeShape>,
    pub workloads: Vec<ScenarioWorkload>,
    pub faults: Vec<Fault>,
    /// Further objects, present from the beginning.
    pub objects: Vec<DynamicObject>,
    /// For `evenkeel simulate`.
    pub simulation: Simulation,
}

/// Name and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShape {
    pub name: String,
    /// T of each resource.
    pub capacity: Resources<Amount>,
    pub pods: u32,
}

/// Replicas of one kind of Pod.
#[derive(Debug, Clone)]
pub struct ScenarioWorkload {
    pub name: String,
    pub namespace: String,
    pub arrival: SignedDuration,
    /// Initial replicas, if something scales it.
    pub replicas: u32,
    /// Later counts and their times, if nothing scales it.
    pub changes: Vec<(SignedDuration, u32)>,
    /// R: requests, and annotations for network and disk I/O.
    pub demand: Resources<Amount>,
    /// Cpu and memory limits of its container; zero for no limit.
    pub limits: Resources<Amount>,
    /// Use of a replica, which may differ from its requests.
    pub usage: ReplicaUsage,
    /// Time until a replica serves.
    pub startup: Startup,
    /// Time of a deleted replica to finish its requests.
    pub shutdown: SignedDuration,
    /// Requests to the replicas.
    pub traffic: Option<Traffic>,
    pub annotations: BTreeMap<String, String>,
    /// Bounds and target of its HorizontalPodAutoscaler.
    pub scale: Option<ScenarioHpa>,
    /// Annotations of the HorizontalPodAutoscaler.
    pub scale_annotations: BTreeMap<String, String>,
    /// Providers that may decide on its replicas instead.
    pub portraits: Option<Arc<Portraits>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaUsage {
    pub idle: Resources<Amount>,
    /// In addition, for each request per second that it serves.
    pub per_request: Resources<Amount>,
    /// While it warms up, in place of both.
    pub warm_up: Resources<Amount>,
    /// Variation of the rates of cpu, network and disk, as a share.
    pub noise: Ratio,
}

/// Durations of a Pod's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Startup {
    /// Pull of the image, on a node without it.
    pub pull: SignedDuration,
    /// From then until its containers run.
    pub start: SignedDuration,
    /// From then until it is ready.
    pub warm_up: SignedDuration,
}

/// Follows a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Requests per second at the trace's peak.
    pub peak: f64,
    /// Most that one ready replica serves per second; the rest is lost.
    pub per_replica: f64,
    /// The compiled-in trace unless the file names another.
    pub trace: Arc<TrafficTrace>,
    /// Offset of the trace at the run's begin, beyond that of the scenario.
    pub offset: SignedDuration,
    /// Multiply the requests of the trace.
    pub surges: Vec<Surge>,
    /// Deviation of the requests of each 15 s, as a share; only replays over several seeds have it.
    pub noise: f64,
}

impl ScenarioWorkload {
    /// The metric of its HPA, with the target load of one replica; in mode direct the cpu of its
    /// annotations. `None` for a workload without scaling, and for a cpu target without a cpu
    /// request.
    pub fn capacity(&self) -> Option<(ScaleBy, PodCapacity)> {
        let by = self.scale.map(|scale| scale.by);
        let by = by.or_else(|| self.direct_target().map(ScaleBy::Cpu))?;
        let (each, target) = match by {
            ScaleBy::Cpu(share) => (self.demand[Resource::Cpu].as_f64(), share),
            ScaleBy::Requests(requests) => (f64::from(requests), Ratio::ONE),
        };
        Some((by, PodCapacity::new(each, target).ok()?))
    }

    /// From its annotations in mode direct.
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

/// Bounds and metric of a HorizontalPodAutoscaler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioHpa {
    pub min: u32,
    pub max: u32,
    pub by: ScaleBy,
}

/// The metric of a HorizontalPodAutoscaler, with its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleBy {
    /// Mean usage of the requested cpu.
    Cpu(Ratio),
    /// Requests per second of each Pod.
    Requests(u32),
}
