//! A simulated cluster: nodes with sizes, and workloads that arrive at given times, with requests
//! and a possibly different use. It comes from a YAML file ([`file`]) or is compiled into the
//! program. All values here are checked.

mod count_changes;
mod error;
pub mod faults;
mod file;
mod model;
mod portraits;
mod scale_file;
pub mod simkube;
pub mod simulation;
mod surge;
pub mod trace;
mod values;

use std::path::Path;

pub use self::error::ScenarioError;
pub use self::model::{
    NodeShape, ReplicaUsage, ScaleBy, Scenario, ScenarioHpa, ScenarioWorkload, Startup, Traffic,
};
pub use self::surge::Surge;

const MIXED: &str = include_str!("../../../examples/scenarios/mixed.yaml");

const SHOP: &str = include_str!("../../../examples/traces/shop.csv");

impl Scenario {
    /// `traces` returns the text of a file that the scenario names, or why it cannot be read.
    ///
    /// # Errors
    /// Text of another shape, a value that is not accepted, or an unusable trace.
    pub fn read(
        text: &str,
        traces: &dyn Fn(&Path) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        file::read(text, traces)
    }

    /// One workload of each profile and a web service with a day's rhythm, on six nodes of
    /// different sizes.
    pub fn mixed() -> Self {
        let traces = |_: &Path| Ok(SHOP.to_owned());
        Self::read(MIXED, &traces).expect("the shipped scenario is well-formed")
    }

    /// With `count` nodes: those of the file repeatedly, with numbered names.
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

    pub fn workload(&self, namespace: &str, name: &str) -> Option<&ScenarioWorkload> {
        self.workloads
            .iter()
            .find(|workload| workload.namespace == namespace && workload.name == name)
    }

    /// Namespaces of the workloads, each once.
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_shipped_scenario_is_what_the_manual_promises() {
        let mixed = Scenario::mixed();
        let sizes: BTreeSet<u64> = mixed
            .nodes
            .iter()
            .map(|node| node.capacity[evenkeel_units::Resource::Cpu].get())
            .collect();
        assert!(mixed.nodes.len() >= 6 && sizes.len() >= 3);
        let web = mixed.workloads.iter().find(|web| web.scale.is_some());
        assert!(web.is_some_and(|web| web.traffic.is_some()));
        assert!(mixed.workloads.len() >= 6);
    }

    #[test]
    fn every_example_is_well_formed() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
        let mut read = 0;
        for folder in [examples.clone(), examples.join("simulate")] {
            let traces = |path: &Path| {
                std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())
            };
            for file in std::fs::read_dir(&folder).unwrap() {
                let path = file.unwrap().path();
                if path.is_file() {
                    let text = std::fs::read_to_string(path).unwrap();
                    Scenario::read(&text, &traces).unwrap();
                    read += 1;
                }
            }
        }
        assert!(read >= 10);
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
