//! A trace of SimKube as the workloads of a scenario: what was applied and deleted in a real cluster, and
//! when.
//!
//! Version 2 of <https://github.com/acrlabs/simkube>, MessagePack with names: `events` in the order of their
//! times, each with the objects that were applied and deleted, and in `config` where the Pod template of each
//! kind stands. A trace has neither nodes nor loads: nodes are those of the scenario that it is put into, and a
//! Pod uses a share of what it demands. The recorded lives of single Pods (`pod_lifecycles`) are not read: a Pod
//! stays until its object shrinks or goes.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use super::Scenario;
use super::model::{Startup, Usage, Workload};
use evenkeel_core::units::{Amount, Ratio, Resources};
use evenkeel_kubernetes::demand::demand;
use evenkeel_kubernetes::pod::Pod;

/// The version that is read.
const VERSION: u16 = 2;
/// Where Pod templates stand where nothing is said.
const TEMPLATE: &str = "/spec/template";
/// Pods of this kind follow the nodes, and not a count.
const DAEMON_SET: &str = "DaemonSet";

/// A trace that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SimkubeError {
    /// No MessagePack, or of another shape.
    #[error("no SimKube trace in MessagePack with names: {0}")]
    Malformed(#[from] rmp_serde::decode::Error),
    /// Another version.
    #[error("version {0} is not accepted: 2, which SimKube 2 exports")]
    Version(u16),
    /// No object in it has Pods.
    #[error("no object with a Pod template is in it, so that there is nothing to place")]
    Empty,
}

impl SimkubeError {
    /// A short name for it.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "Malformed",
            Self::Version(_) => "VersionRefused",
            Self::Empty => "Empty",
        }
    }
}

#[derive(Deserialize)]
struct Trace {
    version: u16,
    #[serde(default)]
    config: Config,
    events: Vec<Event>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    tracked_objects: BTreeMap<String, Tracked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tracked {
    #[serde(default)]
    pod_spec_template_path: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    ts: i64,
    applied_objs: Vec<Value>,
    deleted_objs: Vec<Value>,
}

/// An object with Pods: its kind, namespace and name.
type Key = (String, String, String);

impl Scenario {
    /// The scenario with the workloads of a trace in place of its own; each Pod uses `factor` of what it
    /// demands.
    ///
    /// # Errors
    /// Bytes that are no trace of version 2, and a trace without Pods.
    pub fn with_simkube(mut self, trace: &[u8], factor: Ratio) -> Result<Self, SimkubeError> {
        let Trace {
            version,
            config,
            events,
        } = rmp_serde::from_slice(trace)?;
        if version != VERSION {
            return Err(SimkubeError::Version(version));
        }
        let begin = events.first().map_or(0, |event| event.ts);
        let mut reader = Reader {
            config,
            factor,
            open: BTreeMap::new(),
            done: Vec::new(),
        };
        for event in &events {
            // What is there at the begin waits for the first measurements.
            let at = SignedDuration::from_secs(event.ts.saturating_sub(begin).max(0));
            let at = at.saturating_add(self.simulation.window);
            for object in &event.applied_objs {
                reader.apply(object, at);
            }
            for object in &event.deleted_objs {
                reader.delete(object, at);
            }
        }
        self.workloads = reader.finish();
        if self.workloads.is_empty() {
            return Err(SimkubeError::Empty);
        }
        Ok(self)
    }
}

/// The workloads that were found up to an event.
struct Reader {
    config: Config,
    factor: Ratio,
    open: BTreeMap<Key, Workload>,
    /// In the order in which they ended.
    done: Vec<Workload>,
}

impl Reader {
    fn apply(&mut self, object: &Value, at: SignedDuration) {
        let Some((key, template)) = self.template(object) else {
            return;
        };
        let Ok(pod) = serde_json::from_value::<Pod>(template.clone()) else {
            return;
        };
        let amounts = demand(&pod, false).amounts;
        let replicas = replicas(object);
        let known = self.open.get_mut(&key);
        match known.filter(|workload| workload.demand == amounts) {
            Some(workload) if last_count(workload) == replicas => {}
            Some(workload) => workload.changes.push((at, replicas)),
            None => {
                // Other Pods take the place of those that were.
                self.end(&key, at);
                let workload = workload(&key, amounts, self.factor);
                let workload = Workload {
                    arrival: at,
                    replicas,
                    ..workload
                };
                self.open.insert(key, workload);
            }
        }
    }

    fn delete(&mut self, object: &Value, at: SignedDuration) {
        if let Some(key) = key(object) {
            self.end(&key, at);
        }
    }

    fn end(&mut self, key: &Key, at: SignedDuration) {
        if let Some(mut workload) = self.open.remove(key) {
            workload.changes.push((at, 0));
            self.done.push(workload);
        }
    }

    fn finish(self) -> Vec<Workload> {
        self.done
            .into_iter()
            .chain(self.open.into_values())
            .collect()
    }

    /// The object's Pod template.
    fn template<'o>(&self, object: &'o Value) -> Option<(Key, &'o Value)> {
        let key = key(object).filter(|(kind, _, _)| kind != DAEMON_SET)?;
        let version = object["apiVersion"].as_str()?;
        let tracked = self
            .config
            .tracked_objects
            .get(&format!("{version}.{}", key.0));
        let path = tracked.and_then(|tracked| tracked.pod_spec_template_path.as_deref());
        let template = object.pointer(path.unwrap_or(TEMPLATE))?;
        Some((key, template))
    }
}

fn key(object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let namespace = text(&metadata["namespace"]).unwrap_or_else(|| "default".to_owned());
    Some((text(&object["kind"])?, namespace, text(&metadata["name"])?))
}

/// The Pods that an object asks for: one where nothing is said, as Kubernetes has it.
fn replicas(object: &Value) -> u32 {
    let spec = &object["spec"];
    let told = [&spec["replicas"], &spec["parallelism"]];
    let told = told.into_iter().find_map(Value::as_u64);
    told.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

fn last_count(workload: &Workload) -> u32 {
    let last = workload.changes.last();
    last.map_or(workload.replicas, |(_, count)| *count)
}

/// A workload whose Pods use this share of what they demand.
fn workload((_, namespace, name): &Key, demand: Resources<Amount>, factor: Ratio) -> Workload {
    let used = demand.map(|amount| Amount::from_f64(amount.as_f64() * factor.get()));
    Workload {
        name: name.clone(),
        namespace: namespace.clone(),
        arrival: SignedDuration::ZERO,
        replicas: 0,
        changes: Vec::new(),
        demand,
        usage: Usage {
            idle: used,
            per_request: Resources::default(),
            warm_up: used,
            noise: Ratio::new(0.1).expect("a tenth is finite"),
        },
        startup: Startup {
            pull: SignedDuration::from_secs(5),
            start: SignedDuration::from_secs(2),
            warm_up: SignedDuration::from_secs(5),
        },
        shutdown: SignedDuration::from_secs(10),
        traffic: None,
        scale: None,
        annotations: BTreeMap::new(),
        scale_annotations: BTreeMap::new(),
        portraits: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::units::Resource;
    use serde_json::json;

    fn object(kind: &str, name: &str, replicas: u32, cpu: &str) -> Value {
        json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"replicas": replicas, "template": {
                "metadata": {"annotations": {"evenkeel.dev/network-io": "10MB/s"}},
                "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]},
            }},
        })
    }

    fn trace(version: u16, events: &Value) -> Vec<u8> {
        let trace = json!({
            "version": version,
            "config": {"trackedObjects": {"apps/v1.Deployment": {"podSpecTemplatePath": "/spec/template"}}},
            "events": events,
            "index": {"apps/v1.Deployment": {"shop/web": 1}},
            "pod_lifecycles": {},
        });
        rmp_serde::to_vec_named(&trace).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Scenario, SimkubeError> {
        Scenario::mixed().with_simkube(bytes, Ratio::new(0.5).unwrap())
    }

    #[test]
    fn objects_become_workloads_with_their_counts_over_time() {
        let web = |replicas, cpu| object("Deployment", "web", replicas, cpu);
        let events = json!([
            {"ts": 1000, "applied_objs": [web(2, "200m"), object("DaemonSet", "agent", 1, "1")], "deleted_objs": []},
            {"ts": 1100, "applied_objs": [web(5, "200m")], "deleted_objs": []},
            {"ts": 1200, "applied_objs": [web(5, "300m")], "deleted_objs": []},
            {"ts": 1300, "applied_objs": [], "deleted_objs": [{"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop"}}]},
        ]);
        let scenario = read(&trace(2, &events)).unwrap();
        let second = |second: i64| SignedDuration::from_secs(second + 60);
        let told = scenario.workloads.iter().map(|workload| {
            let cpu = workload.demand[Resource::Cpu].get();
            (
                cpu,
                workload.arrival,
                workload.replicas,
                workload.changes.clone(),
            )
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (200, second(0), 2, vec![(second(100), 5), (second(200), 0)]),
                (300, second(200), 5, vec![(second(300), 0)]),
            ]
        );
        let first = &scenario.workloads[0];
        assert_eq!(first.demand[Resource::NetworkIo].get(), 10_000_000);
        assert_eq!(first.usage.idle[Resource::Cpu].get(), 100);
        assert_eq!(scenario.nodes, Scenario::mixed().nodes);
    }

    #[test]
    fn what_is_no_trace_of_version_two_is_refused() {
        let empty = json!([]);
        for (bytes, reason, part) in [
            (b"no trace".to_vec(), "Malformed", "MessagePack"),
            (trace(3, &empty), "VersionRefused", "version 3"),
            (trace(2, &empty), "Empty", "nothing to place"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.reason(), reason);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
