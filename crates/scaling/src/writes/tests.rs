//! Targets as an API server would hold them: each plan is applied to the objects, and what is there
//! afterwards is what counts.

mod counts;
mod crons;
mod custom;
mod direct;
mod ignored_options;
mod record;
mod replay;
mod scale_in;
mod told;
mod upgrade;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_hpa::Readings;
use evenkeel_metrics::pod::{PodFacts, ResourceRequests};
use evenkeel_metrics::sample::{ContainerMetrics, PodMetrics};
use evenkeel_metrics::signal::{PromQl, ResourceName, Signal, ValueScope};
use evenkeel_objects::annotations::{
    BOUNDS, ENABLED, QUERY, QUERY_TARGET, SCALING, SCALING_STATUS, TARGET,
};
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation, conditional_patch};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::workload::Workload;
use evenkeel_units::panic_error::PanicError;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::scale_in::scale_in;
use super::{follow, plan, restore};
use crate::load::horizon::{Horizon, Lead};
use crate::merge::recommendation::Recommendation;
use crate::recommend::decision::ScalingDecision;
use crate::recommend::decision_basis::DecisionBasis;
use crate::specs::scaling_policy::PredictionModel;
use crate::status::TargetStatus;
use crate::status::last_status::told;
use crate::status::memory::PlanMemory;
use crate::targets::hpa_input::{HpaInput, LastStatus};
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::reference::TargetRef;
use crate::targets::resolve::{ResolvedTarget, conflicts, resolve};
use crate::targets::scaling_target::TargetReaction;
use crate::targets::settings::{Queries, Settings};
use crate::targets::target_objects::{TargetObjects, TargetPodFacts};
use crate::tick::quarantine::Quarantine;
use crate::tracker::TickReport;

const FLOOR_STANDS: i64 = 600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn settings() -> Settings {
    Settings {
        mode: ScalingMode::Recommend,
        predict: PredictionModel::Auto,
        interval: SignedDuration::from_secs(15),
        max_age: SignedDuration::from_mins(3),
        queries: Queries::Any,
        risk: Risk::new(0.03).unwrap(),
        follows_profiles: false,
        asks_checks: false,
    }
}

/// A namespace with one Deployment and what scales it.
#[derive(Clone)]
struct World {
    namespace: BTreeMap<String, String>,
    autoscaler: Option<Value>,
    scaled_object: Option<Value>,
    workload: Option<Value>,
    requests: Option<u64>,
    has_pods: bool,
    conflict: bool,
    /// True where the Pods have long been ready.
    started: bool,
    memory: PlanMemory,
    told: Vec<(String, String)>,
}

impl World {
    /// Web, 4 Pods of 1.5 cores, and an HPA of 2 to 10 in mode floor.
    fn new() -> Self {
        let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        let metric = json!({"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        Self {
            namespace: BTreeMap::from([("evenkeel.dev/enabled".to_owned(), "true".to_owned())]),
            autoscaler: Some(json!({
                "metadata": {"name": "web", "namespace": "shop", "uid": "h", "resourceVersion": "1",
                             "annotations": {SCALING: "floor"}},
                "spec": {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 10,
                         "metrics": [metric]},
                "status": {"currentReplicas": 4, "desiredReplicas": 4},
            })),
            scaled_object: None,
            workload: Some(json!({
                "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": "1",
                             "annotations": {}},
                "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}},
            })),
            requests: Some(1500),
            has_pods: true,
            conflict: false,
            started: false,
            memory: PlanMemory::default(),
            told: Vec::new(),
        }
    }

    /// As [`Self::new`], with KEDA between the user and the HPA.
    fn with_keda() -> Self {
        let mut world = Self::new();
        let hpa = world.hpa();
        hpa["metadata"]["annotations"] = json!({});
        hpa["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "s",
            "controller": true}]);
        world.scaled_object = Some(json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "s", "resourceVersion": "1",
                         "annotations": {SCALING: "floor"}},
            "spec": {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 2, "maxReplicaCount": 10},
        }));
        world
    }

    /// A workload that nothing scales, with annotations of its own.
    fn alone(annotations: &[(&str, &str)]) -> Self {
        let mut world = Self::new();
        world.autoscaler = None;
        for (key, value) in annotations {
            world.workload.as_mut().unwrap()["metadata"]["annotations"][*key] = json!(value);
        }
        world
    }

    fn started(&mut self) {
        self.started = true;
    }

    fn hpa(&mut self) -> &mut Value {
        self.autoscaler.as_mut().unwrap()
    }

    /// The object that carries the bounds.
    fn owner(&mut self) -> &mut Value {
        self.scaled_object
            .as_mut()
            .or(self.autoscaler.as_mut())
            .unwrap()
    }

    fn annotate(&mut self, key: &str, value: Value) {
        self.owner()["metadata"]["annotations"][key] = value;
    }

    fn observed(&self) -> TargetObjects {
        let parsed = |value: &Option<Value>| value.clone();
        TargetObjects {
            namespace: Arc::from("shop"),
            namespace_policy: Arc::new(NamespacePolicy::parse(&self.namespace).0),
            autoscaler: parsed(&self.autoscaler)
                .map(|value| Arc::new(serde_json::from_value(value).unwrap())),
            ihpa: None,
            portraits: Vec::new(),
            profiles: crate::targets::observed_profiles::ObservedProfiles::default(),
            scaled_object: parsed(&self.scaled_object)
                .map(|value| Arc::new(serde_json::from_value(value).unwrap())),
            workload: parsed(&self.workload)
                .map(|value| Arc::new(Workload::deserialize(Kind::Deployment, value).unwrap())),
            target: TargetRef::new("apps/v1", "Deployment", "shop", "web"),
            pods: if self.has_pods {
                pods(self.requests, self.started)
            } else {
                TargetPodFacts::default()
            },
        }
    }

    fn resolve(&self, now: Timestamp) -> ResolvedTarget {
        resolve(
            &self.observed(),
            self.conflict,
            &settings(),
            self.memory.record(now),
            now,
        )
    }

    fn plan(&mut self, report: Option<&TickReport>, now: Timestamp) -> Vec<Write> {
        let (observed, resolved) = (self.observed(), self.resolve(now));
        let report = report.filter(|_| resolved.target.is_some());
        let context = context(now);
        plan(&observed, &resolved, report, &mut self.memory, &context)
    }

    /// Puts a record on the object that carries the bounds, in the name of a writer.
    fn record_by(&mut self, manager: &str, record: &Value) {
        self.annotate(BOUNDS, record.clone());
        manage(self.owner(), manager);
    }

    /// Applies writes as an API server does.
    fn apply(&mut self, writes: &[Write]) {
        for write in writes {
            let is_scale = write.target.to_string().contains("/scale ");
            if let Some(workload) = self.workload.as_mut().filter(|_| is_scale)
                && workload["spec"]["replicas"] == 0
            {
                // A Scale leaves out a count of 0.
                workload["spec"].as_object_mut().unwrap().remove("replicas");
            }
            let object = match write.target.kind() {
                Some(Kind::HorizontalPodAutoscaler) => self.autoscaler.as_mut(),
                Some(Kind::ScaledObject) => self.scaled_object.as_mut(),
                Some(Kind::Deployment) => self.workload.as_mut(),
                Some(Kind::Event) => None,
                other => panic!("{other:?}"),
            };
            match (&write.operation, object) {
                (WriteOperation::Conditional(patch), Some(object)) => {
                    let record = object["metadata"]["annotations"][BOUNDS].take();
                    without_null_annotations(object);
                    if record.is_string() {
                        object["metadata"]["annotations"][BOUNDS] = record.clone();
                    }
                    conditional_patch::apply(object, patch).unwrap();
                    if object["metadata"]["annotations"][BOUNDS] != record {
                        manage(object, MANAGER);
                    }
                }
                (WriteOperation::Create(event), None) => {
                    let text = |key: &str| event[key].as_str().unwrap().to_owned();
                    self.told.push((text("reason"), text("note")));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Plans and applies, and holds the plan to being empty afterwards.
    fn tick(&mut self, floor: Option<i32>, second: i64) -> Vec<Write> {
        let report = report(floor, second);
        let writes = self.plan(Some(&report), at(second));
        self.apply(&writes);
        let again = self.plan(Some(&report), at(second));
        assert_eq!(
            again,
            [],
            "the plan of what the writes leave behind is empty"
        );
        writes
    }

    fn bounds(&mut self) -> (Option<i64>, i64) {
        let (least, most) = if self.scaled_object.is_some() {
            ("minReplicaCount", "maxReplicaCount")
        } else {
            ("minReplicas", "maxReplicas")
        };
        let spec = &self.owner()["spec"];
        (spec[least].as_i64(), spec[most].as_i64().unwrap())
    }

    fn has_record(&mut self) -> bool {
        self.owner()["metadata"]["annotations"][BOUNDS].is_string()
    }

    fn status(&self) -> Option<TargetStatus> {
        let observed = self.observed();
        let owner = Owner::of(&observed)?;
        Some(serde_json::from_str(owner.metadata.annotation(SCALING_STATUS)?).unwrap())
    }

    fn holds(&self, kind: &str) -> Option<ConditionStatus> {
        self.status()?
            .condition(kind)
            .map(|condition| condition.status)
    }

    fn reasons(&self) -> Vec<&str> {
        self.told
            .iter()
            .map(|(reason, _)| reason.as_str())
            .collect()
    }
}

/// A wave of 20 minutes from 2 to 10 cores, in millicores.
pub(crate) fn wave(second: i64) -> f64 {
    let ticks = f64::from(i32::try_from(second / 15).unwrap());
    6000.0 - 4000.0 * (ticks / 40.0 * std::f64::consts::PI).cos()
}

/// Four Pods that request so many millicores each; they have long been ready where they have started.
pub(crate) fn pods(requests: Option<u64>, started: bool) -> TargetPodFacts {
    let requests = requests.map(|cpu| json!({"cpu": format!("{cpu}m")}));
    let mut status =
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    if started {
        status["startTime"] = json!("2026-01-01T00:00:00Z");
        status["conditions"][0]["lastTransitionTime"] = json!("2026-01-01T00:00:10Z");
    }
    let member = |index: u64| {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": format!("web-{index}"), "namespace": "shop"},
            "spec": {"containers": [{"name": "app", "resources": {"requests": requests}}]},
            "status": status,
        }))
        .unwrap();
        Arc::new(PodFacts::from(&pod))
    };
    TargetPodFacts {
        members: (0..4).map(member).collect(),
        starts: vec![],
    }
}

/// Readings of the millicores that each of the Pods uses; `None` where the API does not answer.
pub(crate) fn readings(
    observed: &TargetObjects,
    millicores: Option<i64>,
    now: Timestamp,
) -> Readings {
    let Some(millicores) = millicores else {
        return Readings {
            resource: Err("no answer".to_owned()),
            ..Readings::default()
        };
    };
    let usage: ResourceRequests = [(ResourceName::Cpu, millicores)].into_iter().collect();
    let members = observed.pods.members.iter();
    let measured = members.map(|pod| PodMetrics {
        pod: pod.name.clone(),
        timestamp: now,
        window: SignedDuration::from_secs(30),
        containers: vec![ContainerMetrics {
            name: String::new(),
            usage: usage.clone(),
        }],
    });
    Readings {
        resource: Ok(measured.collect()),
        ..Readings::default()
    }
}

/// Sets the manager that wrote the record of an object last.
fn manage(object: &mut Value, manager: &str) {
    object["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update",
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:evenkeel.dev/bounds": {}}}}}]);
}

/// A test takes an annotation away by null, where an API server keeps none.
fn without_null_annotations(object: &mut Value) {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|_, text| !text.is_null());
    }
}

fn context(now: Timestamp) -> PlanContext<'static> {
    PlanContext {
        now,
        reporter: "pod-a",
    }
}

/// The report of a tracker in mode floor.
fn report(floor: Option<i32>, second: i64) -> TickReport {
    let replicas = floor.unwrap_or(2);
    TickReport {
        traffic: None,
        decision: ScalingDecision {
            replicas,
            reason: format!("the floor is to be {replicas}"),
            limited_by: None,
            grounds: DecisionBasis::Reaction,
        },
        loads: Vec::new(),
        horizon: Horizon::default(),
        contribution: floor
            .map(|min| Recommendation::of_prediction(min, at(second + FLOOR_STANDS))),
        hpa: None,
        portrayed: None,
    }
}

#[test]
fn the_nearest_word_counts() {
    let modes = |world: &World| world.resolve(at(0)).mode;
    let mut world = World::with_keda();
    assert_eq!(modes(&world), ScalingMode::Floor);
    world.annotate(SCALING, json!(null));
    world.hpa()["metadata"]["annotations"][SCALING] = json!("off");
    world
        .namespace
        .insert(SCALING.to_owned(), "floor".to_owned());
    assert_eq!(
        modes(&world),
        ScalingMode::Off,
        "the HPA after the ScaledObject"
    );
    world.hpa()["metadata"]["annotations"] = json!({});
    world.workload.as_mut().unwrap()["metadata"]["annotations"][SCALING] = json!("recommend");
    assert_eq!(modes(&world), ScalingMode::Recommend, "then the workload");
    world.workload.as_mut().unwrap()["metadata"]["annotations"] = json!({});
    assert_eq!(modes(&world), ScalingMode::Floor, "then the namespace");
    world.namespace.remove(SCALING);
    assert_eq!(
        modes(&world),
        ScalingMode::Recommend,
        "then the configuration"
    );
    world.namespace.clear();
    assert_eq!(modes(&world), ScalingMode::Off, "nothing without opting in");
}

#[test]
fn a_target_has_what_its_objects_say() {
    let world = World::new();
    let target = world.resolve(at(0)).target.unwrap();
    let capacity = target.signals[0].capacity;
    assert_eq!((target.current, target.signals.len()), (4, 1));
    assert!((capacity.request() - 1500.0).abs() < 1e-9 && (capacity.target() - 0.8).abs() < 1e-9);
    assert_eq!(
        (target.policy.bounds.min(), target.policy.bounds.max()),
        (2, 10)
    );
    let lead = Lead::of(&[], settings().interval);
    assert_eq!(target.policy.lead, lead);
    let memory = json!({"type": "Resource", "resource": {"name": "memory",
        "target": {"type": "AverageValue", "averageValue": "600Mi"}}});
    for (word, forecast) in [
        (None, [true, false]),
        (Some("true"), [true, true]),
        (Some("false"), [true, false]),
        (Some("yes"), [true, false]),
    ] {
        let mut world = World::new();
        world.hpa()["spec"]["metrics"]
            .as_array_mut()
            .unwrap()
            .push(memory.clone());
        if let Some(word) = word {
            world.annotate("evenkeel.dev/predict-memory", json!(word));
        }
        let signals = world.resolve(at(0)).target.unwrap().signals;
        let found: Vec<_> = signals.iter().map(|scaled| scaled.is_forecast).collect();
        assert_eq!(found, forecast, "memory is reacted to: {word:?}");
    }
    let mut world = World::new();
    world.requests = None;
    world.hpa()["spec"]["metrics"][0]["resource"]["target"] =
        json!({"type": "AverageValue", "averageValue": "600m"});
    let capacity = world.resolve(at(0)).target.unwrap().signals[0].capacity;
    assert!((capacity.request() - 600.0).abs() < 1e-9 && (capacity.target() - 1.0).abs() < 1e-9);
}

/// A change of the world.
type Change = fn(&mut World);

#[test]
fn a_target_has_its_own_risk_else_that_of_its_namespace_else_the_configurations() {
    for (own, namespace, expected) in [
        (None, None, "3%"),
        (None, Some("2%"), "2%"),
        (Some("0.5%"), Some("2%"), "0.5%"),
        (Some("0.005"), None, "0.5%"),
        (Some("low"), Some("2%"), "2%"),
        (Some("low"), Some("90%"), "3%"),
    ] {
        let mut world = World::new();
        if let Some(own) = own {
            world.annotate("evenkeel.dev/risk", json!(own));
        }
        let namespace = namespace.map(|risk| ("evenkeel.dev/risk".to_owned(), risk.to_owned()));
        world.namespace.extend(namespace);
        let risk = world.resolve(at(0)).target.unwrap().policy.risk;
        assert_eq!(risk.to_string(), expected, "{own:?}");
    }
}

#[test]
fn a_target_has_the_tolerances_of_its_hpa() {
    let mut world = World::new();
    let found = |world: &World| {
        let tolerances = world.resolve(at(0)).target.unwrap().policy.tolerances;
        (tolerances.up, tolerances.down)
    };
    assert_eq!(found(&world), (0.1, 0.1));
    world.hpa()["spec"]["behavior"] = json!({"scaleUp": {"tolerance": "500u"}});
    assert_eq!(found(&world), (0.0005, 0.1));
    world.hpa()["spec"]["behavior"] = json!({"scaleDown": {"tolerance": "20m"}});
    assert_eq!(found(&world), (0.1, 0.02));
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_raised() {
    let cases: [(Change, &str); 6] = [
        (|world| world.conflict = true, "TargetConflict"),
        (|world| world.requests = None, "NoRequests"),
        (
            |world| world.hpa()["spec"]["metrics"] = json!([]),
            "NoMetric",
        ),
        (
            |world| world.hpa()["spec"]["metrics"] = json!([own_metric()]),
            "OwnMetric",
        ),
        (
            |world| {
                world.workload = None;
                world.hpa()["status"] = json!({});
            },
            "NoWorkload",
        ),
        (
            |world| *world = World::alone(&[(SCALING, "floor")]),
            "BoundsMissing",
        ),
    ];
    for (change, kind) in cases {
        let mut world = World::new();
        change(&mut world);
        let problems = world.resolve(at(0)).problems;
        assert_eq!(problems.first().map(TargetProblem::kind), Some(kind));
        let writes = world.tick(Some(6), 0);
        let purposes: Vec<_> = writes.iter().map(|write| write.purpose).collect();
        assert_eq!(
            purposes,
            [Purpose::ScalingStatus, Purpose::ScalingEvent],
            "{kind}"
        );
        assert_eq!(world.holds(kind), Some(ConditionStatus::True));
        assert_eq!(world.reasons(), [kind]);
        assert_eq!(world.tick(Some(6), 15), [], "{kind} is told once");
    }
}

/// The harm: memory without bound for each of the metrics that fit one object, and a time that grows
/// with their square.
#[test]
fn of_an_hpa_with_endless_metrics_the_first_are_followed_and_the_target_says_so() {
    let external = |number: usize| {
        json!({"type": "External", "external": {"metric": {"name": format!("m{number}")},
            "target": {"type": "AverageValue", "averageValue": "1"}}})
    };
    for (count, followed, kinds) in [
        (16, 16, &[][..]),
        (17, 16, &["TooManyMetrics"]),
        (28_000, 16, &["TooManyMetrics"]),
    ] {
        let mut world = World::new();
        world.hpa()["spec"]["metrics"] = (0..count).map(external).collect();
        let resolved = world.resolve(at(0));
        let found: Vec<_> = resolved.problems.iter().map(TargetProblem::kind).collect();
        assert_eq!(found, kinds, "{count}");
        let signals = resolved.target.unwrap().signals;
        assert_eq!(signals.len(), followed);
        assert_eq!(signals[15].signal.to_string(), "external/m15");
        // A load that is named beside them is one more.
        world.annotate("evenkeel.dev/query", json!("sum(up)"));
        world.annotate("evenkeel.dev/query-target", json!("1"));
        let signals = world.resolve(at(0)).target.unwrap().signals;
        assert_eq!(signals.len(), followed + 1);
    }
}

/// The harm: `cpu=80`, without its percent sign, is 80 cores for each Pod, and `memory=80` is 80 bytes. Neither was
/// reported. Then right targets of Pods with small requests were reported too.
#[test]
fn a_target_without_its_percent_sign_is_told_of_and_holds() {
    for (target, requested, told) in [
        ("cpu=80", 1500, Some("80.0 cores")),
        ("cpu=80", 64_000, None),
        ("cpu=15", 1500, None),
        ("cpu=15001m", 1500, None),
        ("cpu=80%", 1500, None),
        ("cpu=1001%", 1500, None),
        ("cpu=2", 50, None),
        ("cpu=500m", 10, None),
        ("memory=80", 1500, Some("80 bytes")),
        ("memory=80Mi", 1500, None),
        ("memory=128", 1500, None),
    ] {
        let annotations = [
            (SCALING, "direct"),
            ("evenkeel.dev/min-replicas", "2"),
            ("evenkeel.dev/max-replicas", "9"),
            (TARGET, target),
        ];
        let mut world = World::alone(&annotations);
        world.requests = Some(requested);
        let resolved = world.resolve(at(0));
        assert!(resolved.target.is_some(), "{target}");
        let found: Vec<_> = resolved.problems.iter().map(TargetProblem::kind).collect();
        let expected: Vec<_> = told.map(|_| "PercentMissing").into_iter().collect();
        assert_eq!(found, expected, "{target}");
        world.tick(None, 0);
        assert_eq!(world.reasons(), expected, "{target}");
        let status = world.status().unwrap();
        let message = status.condition("PercentMissing").map(|one| &*one.message);
        let says = |told: &str| message.is_some_and(|message| message.contains(told));
        assert!(
            told.is_none_or(|told| says(told) && says("80 %")),
            "{message:?}"
        );
        world.requests = None;
        let blind = world.resolve(at(0)).problems;
        let kinds: Vec<_> = blind.iter().map(TargetProblem::kind).collect();
        assert_eq!(
            kinds.contains(&"PercentMissing"),
            target == "memory=80",
            "{target}: nothing to compare cores with"
        );
    }
}

#[test]
fn every_kind_of_metric_is_a_signal_with_what_one_pod_is_to_carry() {
    let metric = |name: &str| json!({"name": name});
    let target = |kind: &str, field: &str, value: Value| json!({"type": kind, field: value});
    let average = || target("AverageValue", "averageValue", json!("50"));
    let value = || target("Value", "value", json!("300m"));
    let service = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
    let mut world = World::new();
    world.hpa()["spec"]["metrics"] = json!([
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app",
            "target": target("Utilization", "averageUtilization", json!(50))}},
        {"type": "Pods", "pods": {"metric": metric("rps"), "target": average()}},
        {"type": "Object", "object": {"describedObject": service, "metric": metric("rps"),
            "target": average()}},
        {"type": "Object", "object": {"describedObject": service, "metric": metric("latency"),
            "target": value()}},
        {"type": "External", "external": {"metric": metric("queue"), "target": average()}},
        // The same signal with another meaning: one past cannot be that of both.
        {"type": "External", "external": {"metric": metric("queue"), "target": value()}},
        {"type": "Resource", "resource": {"name": "nvidia.com/gpu", "target": average()}},
    ]);
    world.workload.as_mut().unwrap()["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    let resolved = world.resolve(at(0));
    assert_eq!(resolved.problems, []);
    let signals = resolved.target.unwrap().signals;
    let found: Vec<_> = signals
        .iter()
        .map(|one| {
            let carried = one.capacity.request() * one.capacity.target();
            (one.signal.to_string(), carried, one.scope)
        })
        .collect();
    let expected = [
        ("cpu/app", 750.0, ValueScope::Whole),
        ("pods/rps", 50.0, ValueScope::Whole),
        ("object/Service/web/rps", 50.0, ValueScope::Whole),
        ("object/Service/web/latency", 0.3, ValueScope::EachPod),
        ("external/queue", 50.0, ValueScope::Whole),
    ];
    let expected = expected.map(|(name, carried, scope)| (name.to_owned(), carried, scope));
    assert_eq!(found, expected);
    let forecast = signals.iter().filter(|one| one.is_forecast);
    assert!(
        forecast.clone().all(|one| one.scope == ValueScope::Whole),
        "a value of each Pod grows with every Pod that is added"
    );
    assert_eq!(forecast.count(), 4);

    // Without a selector Pods cannot be asked for; what needs none is forecast all the same.
    world.workload.as_mut().unwrap()["spec"]["selector"] = Value::Null;
    let resolved = world.resolve(at(0));
    let kinds: Vec<_> = resolved.problems.iter().map(TargetProblem::kind).collect();
    assert_eq!(kinds, ["SignalUnknown"]);
    assert_eq!(resolved.target.unwrap().signals.len(), 3);
}

#[test]
fn a_load_that_an_annotation_names_counts_beside_the_metrics_of_the_hpa() {
    let mut world = World::new();
    world.annotate("evenkeel.dev/query", json!("sum(rate(orders_total[2m]))"));
    world.annotate("evenkeel.dev/query-target", json!("20"));
    let names = |world: &World| -> Vec<String> {
        let signals = world.resolve(at(0)).target.unwrap().signals;
        signals.iter().map(|one| one.signal.to_string()).collect()
    };
    assert_eq!(names(&world), ["cpu", "promql/query"]);
    // Without an HPA it takes the place of the default, and counts beside what the user says.
    let mut alone = World::alone(&[
        (SCALING, "recommend"),
        ("evenkeel.dev/min-replicas", "1"),
        ("evenkeel.dev/max-replicas", "9"),
        ("evenkeel.dev/query", "gpu"),
        ("evenkeel.dev/query-target", "700m"),
    ]);
    assert_eq!(names(&alone), ["promql/gpu"]);
    let annotations = &mut alone.workload.as_mut().unwrap()["metadata"]["annotations"];
    annotations["evenkeel.dev/target"] = json!("memory=1Gi");
    assert_eq!(names(&alone), ["memory", "promql/gpu"]);
}

#[test]
fn who_only_opted_in_is_not_told_of_metrics_that_nobody_asked_to_predict() {
    let mut world = World::new();
    world.hpa()["spec"]["metrics"] = json!([]);
    world.annotate(SCALING, Value::Null);
    assert_eq!(world.resolve(at(0)).mode, ScalingMode::Off);
    assert_eq!(world.tick(None, 0), []);
    world
        .namespace
        .insert(SCALING.to_owned(), "recommend".to_owned());
    world.tick(None, 15);
    assert_eq!(world.reasons(), ["NoMetric"]);
}

/// The metric that is served of the loads of targets.
fn own_metric() -> Value {
    json!({"type": "External", "external": {
        "metric": {"name": "Evenkeel-Expected-Load",
            "selector": {"matchLabels": {"name": "web", "signal": "cpu"}}},
        "target": {"type": "AverageValue", "averageValue": "400m"}}})
}

#[test]
fn what_is_made_of_the_load_is_no_load_of_its_own() {
    let mut world = World::new();
    let metrics = world.hpa()["spec"]["metrics"].as_array_mut().unwrap();
    let before = metrics.len();
    metrics.push(own_metric());
    let resolved = world.resolve(at(0));
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    let signals = resolved.target.unwrap().signals;
    assert_eq!(signals.len(), before);
    assert_eq!(signals[0].signal, Signal::CPU);
    // Where nothing else is known, it is said, and nothing is decided.
    world.hpa()["spec"]["metrics"] = json!([own_metric()]);
    let resolved = world.resolve(at(0));
    assert!(resolved.target.is_none());
    let told = resolved.problems[0].to_string();
    assert!(told.contains("evenkeel.dev/query"), "{told}");
}

#[test]
fn a_paused_scaled_object_is_left_alone_and_one_without_hpa_is_waited_for() {
    let mut world = World::with_keda();
    world.tick(Some(6), 0);
    world.annotate("autoscaling.keda.sh/paused", json!("true"));
    world.autoscaler = None;
    world.tick(Some(6), 15);
    assert_eq!(world.bounds(), (Some(2), 10));
    assert_eq!(world.holds("Paused"), Some(ConditionStatus::True));
    assert_eq!(
        world.reasons(),
        ["FloorRaised", "FloorLowered"],
        "the user knows"
    );
    world.annotate("autoscaling.keda.sh/paused", json!(null));
    world.tick(Some(6), 30);
    assert_eq!((world.status(), world.reasons().len()), (None, 2));
}

#[test]
fn two_autoscalers_of_one_workload_are_both_refused() {
    let one = World::new().observed();
    let mut other = World::new().observed();
    assert_eq!(conflicts(&[one.clone(), other.clone()]), [true, true]);
    let alone = World::alone(&[(SCALING, "floor")]).observed();
    assert_eq!(conflicts(&[one.clone(), alone]), [false, false]);
    let target = |namespace, name| TargetRef::new("apps/v1", "Deployment", namespace, name);
    other.target = target("shop", "api");
    assert_eq!(conflicts(&[one.clone(), other.clone()]), [false, false]);
    other.target = target("test", "web");
    assert_eq!(conflicts(&[one, other]), [false, false]);
}

#[test]
fn a_workload_without_autoscaler_is_recommended_only() {
    let annotations = [
        (SCALING, "floor"),
        ("evenkeel.dev/min-replicas", "0"),
        ("evenkeel.dev/max-replicas", "9"),
    ];
    let mut world = World::alone(&annotations);
    let resolved = world.resolve(at(0));
    assert_eq!(resolved.mode, ScalingMode::Recommend);
    let target = resolved.target.unwrap();
    assert_eq!(
        (target.policy.bounds.min(), target.policy.bounds.max()),
        (0, 9)
    );
    assert!(matches!(target.reaction, TargetReaction::Reconciled(_)));
    world.tick(Some(6), 0);
    assert_eq!(world.holds("NoAutoscaler"), Some(ConditionStatus::True));
    assert_eq!(world.reasons(), ["ReplicasRecommended", "NoAutoscaler"]);
    assert_eq!(world.status().unwrap().mode, "recommend");
    assert_eq!(
        World::alone(&[]).resolve(at(0)).mode,
        ScalingMode::Off,
        "it does not ask"
    );

    world.autoscaler = World::new().autoscaler;
    world.tick(None, 15);
    let workload = world.workload.unwrap();
    assert_eq!(
        workload["metadata"]["annotations"][SCALING_STATUS],
        json!(null)
    );
}

fn panicked() -> PanicError {
    PanicError {
        message: "a sum is off".to_owned(),
    }
}

#[test]
fn a_quarantine_lasts_longer_with_each_panic_that_follows() {
    let observed = World::new().observed();
    let (mut now, mut before) = (at(0), None);
    for minutes in [5, 10, 20, 40, 60, 60] {
        let mut quarantine = Quarantine::begin(&observed, panicked(), before.as_ref(), now);
        let rest = SignedDuration::from_mins(minutes);
        assert_eq!(quarantine.until().duration_since(now), rest);
        let just_before = quarantine.until() - SignedDuration::from_secs(1);
        assert!(quarantine.holds(&observed, just_before));
        assert!(!quarantine.holds(&observed, quarantine.until()));
        now = quarantine.until() + rest - SignedDuration::from_secs(1);
        assert!(!quarantine.is_mended(now));
        before = Some(quarantine);
    }
    now += SignedDuration::from_mins(61);
    let anew = Quarantine::begin(&observed, panicked(), before.as_ref(), now);
    assert_eq!(
        anew.until().duration_since(now),
        SignedDuration::from_mins(5)
    );
}

#[test]
fn a_quarantine_ends_with_a_change_of_the_user_and_not_with_our_own() {
    let world = World::new();
    let quarantine = Quarantine::begin(&world.observed(), panicked(), None, at(0));
    let changes: [(Change, bool); 8] = [
        (
            |world| world.hpa()["status"]["desiredReplicas"] = json!(9),
            true,
        ),
        (|world| world.hpa()["spec"]["minReplicas"] = json!(6), true),
        (|world| world.annotate(BOUNDS, json!("{}")), true),
        (|world| world.annotate(SCALING_STATUS, json!("{}")), true),
        (
            |world| world.workload.as_mut().unwrap()["spec"]["replicas"] = json!(9),
            true,
        ),
        (|world| world.annotate(SCALING, json!("recommend")), false),
        (
            |world| world.hpa()["spec"]["metrics"][0]["resource"]["name"] = json!("memory"),
            false,
        ),
        (
            |world| world.hpa()["metadata"]["uid"] = json!("another"),
            false,
        ),
    ];
    for (index, (change, holds)) in changes.into_iter().enumerate() {
        let mut world = world.clone();
        change(&mut world);
        let mut quarantine = quarantine.clone();
        assert_eq!(
            quarantine.holds(&world.observed(), at(15)),
            holds,
            "{index}"
        );
    }
}

#[test]
fn a_floor_in_quarantine_lapses_by_its_own_end_and_the_target_says_why() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    let until = world.resolve(at(0)).target.unwrap().floor.unwrap().until;
    let quarantine = Quarantine::begin(&world.observed(), panicked(), None, at(15));
    let rests = |world: &mut World, now: Timestamp| {
        let resolved = quarantine.refuse(Some(world.resolve(now)));
        assert_eq!(
            (resolved.mode, &resolved.target),
            (ScalingMode::Floor, &None)
        );
        let (observed, context) = (world.observed(), context(now));
        let writes = plan(&observed, &resolved, None, &mut world.memory, &context);
        world.apply(&writes);
        world.bounds()
    };
    let second = SignedDuration::from_secs(1);
    for now in [at(15), at(30), until - second] {
        assert_eq!(rests(&mut world, now), (Some(6), 10), "{now}");
        let floor = world.resolve(now).target.unwrap().floor.unwrap();
        assert_eq!(floor.until, until, "it is not renewed");
    }
    assert_eq!(rests(&mut world, until), (Some(2), 10));
    let recommends = {
        let mut world = World::new();
        world.tick(Some(6), 0);
        world.annotate(SCALING, json!("recommend"));
        let resolved = quarantine.refuse(Some(world.resolve(at(15))));
        let (observed, context) = (world.observed(), context(at(15)));
        let writes = plan(&observed, &resolved, None, &mut world.memory, &context);
        world.apply(&writes);
        world.bounds()
    };
    assert_eq!(recommends, (Some(2), 10), "its user wants no floor");
    assert_eq!(world.holds("Quarantined"), Some(ConditionStatus::True));
    let told: Vec<&str> = world.told.iter().map(|told| &*told.0).collect();
    assert_eq!(told[told.len() - 2..], ["Quarantined", "FloorLowered"]);
    let told = &world.told[world.told.len() - 2];
    let why = "a defect of Evenkeel: the work on this target panicked: a sum is off; it is paused until \
               2027-01-15T08:05:15Z, or until its objects change";
    assert_eq!(told.1, why);
    world.annotate(SCALING, json!("off"));
    let off = quarantine.refuse(Some(world.resolve(at(30))));
    assert_eq!(
        (off.mode, off.problems.len()),
        (ScalingMode::Off, 0),
        "it asks for nothing"
    );
    assert_eq!(quarantine.refuse(None).problems.len(), 1);
}

#[test]
fn where_scaling_in_is_disabled_nothing_is_raised_and_what_stands_is_put_back() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    assert_eq!(
        world.bounds(),
        (Some(6), 10),
        "raised while it may come down"
    );
    world.hpa()["spec"]["behavior"] = json!({"scaleDown": {"selectPolicy": "Disabled"}});
    let resolved = world.resolve(at(15));
    let policy = resolved.target.unwrap().policy;
    assert_eq!(
        (resolved.mode, policy.mode),
        (ScalingMode::Recommend, ScalingMode::Recommend)
    );
    world.tick(None, 15);
    assert_eq!(world.bounds(), (Some(2), 10));
    assert_eq!(
        world.holds("ScaleDownDisabled"),
        Some(ConditionStatus::True)
    );
    world.hpa()["spec"]["behavior"]["scaleDown"]["selectPolicy"] = json!("Min");
    assert_eq!(world.resolve(at(30)).mode, ScalingMode::Floor);
}
