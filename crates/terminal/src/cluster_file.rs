//! A cluster described in a file, so that decisions can be tried without a cluster. The file is fed
//! to the service's own node table: usage as a round of measurements, Pods as events. The result is
//! the snapshot that the service would decide on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_objects::pod_name::PodName;
use evenkeel_objects::serde_message::reworded;
use evenkeel_objects::yaml_values::{AmountTexts, YamlText};
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::node_table::{NodeTable, Settings};
use evenkeel_placement::snapshot::{Namespaces, Snapshot};
use evenkeel_service::config::{API_VERSION, Checker, yaml};
use evenkeel_units::{Amount, Resources};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::output;
use super::output::CliFailure;

const KIND: &str = "ClusterSnapshot";

/// The moment that the file speaks of; only differences of times matter.
pub const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// The span of a written measurement.
const WINDOW: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a mapping of fields"
)]
struct ClusterFile {
    api_version: String,
    kind: String,
    #[serde(default)]
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
    nodes: Vec<NodeFile>,
    #[serde(default)]
    pods: Vec<PodFile>,
}

#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a mapping of fields"
)]
struct NodeFile {
    name: String,
    capacity: AmountTexts,
    /// Measured usage; without it the node's load is the sum of its Pods' demands.
    #[serde(default)]
    usage: AmountTexts,
    usage_age: Option<YamlText>,
    #[serde(default = "yes")]
    ready: bool,
    #[serde(default)]
    unschedulable: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a mapping of fields"
)]
struct PodFile {
    namespace: String,
    name: String,
    node: String,
    demand: AmountTexts,
    /// Since when its containers run; without it the Pod is starting, unmeasured, and counted on
    /// top of measurements.
    running_for: Option<YamlText>,
}

#[derive(Debug)]
pub struct FileCluster {
    pub snapshot: Snapshot,
    /// Annotations that were not understood.
    pub warnings: Vec<String>,
}

/// Reads the file at `path`; `policy` gives default capacities and the validity of measurements.
pub fn read(path: &Path, policy: &SchedulingPolicy) -> Result<FileCluster, CliFailure> {
    let text = output::read_input(path)?;
    parse(&text, policy).map_err(|problems| {
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| format!("{}: {problem}", path.display()))
            .collect();
        CliFailure::call(lines.join("\n"))
    })
}

fn parse(text: &str, policy: &SchedulingPolicy) -> Result<FileCluster, Vec<String>> {
    let tree = yaml::parse_amounts(text).map_err(|error| vec![format!("is not YAML: {error}")])?;
    let file: ClusterFile = serde_path_to_error::deserialize(&tree).map_err(|error| {
        vec![format!(
            "{}: {}",
            error.path(),
            reworded(&error.inner().to_string())
        )]
    })?;
    let mut check = Checker::default();
    let cluster = build(file, policy, &mut check);
    if check.findings.is_empty() {
        Ok(cluster)
    } else {
        let findings = check.findings.into_iter();
        Err(findings
            .map(|finding| format!("{}: {}", finding.path, finding.message))
            .collect())
    }
}

fn build(file: ClusterFile, policy: &SchedulingPolicy, check: &mut Checker) -> FileCluster {
    let ClusterFile {
        api_version,
        kind,
        namespaces,
        nodes,
        pods,
    } = file;
    for (path, given, accepted) in [
        ("apiVersion", api_version, API_VERSION),
        ("kind", kind, KIND),
    ] {
        if given != accepted {
            check.refuse_value(path, given, accepted);
        }
    }
    let mut table = NodeTable::new(Settings {
        max_age: policy.max_age,
        ..Settings::default()
    });
    let (mut sample, mut measured) = (UsageSample::default(), false);
    for (index, node) in nodes.iter().enumerate() {
        let path = format!("nodes[{index}]");
        if table.nodes().get(&node.name).is_some() {
            let twice = format_args!("{:?} is here twice", node.name);
            check.refuse(&format!("{path}.name"), twice);
        }
        table.apply_node(&node.name, node.facts(&path, policy, check), NOW);
        if let Some(usage) = node.measured(&path, check) {
            sample.insert_node(node.name.as_str(), &usage);
            measured = true;
        }
    }
    table.apply_sample(Arc::new(sample), NOW);
    for (index, pod) in pods.iter().enumerate() {
        pod.enter(&format!("pods[{index}]"), &mut table, check);
    }
    let mut warnings = Vec::new();
    let mut known = Namespaces::default();
    for (name, annotations) in namespaces {
        let (policy, invalid) = NamespacePolicy::parse(&annotations);
        warnings.extend(
            invalid
                .iter()
                .map(|what| format!("namespace {name}: {what}")),
        );
        known.insert(name.into(), Arc::new(policy));
    }
    FileCluster {
        snapshot: Snapshot {
            nodes: table.nodes().clone(),
            namespaces: Arc::new(known),
            expects_metrics: measured,
            synced: true,
            second_scheduler: None,
            labelled_shapes: Arc::default(),
        },
        warnings,
    }
}

impl NodeFile {
    fn facts(&self, path: &str, policy: &SchedulingPolicy, check: &mut Checker) -> NodeFacts {
        let told = amounts(&self.capacity, &format!("{path}.capacity"), check);
        let capacity = |resource| told[resource].or(policy.default_capacity[resource]);
        NodeFacts {
            tainted: false,
            capacity: Resources::from_fn(capacity),
            whole: Resources::default(),
            created: None,
            network_is_default: false,
            schedulable: self.ready && !self.unschedulable,
        }
    }

    /// Measured usage; `None` where the file states none.
    fn measured(&self, path: &str, check: &mut Checker) -> Option<Resources<Option<NodeSample>>> {
        let age = self.usage_age.as_ref().map_or(SignedDuration::ZERO, |age| {
            let age = check.duration_or_never(&format!("{path}.usageAge"), age);
            age.unwrap_or_default()
        });
        let at = NOW.checked_sub(age).unwrap_or(Timestamp::MIN);
        let usage = amounts(&self.usage, &format!("{path}.usage"), check);
        let stated = usage.values().iter().any(Option::is_some);
        stated.then(|| {
            usage.map(|value| {
                value.map(|value| NodeSample {
                    value,
                    at,
                    window: WINDOW,
                })
            })
        })
    }
}

impl PodFile {
    fn enter(&self, path: &str, table: &mut NodeTable, check: &mut Checker) {
        let Self {
            namespace,
            name,
            node,
            demand,
            running_for,
        } = self;
        if table.nodes().get(node).is_none() {
            check.refuse_value(
                &format!("{path}.node"),
                node,
                "the name of one of the nodes",
            );
        }
        let demand = amounts(demand, &format!("{path}.demand"), check);
        let started = running_for.as_ref().and_then(|text| {
            let since = check.duration(&format!("{path}.runningFor"), text);
            NOW.checked_sub(since).ok()
        });
        let pod = PodName::new(namespace, name);
        let facts = BoundPod {
            first_started: started,
            started,
            ..BoundPod::on(&pod, Some(node), demand.map(Option::unwrap_or_default))
        };
        table.apply_pod(&format!("{namespace}/{name}"), &facts, NOW);
    }
}

/// The amounts that are understood; the others are findings.
fn amounts(texts: &AmountTexts, path: &str, check: &mut Checker) -> Resources<Option<Amount>> {
    let parsed = texts.parse();
    Resources::from_fn(|resource| match parsed[resource].as_ref()? {
        Ok(amount) => Some(*amount),
        Err((error, _)) => {
            check.refuse(&format!("{path}.{resource}"), error);
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_placement::snapshot::OptIn;
    use evenkeel_service::config::{Config, ConfigSources};
    use evenkeel_units::Resource;

    use super::*;

    const HEAD: &str = "apiVersion: config.evenkeel.dev/v1alpha1\nkind: ClusterSnapshot\n";

    fn policy() -> SchedulingPolicy {
        Config::load(&ConfigSources::default()).unwrap().policy
    }

    fn load(rest: &str) -> Result<FileCluster, Vec<String>> {
        parse(&format!("{HEAD}{rest}"), &policy())
    }

    #[test]
    fn a_file_becomes_what_the_service_would_see() {
        let cluster = load(
            "
namespaces: {shop: {evenkeel.dev/enabled: 'true', evenkeel.dev/headroom: '2'}, other: {}}
nodes:
- name: a
  capacity: {cpu: 16, memory: 64Gi, networkIo: 10Gbps}
  usage: {cpu: 4500m, memory: 20Gi, networkIo: 100MB/s}
- {name: b, capacity: {cpu: 8}, usage: {cpu: 7}, usageAge: 1h, unschedulable: true}
pods:
- {namespace: shop, name: starting, node: a, demand: {cpu: 1}}
- {namespace: shop, name: running, node: a, demand: {cpu: 1}, runningFor: 1h}
- {namespace: shop, name: known, node: b, demand: {cpu: 2}, runningFor: 1h}
",
        )
        .unwrap();
        let a = cluster.snapshot.nodes.get("a").unwrap();
        assert_eq!(a.load.load[Resource::Cpu], Amount::new(5500));
        assert_eq!(
            a.load.capacity[Resource::NetworkIo],
            Some(Amount::new(1_250_000_000))
        );
        assert_eq!(a.load.capacity[Resource::Disk], None);
        assert!(a.schedulable && !a.is_estimated());
        let b = cluster.snapshot.nodes.get("b").unwrap();
        assert_eq!(
            b.load.load[Resource::Cpu],
            Amount::new(2000),
            "the measurement is stale"
        );
        assert!(!b.schedulable && b.is_estimated());
        assert!(matches!(cluster.snapshot.opt_in("shop"), OptIn::In(_)));
        assert_eq!(cluster.snapshot.opt_in("other"), OptIn::Out);
        assert_eq!(cluster.warnings.len(), 1, "{:?}", cluster.warnings);
    }

    #[test]
    fn mistakes_are_told_with_their_paths() {
        for (rest, parts) in [
            ("nodes: {}", &["nodes: ", "accepted: a list"][..]),
            ("nodes: [{name: a}]", &["nodes[0]: ", "`capacity`"]),
            (
                "nodes: [{name: a, capacity: {gpu: 1}}]",
                &["nodes[0].capacity.gpu: ", "`cpu`"],
            ),
            (
                "nodes: [{name: a, capacity: {cpu: much, networkIo: 1Qbps}}]",
                &[
                    "nodes[0].capacity.cpu: ",
                    "nodes[0].capacity.networkIo: ",
                    "5Mbps",
                ],
            ),
            (
                "nodes: [{name: a, capacity: {}}, {name: a, capacity: {}, usageAge: old}]",
                &["nodes[1].name: ", "twice", "nodes[1].usageAge: "],
            ),
            (
                "nodes: []\npods: [{namespace: n, name: p, node: a, demand: {}}]",
                &["pods[0].node: ", "the name of one of the nodes"],
            ),
        ] {
            let problems = load(rest).expect_err(rest).join("\n");
            for part in parts {
                assert!(problems.contains(part), "{rest}: {problems}");
            }
        }
        let other = parse("apiVersion: v1\nkind: List\nnodes: []\n", &policy()).unwrap_err();
        assert_eq!(other.len(), 2, "{other:?}");
    }
}
