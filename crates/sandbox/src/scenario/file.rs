//! The file form of a scenario, and its checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use evenkeel_objects::yaml_values::{AmountTexts, YamlText};
use evenkeel_units::{Amount, Ratio, Resource, Resources};
use jiff::SignedDuration;
use kube::api::{DynamicObject, GroupVersionKind};
use serde::Deserialize;
use serde_json::Value;

use super::count_changes::CountChangeFile;
use super::error::ScenarioError;
use super::faults::{Fault, FaultError};
use super::model::{NodeShape, ReplicaUsage, Scenario, ScenarioWorkload, Startup, Traffic};
use super::portraits::WorkloadPortraitsFile;
use super::scale_file::ScaleFile;
use super::simulation::SimulationFile;
use super::surge::SurgeFile;
use super::values::{amounts, duration, optional, refused, told};
use super::{count_changes, faults, simulation};
use crate::scenario::trace::TrafficTrace;

const PODS: u32 = 110;

/// Default processor time of a container that warms up, as a multiple of its idle one: class
/// loading and caches cost more than waiting.
const WARM_UP: u64 = 2;

/// Default time of a deleted replica to finish its requests: load balancers still send it requests
/// for some seconds.
const SHUTDOWN: SignedDuration = SignedDuration::from_secs(10);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScenarioFile {
    name: String,
    #[serde(default)]
    trace_offset: Option<YamlText>,
    #[serde(default)]
    past: Option<YamlText>,
    nodes: Vec<NodeFile>,
    workloads: Vec<WorkloadFile>,
    #[serde(default)]
    faults: Vec<String>,
    #[serde(default)]
    objects: Vec<Value>,
    #[serde(default)]
    simulation: Option<SimulationFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodeFile {
    name: String,
    #[serde(default)]
    count: Option<u32>,
    capacity: AmountTexts,
    #[serde(default)]
    pods: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    namespace: String,
    #[serde(default)]
    arrival: Option<YamlText>,
    replicas: u32,
    #[serde(default)]
    changes: Vec<CountChangeFile>,
    demand: AmountTexts,
    #[serde(default)]
    limits: AmountTexts,
    usage: UsageFile,
    startup: StartupFile,
    #[serde(default)]
    shutdown: Option<YamlText>,
    #[serde(default)]
    traffic: Option<TrafficFile>,
    #[serde(default)]
    scale: Option<ScaleFile>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UsageFile {
    idle: AmountTexts,
    #[serde(default)]
    per_request: AmountTexts,
    #[serde(default)]
    warm_up: AmountTexts,
    #[serde(default)]
    noise: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartupFile {
    pull: YamlText,
    start: YamlText,
    warm_up: YamlText,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TrafficFile {
    peak: f64,
    per_replica: f64,
    #[serde(default)]
    trace: Option<PathBuf>,
    #[serde(default)]
    offset: Option<YamlText>,
    #[serde(default)]
    surges: Vec<SurgeFile>,
    #[serde(default)]
    noise: f64,
}

/// The text of a file that a scenario names.
type TraceLoader<'a> = &'a dyn Fn(&Path) -> Result<String, String>;

/// Trace files and the start in them, for the traffic of all workloads.
#[derive(Clone, Copy)]
struct TrafficTraceInput<'a> {
    traces: TraceLoader<'a>,
    /// Begin of the run in the traces.
    begin: SignedDuration,
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        read(text, &|_| {
            Err("only a scenario in a file may name other files".to_owned())
        })
    }
}

pub(super) fn read(text: &str, traces: TraceLoader<'_>) -> Result<Scenario, ScenarioError> {
    // Amounts and objects are those of manifests, in which 010 is 8.
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let file: ScenarioFile = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ScenarioError::Malformed(error.to_string()))?;
    let ScenarioFile {
        name,
        trace_offset,
        past,
        nodes,
        workloads,
        faults,
        objects,
        simulation,
    } = file;
    if nodes.is_empty() {
        return Err(refused("nodes", "[]", "at least one node"));
    }
    let trace_offset = optional("traceOffset", trace_offset)?;
    let requests = TrafficTraceInput {
        traces,
        begin: trace_offset,
    };
    let workload = |file: WorkloadFile, path: &str| file.check(path, requests);
    let past = optional("past", past)?;
    Ok(Scenario {
        name,
        trace_offset,
        past,
        nodes: numbered(nodes, "nodes", NodeFile::check)?.concat(),
        workloads: numbered(workloads, "workloads", workload)?,
        faults: numbered(faults, "faults", |text: String, path| fault(&text, path))?,
        objects: numbered(objects, "objects", |value: Value, path| {
            object(&value, path)
        })?,
        simulation: simulation::checked(simulation)?,
    })
}

fn fault(text: &str, path: &str) -> Result<Fault, ScenarioError> {
    let fault = text.parse();
    fault.map_err(|FaultError(given)| refused(path, given, faults::ACCEPTED))
}

/// As `kubectl apply` accepts it.
fn object(value: &Value, path: &str) -> Result<DynamicObject, ScenarioError> {
    let object = DynamicObject::deserialize(value).ok();
    let named = object.filter(|object| {
        let types = object.types.as_ref();
        let has_kind = types.is_some_and(|types| GroupVersionKind::try_from(types).is_ok());
        has_kind && object.metadata.name.is_some()
    });
    let accepted = "an object with apiVersion, kind and metadata.name";
    named.ok_or_else(|| refused(path, value, accepted))
}

fn numbered<F, T>(
    files: Vec<F>,
    path: &str,
    check: impl Fn(F, &str) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let numbered = files.into_iter().enumerate();
    numbered
        .map(|(number, file)| check(file, &format!("{path}[{number}]")))
        .collect()
}

impl NodeFile {
    /// One node, or `count` ones numbered from 1.
    fn check(self, path: &str) -> Result<Vec<NodeShape>, ScenarioError> {
        let Self {
            name,
            count,
            capacity,
            pods,
        } = self;
        let capacity = amounts(&capacity, &format!("{path}.capacity"))?;
        if capacity.values().contains(&Amount::ZERO) {
            let accepted = "an amount above zero of each of the five resources";
            return Err(refused(&format!("{path}.capacity"), "0", accepted));
        }
        let named = |name| NodeShape {
            name,
            capacity,
            pods: pods.unwrap_or(PODS),
        };
        Ok(match count {
            None => vec![named(name)],
            Some(0) => return Err(refused(&format!("{path}.count"), 0, "at least 1")),
            Some(count) => (1..=count)
                .map(|number| named(format!("{name}-{number}")))
                .collect(),
        })
    }
}

impl WorkloadFile {
    fn check(
        self,
        path: &str,
        requests: TrafficTraceInput<'_>,
    ) -> Result<ScenarioWorkload, ScenarioError> {
        let Self {
            name,
            namespace,
            arrival,
            replicas,
            changes,
            demand,
            limits,
            usage,
            startup,
            shutdown,
            traffic,
            mut scale,
            annotations,
        } = self;
        let below = |field: &str| format!("{path}.{field}");
        let traffic = traffic.map(|traffic| traffic.check(&below("traffic"), requests));
        let scale_annotations = scale.as_ref().map(|scale| scale.annotations.clone());
        let written = scale.as_mut().map(|scale| WorkloadPortraitsFile {
            providers: std::mem::take(&mut scale.portrait_providers),
            behavior: scale.behavior.take(),
        });
        let scale = scale
            .map(|scale| scale.check(&below("scale")))
            .transpose()?;
        let portraits = written.zip(scale);
        let portraits = portraits.map(|(written, scale)| written.check(scale, &below("scale")));
        Ok(ScenarioWorkload {
            name,
            namespace,
            arrival: optional(&below("arrival"), arrival)?,
            replicas,
            changes: count_changes::check(changes, &below("changes"), scale.is_some())?,
            demand: amounts(&demand, &below("demand"))?,
            limits: amounts(&limits, &below("limits"))?,
            usage: usage.check(&below("usage"))?,
            startup: startup.check(&below("startup"))?,
            shutdown: shutdown.map_or(Ok(SHUTDOWN), |text| duration(&below("shutdown"), &text))?,
            traffic: traffic.transpose()?,
            scale,
            annotations,
            scale_annotations: scale_annotations.unwrap_or_default(),
            portraits: portraits.transpose()?.flatten().map(Arc::new),
        })
    }
}

impl UsageFile {
    fn check(self, path: &str) -> Result<ReplicaUsage, ScenarioError> {
        let Self {
            idle,
            per_request,
            warm_up,
            noise,
        } = self;
        let share = (0.0..=1.0).contains(&noise).then_some(noise);
        let share = share.and_then(|share| Ratio::new(share).ok());
        let accepted = "a share from 0 to 1";
        let idle = amounts(&idle, &format!("{path}.idle"))?;
        let mut warm_up = told(&warm_up, &format!("{path}.warmUp"))?;
        let cpu = idle[Resource::Cpu].get().saturating_mul(WARM_UP);
        warm_up[Resource::Cpu].get_or_insert(Amount::new(cpu));
        Ok(ReplicaUsage {
            warm_up: Resources::from_fn(|of| warm_up[of].unwrap_or(idle[of])),
            idle,
            per_request: amounts(&per_request, &format!("{path}.perRequest"))?,
            noise: share.ok_or_else(|| refused(&format!("{path}.noise"), noise, accepted))?,
        })
    }
}

impl StartupFile {
    fn check(self, path: &str) -> Result<Startup, ScenarioError> {
        let Self {
            pull,
            start,
            warm_up,
        } = self;
        Ok(Startup {
            pull: duration(&format!("{path}.pull"), &pull)?,
            start: duration(&format!("{path}.start"), &start)?,
            warm_up: duration(&format!("{path}.warmUp"), &warm_up)?,
        })
    }
}

impl TrafficFile {
    fn check(self, path: &str, requests: TrafficTraceInput<'_>) -> Result<Traffic, ScenarioError> {
        let Self {
            peak,
            per_replica,
            trace,
            offset,
            surges,
            noise,
        } = self;
        if !(0.0..=1.0).contains(&noise) {
            let accepted = "a share from 0 to 1";
            return Err(refused(&format!("{path}.noise"), noise, accepted));
        }
        for (field, rate) in [("peak", peak), ("perReplica", per_replica)] {
            if !(rate.is_finite() && rate > 0.0) {
                let accepted = "requests per second above zero";
                return Err(refused(&format!("{path}.{field}"), rate, accepted));
            }
        }
        let named = |file: PathBuf| {
            let text = (requests.traces)(&file);
            let parsed = text.and_then(|text| {
                let trace = text.parse::<TrafficTrace>();
                trace.map_err(|error| error.to_string())
            });
            parsed.map_err(|why| ScenarioError::Trace {
                path: format!("{path}.trace"),
                given: file.display().to_string(),
                why,
            })
        };
        Ok(Traffic {
            peak,
            per_replica,
            trace: match trace {
                Some(file) => Arc::new(named(file)?),
                None => TrafficTrace::web(),
            },
            offset: optional(&format!("{path}.offset"), offset)?,
            surges: numbered(surges, &format!("{path}.surges"), |surge, path| {
                surge.check(path, requests.begin)
            })?,
            noise,
        })
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::scaling_mode::ScalingMode;
    use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;

    use super::*;

    const SMALL: &str = "
name: small
nodes:
  - {name: a, capacity: {cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 100MB/s, disk: 50Gi}}
workloads:
  - name: web
    namespace: shop
    replicas: 2
    demand: {cpu: 250m}
    usage: {idle: {cpu: 50m}, noise: 0.1}
    startup: {pull: 5s, start: 1s, warmUp: 0s}
    scale: {min: 1, max: 4, cpu: 60%}
";

    #[test]
    fn amounts_are_read_as_kubernetes_and_the_annotations_write_them() {
        let small: Scenario = SMALL.parse().unwrap();
        let expected = [4_000, 8 << 30, 125_000_000, 100_000_000, 50 << 30].map(Amount::new);
        assert_eq!(small.nodes[0].capacity.values(), &expected);
        assert_eq!(small.nodes[0].pods, PODS);
        assert_eq!(
            small.workloads[0].demand.values(),
            &[250, 0, 0, 0, 0].map(Amount::new)
        );
    }

    #[test]
    fn a_node_with_a_count_stands_for_as_many_numbered_ones() {
        let text = SMALL.replace("name: a,", "name: a, count: 3,");
        let scenario: Scenario = text.parse().unwrap();
        let names: Vec<&str> = scenario.nodes.iter().map(|node| &*node.name).collect();
        assert_eq!(names, ["a-1", "a-2", "a-3"]);
    }

    #[test]
    fn the_shipped_scenario_of_mode_direct_has_no_hpa_and_annotations_that_are_accepted() {
        let text = include_str!("../../../../examples/scenarios/direct.yaml");
        let shop = include_str!("../../../../examples/traces/shop.csv");
        let scenario = Scenario::read(text, &|_| Ok(shop.to_owned())).unwrap();
        let web = &scenario.workloads[0];
        assert!(web.scale.is_none() && web.traffic.is_some());
        let (policy, invalid) = ScalingPolicy::parse(&web.annotations);
        assert_eq!(invalid, []);
        assert_eq!(policy.scaling, Some(ScalingMode::Direct));
        assert!(policy.has_bounds() && policy.behavior.is_some());
    }

    #[test]
    fn what_starts_and_ends_uses_cpu_as_the_file_says_or_by_default() {
        let edges = |text: &str| {
            let scenario: Scenario = text.parse().unwrap();
            let ScenarioWorkload {
                usage, shutdown, ..
            } = &scenario.workloads[0];
            (usage.warm_up[Resource::Cpu].get(), shutdown.as_secs())
        };
        assert_eq!(edges(SMALL), (100, 10));
        let told = SMALL
            .replace("noise: 0.1", "noise: 0.1, warmUp: {cpu: 1.5}")
            .replace("    scale:", "    shutdown: 0s\n    scale:");
        assert_eq!(edges(&told), (1500, 0));
    }

    #[test]
    fn a_trace_is_read_from_the_file_that_is_named() {
        let traffic = "traffic: {peak: 10, perReplica: 1, trace: day.csv}\n    scale:";
        let text = SMALL.replace("scale:", traffic);
        let read = |content: Result<&str, &str>| {
            Scenario::read(&text, &|path| {
                assert_eq!(path, Path::new("day.csv"));
                content.map(str::to_owned).map_err(str::to_owned)
            })
        };
        let traced = read(Ok("timestamp,value\n0,1\n60,4\n")).unwrap();
        let traffic = traced.workloads[0].traffic.as_ref().unwrap();
        assert!((traffic.trace.share(SignedDuration::ZERO) - 0.25).abs() < 1e-12);
        for (content, part) in [
            (Err("not there"), "not there"),
            (Ok("0,1\n60,x\n"), "line 2"),
            (Ok(""), "at least two values"),
        ] {
            let error = read(content).unwrap_err().to_string();
            assert!(error.starts_with("workloads[0].traffic.trace"), "{error}");
            assert!(error.contains("day.csv") && error.contains(part), "{error}");
        }
        assert!(text.parse::<Scenario>().is_err());
    }

    #[test]
    fn what_is_not_accepted_is_named_with_its_place() {
        for (from, to, place) in [
            ("cpu: 4,", "cpu: four,", "nodes[0].capacity.cpu"),
            ("cpu: 4,", "", "nodes[0].capacity"),
            ("noise: 0.1", "noise: 2", "workloads[0].usage.noise"),
            ("pull: 5s", "pull: -5s", "workloads[0].startup.pull"),
            (
                "noise: 0.1",
                "noise: 0.1, warmUp: {cpu: much}",
                "workloads[0].usage.warmUp.cpu",
            ),
            (
                "scale:",
                "shutdown: soon\n    scale:",
                "workloads[0].shutdown",
            ),
            ("min: 1", "min: 0", "workloads[0].scale"),
            ("name: a,", "name: a, count: 0,", "nodes[0].count"),
            ("cpu: 60%", "cpu: 60", "workloads[0].scale.cpu"),
            ("cpu: 60%", "requestsPerSecond: 0", "workloads[0].scale"),
            (
                "cpu: 60%",
                "cpu: 60%, requestsPerSecond: 5",
                "workloads[0].scale",
            ),
            (", cpu: 60%", "", "workloads[0].scale"),
            ("nodes:", "faults: [hang]\nnodes:", "faults[0]"),
            (
                "nodes:",
                "objects: [{kind: Namespace}]\nnodes:",
                "objects[0]",
            ),
            ("replicas: 2", "replica: 2", "the scenario cannot be read"),
        ] {
            let text = SMALL.replace(from, to);
            assert_ne!(text, SMALL, "{from}");
            let error = text.parse::<Scenario>().unwrap_err().to_string();
            assert!(error.starts_with(place), "{to}: {error}");
        }
    }
}
