//! The input of a reconciliation, in the JSON of the cases.

use std::collections::BTreeMap;

use evenkeel_hpa as hpa;
use evenkeel_hpa::autoscaler::{Autoscaler, status};
use evenkeel_hpa::{Controller, FeatureGates, HorizontalPodAutoscaler, Readings, ScaleError};
use evenkeel_label_selector::Selector;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::signal::{MetricIdentifier, ObjectReference, Signal};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::at;
use crate::pods::{Pod, PodValue, ResourceSample, Value as SampleIn};
use crate::rules::{Flags, Remembered};

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
    pub(super) scale: Option<ScaleIn>,
    get_scale_error: Option<String>,
    pub(super) update_scale_error: Option<WriteError>,
    pods: Vec<Pod>,
    pub(super) metrics: Metrics,
    #[serde(flatten)]
    pub(super) remembered: Remembered,
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
pub(super) struct ScaleIn {
    pub(super) spec_replicas: i32,
    pub(super) status_replicas: i32,
    pub(super) selector: String,
}

#[derive(Deserialize)]
pub(super) struct WriteError {
    pub(super) kind: String,
    pub(super) message: String,
    /// How often; no number means always.
    pub(super) times: Option<u32>,
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
pub(super) struct Metrics {
    resource: Answer<ResourceSample>,
    pods: BTreeMap<String, Answer<PodValue>>,
    object: Vec<ObjectAnswer>,
    external: BTreeMap<String, Answer<SampleIn>>,
}

impl ReconcileIn {
    pub(super) fn controller(&self) -> Controller {
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

    pub(super) fn autoscaler(&self) -> HorizontalPodAutoscaler {
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
            generation: None,
            spec: self.hpa.spec.hpa(),
            status: previous,
        }
    }

    pub(super) fn scale_error(&self) -> Option<ScaleError> {
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
    pub(super) fn selected(&self, selector: &Selector) -> Vec<&Pod> {
        let pods = self.pods.iter();
        pods.filter(|pod| {
            pod.labels
                .as_ref()
                .is_none_or(|labels| selector.matches(labels))
        })
        .collect()
    }

    /// This HPA, and the HPAs of its namespace with selectors that select any of the Pods.
    pub(super) fn autoscalers(&self, hpa: &HorizontalPodAutoscaler, pods: &[&Pod]) -> Vec<String> {
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
    pub(super) fn readings(&self, hpa: &HorizontalPodAutoscaler) -> Readings {
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

    fn reading(&self, signal: &Signal) -> Option<Result<MetricsApiReading, String>> {
        match signal {
            Signal::Pods(MetricIdentifier { name, .. }) => {
                let answer = self.pods.get(name)?;
                Some(answer.read(PodValue::read).map(MetricsApiReading::Pods))
            }
            Signal::External(MetricIdentifier { name, .. }) => {
                let answer = self.external.get(name)?;
                Some(answer.read(SampleIn::read).map(MetricsApiReading::Series))
            }
            Signal::Object { object, metric } => {
                let mut answers = self.object.iter();
                let answer = answers.find(|answer| answer.is_of(object, metric))?;
                let sample = answer.sample.as_ref().map(SampleIn::read);
                let error = answer.error.clone().map(Err);
                error.or(sample.map(|sample| Ok(MetricsApiReading::Object(sample))))
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
