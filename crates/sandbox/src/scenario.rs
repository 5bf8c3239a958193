//! The contents of a simulated cluster: nodes of given sizes, and workloads that arrive at given
//! times, ask for something and use something, which need not be the same.
//!
//! A scenario is a YAML file ([`file`]) or the one compiled into the program. What stands here has
//! been checked.

pub mod faults;
mod file;
pub mod trace;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;

use self::trace::Trace;
use evenkeel_core::units::{Amount, Ratio, Resources};

/// The scenario of a run that names none.
const MIXED: &str = include_str!("../../../examples/scenarios/mixed.yaml");

/// The one trace that it names.
const SHOP: &str = include_str!("../../../examples/traces/shop.csv");

/// Why a text is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Not YAML, or not of this shape.
    #[error("the scenario cannot be read: {0}")]
    Malformed(String),
    /// A trace that cannot be used.
    #[error("{path}: {given:?} cannot be used: {why}")]
    Trace {
        /// Where it is named.
        path: String,
        /// Its name as given.
        given: String,
        /// The fault in it, and where.
        why: String,
    },
    /// A value that is not accepted.
    #[error("{path}: {given:?} is not accepted: {accepted}")]
    Value {
        path: String,
        /// The value as given.
        given: String,
        /// The values that are accepted.
        accepted: String,
    },
}

impl ScenarioError {
    /// A short name for it.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "Malformed",
            Self::Trace { .. } => "TraceRefused",
            Self::Value { .. } => "ValueRefused",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The name of the scenario.
    pub name: String,
    /// Where in the traffic's trace the run begins.
    pub trace_offset: SignedDuration,
    /// The nodes; at least one.
    pub nodes: Vec<NodeShape>,
    /// The workloads, in the order of the file.
    pub workloads: Vec<Workload>,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The name of the Deployment.
    pub name: String,
    pub namespace: String,
    /// When it is created.
    pub arrival: SignedDuration,
    /// How many replicas it has, at first where something scales it.
    pub replicas: u32,
    /// R: requests, and annotations for network and disk I/O.
    pub demand: Resources<Amount>,
    /// The use of a replica, which need not be what it requests.
    pub usage: Usage,
    /// The time that a replica takes until it serves.
    pub startup: Startup,
    /// Requests that the replicas serve.
    pub traffic: Option<Traffic>,
    /// The bounds and target of its HorizontalPodAutoscaler.
    pub scale: Option<Scale>,
    /// The annotations of that.
    pub scale_annotations: BTreeMap<String, String>,
}

/// The use of one replica.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub idle: Resources<Amount>,
    /// In addition, for each request per second that it serves.
    pub per_request: Resources<Amount>,
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
    pub trace: Arc<Trace>,
}

/// The bounds and the target of a HorizontalPodAutoscaler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub min: u32,
    pub max: u32,
    /// Mean usage of the requested cpu to be held.
    pub cpu: Ratio,
}

impl Scenario {
    /// Reads a scenario; `traces` gives the text of a file that it names, or says why it cannot be
    /// read.
    ///
    /// # Errors
    /// A text of another shape, a value that is not accepted, a trace that cannot be used.
    pub fn read(
        text: &str,
        traces: &dyn Fn(&Path) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        file::read(text, traces)
    }

    /// One workload of each profile and a web service with a day's rhythm, on six nodes of
    /// different sizes.
    #[must_use]
    pub fn mixed() -> Self {
        let traces = |_: &Path| Ok(SHOP.to_owned());
        Self::read(MIXED, &traces).expect("the shipped scenario is well-formed")
    }

    /// The same with `count` nodes: those of the file, and again those in turn, with a number at
    /// the end of the name.
    #[must_use]
    pub fn with_nodes(mut self, count: usize) -> Self {
        let named = |(position, shape): (usize, &NodeShape)| {
            let round = position / self.nodes.len();
            let mut shape = shape.clone();
            if round > 0 {
                shape.name = format!("{}-{}", shape.name, round + 1);
            }
            shape
        };
        let nodes = self.nodes.iter().cycle().enumerate();
        self.nodes = nodes.take(count.max(1)).map(named).collect();
        self
    }

    /// The workload of a Pod, by the workload's namespace and name.
    #[must_use]
    pub fn workload(&self, namespace: &str, name: &str) -> Option<&Workload> {
        self.workloads
            .iter()
            .find(|workload| workload.namespace == namespace && workload.name == name)
    }

    /// The namespaces of the workloads, each once.
    #[must_use]
    pub fn namespaces(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .workloads
            .iter()
            .map(|workload| workload.namespace.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_shipped_scenario_is_what_the_manual_promises() {
        let mixed = Scenario::mixed();
        let sizes: BTreeSet<u64> = mixed
            .nodes
            .iter()
            .map(|node| node.capacity[evenkeel_core::units::Resource::Cpu].get())
            .collect();
        assert!(mixed.nodes.len() >= 6 && sizes.len() >= 3);
        let web = mixed.workloads.iter().find(|web| web.scale.is_some());
        assert!(web.is_some_and(|web| web.traffic.is_some()));
        assert!(mixed.workloads.len() >= 6);
    }

    #[test]
    fn every_example_is_well_formed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
        let traces = |path: &Path| {
            std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())
        };
        let mut read = 0;
        for file in std::fs::read_dir(&folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            Scenario::read(&text, &traces).unwrap();
            read += 1;
        }
        assert!(read >= 2);
    }

    #[test]
    fn more_nodes_are_the_same_shapes_again_under_other_names() {
        for count in [1, 6, 13] {
            let scenario = Scenario::mixed().with_nodes(count);
            let names: BTreeSet<&str> = scenario
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect();
            assert_eq!((scenario.nodes.len(), names.len()), (count, count));
        }
    }
}
