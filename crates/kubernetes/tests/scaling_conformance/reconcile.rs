//! Whole reconciliations, from the JSON of an HPA to its status, Events and what is remembered.

use std::collections::BTreeMap;

use evenkeel_core::scaling::hpa::{
    self, AfterWrite, Condition, Controller, Event, FeatureGates, HorizontalPodAutoscaler, Memory,
    MetricStatus, Observed, Outcome, Reading, Readings, ReconcileError, Rescale, Scale, ScaleError,
    ScaleWriteError, Status, Step,
};
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::signal::{MetricIdentifier, ObjectReference, Signal};
use evenkeel_kubernetes::autoscaler::{Autoscaler, status};
use evenkeel_kubernetes::label_selector::Selector;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::{at, now, relative};
use crate::pods::{Pod, PodValue, ResourceSample, Value as SampleIn};
use crate::rules::{Flags, Recommended, Remembered, recommended, written};

/// The kinds that the cluster of the cases can scale.
const KINDS: [&str; 4] = [
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

#[derive(Deserialize)]
pub(crate) struct ReconcileIn {
    controller: Flags,
    feature_gates: Gates,
    hpa: Autoscaler,
    hpa_status: StatusIn,
    scale: Option<ScaleIn>,
    get_scale_error: Option<String>,
    update_scale_error: Option<WriteError>,
    pods: Vec<Pod>,
    metrics: Metrics,
    #[serde(flatten)]
    remembered: Remembered,
    other_hpa_selectors: Vec<OtherSelector>,
}

#[derive(Deserialize)]
#[allow(clippy::struct_field_names)] // the names of the gates
struct Gates {
    #[serde(rename = "HPAConfigurableTolerance")]
    hpa_configurable_tolerance: bool,
    #[serde(rename = "HPAScaleToZero")]
    hpa_scale_to_zero: bool,
    #[serde(rename = "PodLevelResources")]
    pod_level_resources: bool,
}

#[derive(Deserialize)]
struct StatusIn {
    current_replicas: i32,
    desired_replicas: i32,
    last_scale_s: Option<i64>,
    current_metrics: Option<Value>,
    conditions: Option<Value>,
}

#[derive(Deserialize)]
struct ScaleIn {
    spec_replicas: i32,
    status_replicas: i32,
    selector: String,
}

#[derive(Deserialize)]
struct WriteError {
    kind: String,
    message: String,
    /// How often; no number means always.
    times: Option<u32>,
}

#[derive(Deserialize)]
struct OtherSelector {
    name: String,
    namespace: String,
    selector: String,
}

#[derive(Deserialize)]
struct Answer<T> {
    error: Option<String>,
    samples: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct ObjectAnswer {
    api_version: String,
    kind: String,
    name: String,
    metric: String,
    error: Option<String>,
    sample: Option<SampleIn>,
}

#[derive(Deserialize)]
struct Metrics {
    resource: Answer<ResourceSample>,
    pods: BTreeMap<String, Answer<PodValue>>,
    object: Vec<ObjectAnswer>,
    external: BTreeMap<String, Answer<SampleIn>>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct ReconcileOut {
    expected: Expected,
    observed: ObservedOut,
}

/// What Kubernetes' own tests ask for.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Expected {
    desired_replicas: i32,
    scale_updated: bool,
    status_updated: bool,
    conditions: Option<Vec<ShortCondition>>,
    cpu_utilization_percent: Option<i32>,
    reconciliation_action_label: String,
    reconciliation_error_label: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct ShortCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
}

/// Everything that Kubernetes did.
#[derive(Debug, PartialEq, Deserialize)]
struct ObservedOut {
    error: Option<Message>,
    desired_replicas: Option<i32>,
    scale_updates: Vec<i32>,
    status_updated: bool,
    current_replicas: Option<i32>,
    last_scale_s: Option<i64>,
    conditions: Option<Vec<LongCondition>>,
    current_metrics: Option<Vec<Value>>,
    events: Vec<EventOut>,
    recommendations_after: Option<Vec<Recommended>>,
    scale_up_events_after: Vec<crate::rules::Event>,
    scale_down_events_after: Vec<crate::rules::Event>,
    reconciliation_action_label: String,
    reconciliation_error_label: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct LongCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: Message,
}

#[derive(Debug, PartialEq, Deserialize)]
struct EventOut {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    message: Message,
}

impl ReconcileIn {
    fn controller(&self) -> Controller {
        let Gates {
            hpa_configurable_tolerance,
            hpa_scale_to_zero,
            pod_level_resources,
        } = self.feature_gates;
        Controller {
            settings: self.controller.settings(),
            feature_gates: FeatureGates {
                hpa_scale_to_zero,
                hpa_configurable_tolerance,
                pod_level_resources,
            },
        }
    }

    fn autoscaler(&self) -> HorizontalPodAutoscaler {
        let StatusIn {
            current_replicas,
            desired_replicas,
            last_scale_s,
            current_metrics,
            conditions,
        } = &self.hpa_status;
        let previous = status::read(json!({
            "currentReplicas": current_replicas,
            "desiredReplicas": desired_replicas,
            "lastScaleTime": last_scale_s.map(|seconds| at(seconds).to_string()),
            "currentMetrics": current_metrics,
            "conditions": conditions,
        }));
        let metadata = &self.hpa.metadata;
        HorizontalPodAutoscaler {
            namespace: metadata
                .namespace
                .as_deref()
                .expect("a namespace")
                .to_owned(),
            name: metadata.name.as_deref().expect("a name").to_owned(),
            spec: self.hpa.spec.hpa(),
            status: previous,
        }
    }

    fn scale_error(&self) -> Option<ScaleError> {
        let kind = self.hpa.spec.scale_target_ref.kind.as_str();
        let group = match self.hpa.spec.scale_target_group() {
            Ok(group) => group.to_owned(),
            Err(error) => return Some(error),
        };
        if !KINDS.contains(&kind) {
            let kind = kind.to_owned();
            return Some(ScaleError::NoMatch { group, kind });
        }
        self.get_scale_error.clone().map(ScaleError::Get)
    }

    /// The Pods that a selector selects.
    fn selected(&self, selector: &Selector) -> Vec<&Pod> {
        let pods = self.pods.iter();
        pods.filter(|pod| {
            pod.labels
                .as_ref()
                .is_none_or(|labels| selector.matches(labels))
        })
        .collect()
    }

    /// This HPA and those of its namespace whose selectors select any of the Pods.
    fn autoscalers(&self, hpa: &HorizontalPodAutoscaler, pods: &[&Pod]) -> Vec<String> {
        let selects = |other: &&OtherSelector| {
            let selector = Selector::parse(&other.selector).expect("a selector");
            let labels = |pod: &&Pod| pod.labels.as_ref().is_some_and(|all| selector.matches(all));
            other.namespace == hpa.namespace && pods.iter().any(labels)
        };
        let others = self.other_hpa_selectors.iter().filter(selects);
        let mut keys: Vec<_> = others
            .map(|one| format!("{}/{}", one.namespace, one.name))
            .collect();
        keys.push(format!("{}/{}", hpa.namespace, hpa.name));
        keys.sort();
        keys
    }
}

impl Metrics {
    fn readings(&self, hpa: &HorizontalPodAutoscaler) -> Readings {
        let signals = hpa.spec.metrics.iter().filter_map(|metric| match metric {
            hpa::MetricSpec::Known(signal, _) => Some(signal),
            hpa::MetricSpec::Unknown(_) => None,
        });
        let others = signals.filter_map(|signal| Some((signal.clone(), self.reading(signal)?)));
        Readings {
            resource: self.resource.read(ResourceSample::read),
            others: others.collect(),
        }
    }

    fn reading(&self, signal: &Signal) -> Option<Result<Reading, String>> {
        match signal {
            Signal::Pods(MetricIdentifier { name, .. }) => {
                let answer = self.pods.get(name)?;
                Some(answer.read(PodValue::read).map(Reading::Pods))
            }
            Signal::External(MetricIdentifier { name, .. }) => {
                let answer = self.external.get(name)?;
                Some(answer.read(SampleIn::read).map(Reading::Series))
            }
            Signal::Object { object, metric } => {
                let mut answers = self.object.iter();
                let answer = answers.find(|answer| answer.is_of(object, metric))?;
                let sample = answer.sample.as_ref().map(SampleIn::read);
                let error = answer.error.clone().map(Err);
                error.or(sample.map(|sample| Ok(Reading::Object(sample))))
            }
            _ => None,
        }
    }
}

impl<T> Answer<T> {
    fn read<U>(&self, read: impl Fn(&T) -> U) -> Result<Vec<U>, String> {
        let samples = self.samples.iter().flatten().map(read).collect();
        self.error.clone().map_or(Ok(samples), Err)
    }
}

impl ObjectAnswer {
    fn is_of(&self, object: &ObjectReference, metric: &MetricIdentifier) -> bool {
        let named = (&self.api_version, &self.kind, &self.name, &self.metric);
        named
            == (
                &object.api_version,
                &object.kind,
                &object.name,
                &metric.name,
            )
    }
}

pub(crate) fn check(given: ReconcileIn, expected: &ReconcileOut) -> ReconcileOut {
    let (controller, hpa) = (given.controller(), given.autoscaler());
    let readings = given.metrics.readings(&hpa);
    let scale = given.scale.as_ref();
    let selector = scale.map_or("", |scale| scale.selector.as_str());
    let parsed = Selector::parse(selector);
    let selected = parsed
        .as_ref()
        .map_or(Vec::new(), |parsed| given.selected(parsed));
    let pods: Vec<PodFacts> = selected.iter().map(|pod| pod.read()).collect();
    let error = parsed.err().map(|error| error.to_string());
    let autoscalers = given.autoscalers(&hpa, &selected);
    let scale_error = given.scale_error();
    let observed = Observed {
        scale: match (&scale_error, scale) {
            (Some(error), _) => Err(error),
            (None, None) => panic!("a case without a scale"),
            (None, Some(scale)) => Ok(Scale {
                spec_replicas: scale.spec_replicas,
                status_replicas: scale.status_replicas,
                selector,
                pods: error.as_deref().map_or(Ok(&pods), Err),
                autoscalers: &autoscalers,
            }),
        },
        readings: &readings,
    };
    let mut memory = given.remembered.memory();
    let step = hpa::reconcile(&controller, &hpa, &observed, &mut memory, now());
    let (outcome, updates) = match step {
        Step::Done(outcome) => (outcome, Vec::new()),
        Step::Rescale(rescale) => {
            let target = &hpa.spec.scale_target.name;
            write(
                rescale,
                target,
                given.update_scale_error.as_ref(),
                &mut memory,
            )
        }
    };
    out(&outcome, updates, &memory, expected)
}

/// A message. Go's own parser words what is wrong with a selector; only what stands before it counts.
#[derive(Debug, Deserialize)]
struct Message(String);

impl Message {
    fn counted(&self) -> &str {
        let parser = "into a corresponding internal selector object: ";
        let end = self.0.find(parser).map(|start| start + parser.len());
        &self.0[..end.unwrap_or(self.0.len())]
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.counted() == other.counted()
    }
}

/// Writes the scale as often as it takes; the counts that were written come back too.
fn write(
    mut rescale: Rescale<'_>,
    target: &str,
    error: Option<&WriteError>,
    memory: &mut Memory,
) -> (Outcome, Vec<i32>) {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let fails = |error: &&WriteError| error.times.is_none_or(|times| attempts <= times);
        let written = error.filter(fails).map_or(Ok(()), |error| {
            let message = &error.message;
            Err(match error.kind.as_str() {
                // The words of the API server that the cases were recorded with.
                "conflict" => ScaleWriteError::Conflict(format!(
                    "Operation cannot be fulfilled on replicationcontrollers {target:?}: {message}"
                )),
                _ => ScaleWriteError::Failed(message.clone()),
            })
        });
        let updates = if written.is_ok() {
            vec![rescale.to()]
        } else {
            Vec::new()
        };
        match rescale.after_write(written, memory) {
            AfterWrite::Done(outcome) => return (outcome, updates),
            AfterWrite::Retry(again) => rescale = again,
        }
    }
}

fn out(
    outcome: &Outcome,
    scale_updates: Vec<i32>,
    memory: &Memory,
    expected: &ReconcileOut,
) -> ReconcileOut {
    let Outcome {
        status,
        is_status_changed,
        events,
        action,
        error,
    } = outcome;
    let status = is_status_changed.then_some(status);
    let conditions = |status: &Status| status.conditions.iter().map(long).collect::<Vec<_>>();
    let short = |condition: &Condition| {
        let LongCondition {
            kind,
            status,
            reason,
            ..
        } = long(condition);
        ShortCondition {
            kind,
            status,
            reason,
        }
    };
    let metrics = |status: &Status| {
        let written: Vec<_> = status
            .current_metrics
            .iter()
            .map(status::write_metric)
            .collect();
        (!written.is_empty()).then_some(written)
    };
    let was = &expected.observed;
    let desired = status.map(|status| status.desired_replicas);
    let cpu = expected.expected.cpu_utilization_percent;
    ReconcileOut {
        expected: Expected {
            desired_replicas: desired.unwrap_or(expected.expected.desired_replicas),
            scale_updated: !scale_updates.is_empty(),
            status_updated: *is_status_changed,
            conditions: status.map(|status| status.conditions.iter().map(short).collect()),
            cpu_utilization_percent: cpu.and(status.and_then(cpu_utilization)),
            reconciliation_action_label: action.as_str().to_owned(),
            reconciliation_error_label: ReconcileError::label(error.as_ref()).to_owned(),
        },
        observed: ObservedOut {
            error: error.as_ref().map(|error| Message(error.to_string())),
            desired_replicas: desired.or(was.desired_replicas),
            scale_updates,
            status_updated: *is_status_changed,
            current_replicas: status
                .map(|one| one.current_replicas)
                .or(was.current_replicas),
            last_scale_s: status.map_or(was.last_scale_s, |one| one.last_scale_time.map(relative)),
            conditions: status.map(conditions),
            current_metrics: status.and_then(metrics),
            events: events.iter().map(event).collect(),
            recommendations_after: memory.recommendations.as_deref().map(recommended),
            scale_up_events_after: written(&memory.scale_events.up),
            scale_down_events_after: written(&memory.scale_events.down),
            reconciliation_action_label: action.as_str().to_owned(),
            reconciliation_error_label: ReconcileError::label(error.as_ref()).to_owned(),
        },
    }
}

fn long(condition: &Condition) -> LongCondition {
    LongCondition {
        kind: condition.condition_type.to_string(),
        status: condition.status.as_str().to_owned(),
        reason: condition.reason.to_string(),
        message: Message(condition.message.to_string()),
    }
}

fn event(event: &Event) -> EventOut {
    EventOut {
        kind: event.event_type.as_str().to_owned(),
        reason: event.reason.to_owned(),
        message: Message(event.message.clone()),
    }
}

fn cpu_utilization(status: &Status) -> Option<i32> {
    let is_cpu = |metric: &&MetricStatus| metric.signal == Some(Signal::CPU);
    let metric = status.current_metrics.iter().find(is_cpu)?;
    metric.current.average_utilization
}
