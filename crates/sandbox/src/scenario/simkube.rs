//! A trace of SimKube as the workloads of a scenario: objects applied and deleted in a real
//! cluster, with times. Version 2 of <https://github.com/acrlabs/simkube>, MessagePack with names:
//! `events` in the order of time, each with the applied and deleted objects, and in `config` the
//! place of each kind's Pod template. A trace has neither nodes nor loads: nodes are those of the
//! scenario, and a Pod uses a share of its demand. An object with a replica count has as many Pods;
//! Pods of others, such as Jobs, follow their recorded lives, or stay as long as their object.

mod pod_lifecycles;

use std::collections::BTreeMap;

use evenkeel_objects::pod::Pod;
use evenkeel_placement::demand::demand;
use evenkeel_units::{Amount, Ratio, Resources};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use self::pod_lifecycles::{Lives, PodOwnerKey, RecordedLifecycles};
use super::Scenario;
use super::model::{ReplicaUsage, ScenarioWorkload, Startup};

const VERSION: u16 = 2;
/// Default place of Pod templates.
const TEMPLATE: &str = "/spec/template";
/// Its Pods follow the nodes, not a count.
const DAEMON_SET: &str = "DaemonSet";

/// An unusable trace.
#[derive(Debug, thiserror::Error)]
pub enum SimkubeError {
    /// No MessagePack, or of another shape.
    #[error("not a SimKube trace in MessagePack with names: {0}")]
    Malformed(#[from] rmp_serde::decode::Error),
    #[error("version {0} is not accepted; accepted: 2, which SimKube 2 exports")]
    Version(u16),
    /// No object in it has Pods.
    #[error("it has no object with a Pod template, so there is nothing to place")]
    Empty,
}

#[derive(Deserialize)]
struct SimkubeTrace {
    version: u16,
    #[serde(default)]
    config: Config,
    events: Vec<SimkubeEvent>,
    #[serde(default)]
    pod_lifecycles: RecordedLifecycles,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    tracked_objects: BTreeMap<String, TrackedObjectConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrackedObjectConfig {
    #[serde(default)]
    pod_spec_template_path: Option<String>,
}

#[derive(Deserialize)]
struct SimkubeEvent {
    ts: i64,
    applied_objs: Vec<Value>,
    deleted_objs: Vec<Value>,
}

impl Scenario {
    /// Replaces the workloads by those of a trace; each Pod uses `factor` of its demand.
    ///
    /// # Errors
    /// Bytes that are no trace of version 2, or a trace without Pods.
    pub fn with_simkube(mut self, trace: &[u8], factor: Ratio) -> Result<Self, SimkubeError> {
        let SimkubeTrace {
            version,
            config,
            events,
            pod_lifecycles,
        } = rmp_serde::from_slice(trace)?;
        if version != VERSION {
            return Err(SimkubeError::Version(version));
        }
        let begin = events.first().map_or(0, |event| event.ts);
        // The first objects come one window later, after the first measurements.
        let window = self.simulation.window;
        let in_scenario = |ts: i64| {
            let at = SignedDuration::from_secs(ts.saturating_sub(begin).max(0));
            at.saturating_add(window)
        };
        let mut reader = SimkubeReader {
            config,
            factor,
            lives: Lives::of(pod_lifecycles, in_scenario),
            open: BTreeMap::new(),
            done: Vec::new(),
        };
        for event in &events {
            let at = in_scenario(event.ts);
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

/// Its object exists.
struct LiveWorkload {
    workload: ScenarioWorkload,
    /// Its number of Pods follows recorded lives.
    by_lives: bool,
}

/// Workloads up to an event.
struct SimkubeReader {
    config: Config,
    factor: Ratio,
    lives: Lives,
    open: BTreeMap<PodOwnerKey, LiveWorkload>,
    /// In the order of their ends.
    done: Vec<ScenarioWorkload>,
}

impl SimkubeReader {
    fn apply(&mut self, object: &Value, at: SignedDuration) {
        let Some((key, template)) = self.template(object) else {
            return;
        };
        let Ok(pod) = serde_json::from_value::<Pod>(template.clone()) else {
            return;
        };
        let amounts = demand(&pod, false).amounts;
        let by_lives = object["spec"]["replicas"].is_null() && self.lives.has(&key);
        let replicas = if by_lives {
            self.lives.running(&key, at)
        } else {
            replicas(object)
        };
        let known = self.open.get_mut(&key);
        match known.filter(|open| open.workload.demand == amounts) {
            Some(open) if open.by_lives || last_count(&open.workload) == replicas => {}
            Some(open) => open.workload.changes.push((at, replicas)),
            None => {
                // Other Pods replace the present ones.
                self.end(&key, at);
                let workload = workload(&key, amounts, self.factor);
                let workload = ScenarioWorkload {
                    arrival: at,
                    replicas,
                    ..workload
                };
                let open = LiveWorkload { workload, by_lives };
                self.open.insert(key, open);
            }
        }
    }

    fn delete(&mut self, object: &Value, at: SignedDuration) {
        if let Some(key) = key(object) {
            self.end(&key, at);
        }
    }

    fn end(&mut self, key: &PodOwnerKey, at: SignedDuration) {
        if let Some(open) = self.open.remove(key) {
            let mut workload = self.lived(key, open, at);
            workload.changes.push((at, 0));
            self.done.push(workload);
        }
    }

    /// As its Pods lived until its object went.
    fn lived(
        &self,
        key: &PodOwnerKey,
        open: LiveWorkload,
        until: SignedDuration,
    ) -> ScenarioWorkload {
        let LiveWorkload {
            mut workload,
            by_lives,
        } = open;
        if by_lives {
            workload.changes = self.lives.changes(key, workload.arrival, until);
        }
        workload
    }

    fn finish(mut self) -> Vec<ScenarioWorkload> {
        let mut workloads = std::mem::take(&mut self.done);
        for (key, open) in std::mem::take(&mut self.open) {
            workloads.push(self.lived(&key, open, SignedDuration::MAX));
        }
        workloads
    }

    fn template<'o>(&self, object: &'o Value) -> Option<(PodOwnerKey, &'o Value)> {
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

fn key(object: &Value) -> Option<PodOwnerKey> {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let namespace = text(&metadata["namespace"]).unwrap_or_else(|| "default".to_owned());
    Some((text(&object["kind"])?, namespace, text(&metadata["name"])?))
}

/// One by default, as in Kubernetes.
fn replicas(object: &Value) -> u32 {
    let spec = &object["spec"];
    let told = [&spec["replicas"], &spec["parallelism"]];
    let told = told.into_iter().find_map(Value::as_u64);
    told.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

fn last_count(workload: &ScenarioWorkload) -> u32 {
    let last = workload.changes.last();
    last.map_or(workload.replicas, |(_, count)| *count)
}

/// Pods use the share `factor` of their demand.
fn workload(
    (_, namespace, name): &PodOwnerKey,
    demand: Resources<Amount>,
    factor: Ratio,
) -> ScenarioWorkload {
    let used = demand.map(|amount| Amount::from_f64(amount.as_f64() * factor.get()));
    ScenarioWorkload {
        name: name.clone(),
        namespace: namespace.clone(),
        arrival: SignedDuration::ZERO,
        replicas: 0,
        changes: Vec::new(),
        demand,
        limits: Resources::default(),
        usage: ReplicaUsage {
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
    use evenkeel_units::Resource;
    use serde_json::json;

    use super::*;

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
        trace_with_lives(version, events, &[])
    }

    /// SimKube's record of one owner's Pods: the owner as a pair, and each Pod by hash.
    type Lives<'a> = ((&'a str, &'a str), BTreeMap<u64, Value>);

    fn trace_with_lives(version: u16, events: &Value, lives: &[Lives<'_>]) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct TraceJson<'a> {
            version: u16,
            config: Value,
            events: &'a Value,
            index: Value,
            pod_lifecycles: BTreeMap<(&'a str, &'a str), BTreeMap<u64, Value>>,
        }
        let written = TraceJson {
            version,
            config: json!({"trackedObjects": {"apps/v1.Deployment": {"podSpecTemplatePath": "/spec/template"}}}),
            events,
            index: json!({"apps/v1.Deployment": {"shop/web": 1}}),
            pod_lifecycles: lives.iter().cloned().collect(),
        };
        rmp_serde::to_vec_named(&written).unwrap()
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
    fn pods_that_end_by_themselves_live_as_they_were_recorded() {
        let mut job = object("Job", "report", 0, "200m");
        job["apiVersion"] = json!("batch/v1");
        job["spec"]["parallelism"] = json!(3);
        job["spec"].as_object_mut().unwrap().remove("replicas");
        let mut unrecorded = job.clone();
        unrecorded["metadata"]["name"] = json!("unrecorded");
        let web = object("Deployment", "web", 2, "200m");
        let gone = json!({"kind": "Job", "metadata": {"name": "report", "namespace": "shop"}});
        let events = json!([
            {"ts": 1000, "applied_objs": [job, unrecorded, web], "deleted_objs": []},
            {"ts": 1010, "applied_objs": [job], "deleted_objs": []},
            {"ts": 1500, "applied_objs": [], "deleted_objs": [gone]},
        ]);
        let of_one = |lives: Value| BTreeMap::from([(1, lives)]);
        let lives = [
            (
                ("batch/v1.Job", "shop/report"),
                BTreeMap::from([
                    (
                        17,
                        json!([{"Finished": [990, 1100]}, {"Finished": [1000, 1200]}, "Empty"]),
                    ),
                    // Beyond a signed integer, like hashes.
                    (
                        u64::MAX,
                        json!([{"Finished": [1100, 1300]}, {"Running": 1400}]),
                    ),
                ]),
            ),
            (
                ("apps/v1.Deployment", "shop/web"),
                of_one(json!([{"Finished": [1000, 1001]}])),
            ),
        ];
        let scenario = read(&trace_with_lives(2, &events, &lives)).unwrap();
        let second = |second: i64| SignedDuration::from_secs(second - 1000 + 60);
        let told = scenario.workloads.iter().map(|workload| {
            let changes = workload.changes.clone();
            (&*workload.name, workload.replicas, changes)
        });
        let report = vec![
            (second(1200), 1),
            (second(1300), 0),
            (second(1400), 1),
            (second(1500), 0),
        ];
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("report", 2, report),
                ("web", 2, vec![]),
                ("unrecorded", 3, vec![]),
            ]
        );
    }

    #[test]
    fn what_is_no_trace_of_version_two_is_refused() {
        let empty = json!([]);
        for (bytes, part) in [
            (b"no trace".to_vec(), "MessagePack"),
            (trace(3, &empty), "version 3"),
            (trace(2, &empty), "nothing to place"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
