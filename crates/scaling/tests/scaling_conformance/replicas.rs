//! The replica calculator, and the functions that it is made of.

use std::collections::BTreeMap;

use evenkeel_hpa as hpa;
use evenkeel_hpa::{
    ByPod, Controller, FeatureGates, MetricProposal, PodGroups, Readings, ReplicaCalculator,
    ReplicasError, Settings, Startup, TargetUsage,
};
use evenkeel_label_selector::LabelSelector;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::signal::{
    MetricIdentifier, MetricTarget, ObjectReference, ResourceName, Signal,
};
use serde::Deserialize;

use crate::cases::{Float, now, relative};
use crate::pods::{Pod, PodValue, ResourceSample, Value};
use crate::rules::Flags;

/// An error; messages are compared too.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ErrorOut {
    kind: String,
    message: String,
}

fn error(error: &ReplicasError) -> ErrorOut {
    ErrorOut {
        kind: error.kind().to_owned(),
        message: error.to_string(),
    }
}

#[derive(Deserialize)]
pub(crate) struct ReplicasIn {
    spec_replicas: i32,
    status_replicas: i32,
    tolerance: Tolerances,
    cpu_initialization_period_s: i64,
    initial_readiness_delay_s: i64,
    pod_level_resources_gate: bool,
    metric: Metric,
    pods: Vec<Pod>,
    samples: Samples,
}

#[derive(Deserialize)]
struct Tolerances {
    up: Float,
    down: Float,
}

#[derive(Deserialize)]
struct Metric {
    kind: String,
    resource: Option<String>,
    container: Option<String>,
    name: Option<String>,
    target: TargetIn,
}

#[derive(Deserialize)]
struct TargetIn {
    #[serde(rename = "type")]
    kind: String,
    utilization_percent: Option<i32>,
    average_value_milli: Option<i64>,
    value_milli: Option<i64>,
}

#[derive(Deserialize)]
struct Samples {
    fetch_error: Option<String>,
    resource: Option<Vec<ResourceSample>>,
    pods: Option<Vec<PodValue>>,
    object: Option<Value>,
    external: Option<Vec<Value>>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ReplicasOut {
    replicas: Option<i32>,
    utilization_percent: Option<i32>,
    value_milli: Option<i64>,
    timestamp_s: Option<i64>,
    error: Option<ErrorOut>,
}

impl Metric {
    fn signal(&self) -> Signal {
        let resource = || self.resource.as_deref().expect("a resource").into();
        let metric = |selector| MetricIdentifier {
            name: self.name.clone().expect("a name"),
            selector,
        };
        match self.kind.as_str() {
            "resource" => Signal::Resource(resource()),
            "container_resource" => Signal::ContainerResource {
                resource: resource(),
                container: self.container.clone().expect("a container"),
            },
            "pods" => Signal::Pods(metric(None)),
            // The object that Kubernetes' own tests describe, which only errors name.
            "object" => Signal::Object {
                object: Box::new(ObjectReference {
                    api_version: "apps/v1".to_owned(),
                    kind: "Deployment".to_owned(),
                    name: "some-deployment".to_owned(),
                }),
                metric: metric(None),
            },
            "external" => Signal::External(metric(Some(LabelSelector::default()))),
            other => panic!("unknown kind {other}"),
        }
    }
}

impl TargetIn {
    fn read(&self) -> MetricTarget {
        match self.kind.as_str() {
            "Utilization" => {
                MetricTarget::Utilization(self.utilization_percent.expect("a percentage"))
            }
            "AverageValue" => {
                MetricTarget::AverageValue(self.average_value_milli.expect("a value"))
            }
            "Value" => MetricTarget::Value(self.value_milli.expect("a value")),
            other => panic!("unknown target {other}"),
        }
    }
}

impl Samples {
    fn readings(&self, signal: &Signal) -> Readings {
        let values = |values: &[Value]| values.iter().map(Value::read).collect();
        let reading = match signal {
            Signal::Resource(_) | Signal::ContainerResource { .. } => {
                let samples = self.resource.as_deref().unwrap_or_default();
                let metrics = samples.iter().map(ResourceSample::read).collect();
                return Readings {
                    resource: self.fetch_error.clone().map_or(Ok(metrics), Err),
                    ..Readings::default()
                };
            }
            Signal::Pods(_) => self.pods.as_deref().map(|samples| {
                MetricsApiReading::Pods(samples.iter().map(PodValue::read).collect())
            }),
            Signal::Object { .. } => self
                .object
                .as_ref()
                .map(|sample| MetricsApiReading::Object(sample.read())),
            _ => self
                .external
                .as_deref()
                .map(|samples| MetricsApiReading::Series(values(samples))),
        };
        let reading = self
            .fetch_error
            .clone()
            .map_or(reading.map(Ok), |error| Some(Err(error)));
        let others = reading.map(|reading| (signal.clone(), reading));
        Readings {
            others: others.into_iter().collect(),
            ..Readings::default()
        }
    }
}

pub(crate) fn check(given: &ReplicasIn, _: &ReplicasOut) -> ReplicasOut {
    let controller = Controller {
        settings: Settings {
            cpu_initialization_period: jiff::SignedDuration::from_secs(
                given.cpu_initialization_period_s,
            ),
            initial_readiness_delay: jiff::SignedDuration::from_secs(
                given.initial_readiness_delay_s,
            ),
            ..Settings::default()
        },
        feature_gates: FeatureGates {
            pod_level_resources: given.pod_level_resources_gate,
            ..FeatureGates::default()
        },
    };
    let signal = given.metric.signal();
    // Cases that label their Pods leave out those that the selector does not select.
    let pods: Vec<_> = given.pods.iter().map(Pod::read).collect();
    let calculator = ReplicaCalculator {
        controller: &controller,
        tolerances: hpa::Tolerances {
            up: given.tolerance.up.0,
            down: given.tolerance.down.0,
        },
        namespace: "test-namespace",
        spec_replicas: given.spec_replicas,
        status_replicas: given.status_replicas,
        pods: &pods,
        readings: &given.samples.readings(&signal),
        now: now(),
    };
    let target = given.metric.target.read();
    let found = calculator.propose(&signal, Some(target));
    let is_infinite = given.status_replicas == 0
        && signal.resource().is_none()
        && !matches!(signal, Signal::Pods(_))
        && matches!(target, MetricTarget::AverageValue(_));
    out(&found, is_infinite)
}

/// The value of a total over no Pods is infinite in Go, and its conversion depends on the processor.
fn out(found: &Result<MetricProposal, ReplicasError>, is_infinite: bool) -> ReplicasOut {
    let proposal = found.as_ref().ok();
    let value = proposal.map(|proposal| proposal.value);
    ReplicasOut {
        replicas: proposal.map(|proposal| proposal.replicas),
        utilization_percent: proposal.and_then(|proposal| proposal.utilization),
        value_milli: value.filter(|_| !is_infinite),
        timestamp_s: proposal
            .and_then(|proposal| proposal.timestamp)
            .map(relative),
        error: found.as_ref().err().map(error),
    }
}

#[derive(Deserialize)]
pub(crate) struct GroupIn {
    resource: String,
    #[serde(flatten)]
    flags: Flags,
    pods: Vec<Pod>,
    metrics: Vec<PodValue>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct GroupOut {
    ready_pod_count: usize,
    unready: Vec<String>,
    missing: Vec<String>,
    ignored: Vec<String>,
}

pub(crate) fn group_pods(given: &GroupIn, _: &GroupOut) -> GroupOut {
    let pods: Vec<PodFacts> = given.pods.iter().map(Pod::read).collect();
    let metrics = given.metrics.iter();
    let measured = metrics
        .map(|sample| (sample.pod.as_str(), sample.measurement()))
        .collect();
    let settings = given.flags.settings();
    let startup = (given.resource == "cpu").then_some(Startup {
        cpu_initialization_period: settings.cpu_initialization_period,
        initial_readiness_delay: settings.initial_readiness_delay,
    });
    let groups = PodGroups::new(&pods, &measured, startup, now());
    let sorted = |names: Vec<&str>| {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort();
        names
    };
    GroupOut {
        ready_pod_count: groups.ready,
        unready: sorted(groups.unready),
        missing: sorted(groups.missing),
        ignored: sorted(groups.ignored),
    }
}

#[derive(Deserialize)]
pub(crate) struct RequestsIn {
    pod_level_resources_gate: bool,
    resource: String,
    container: Option<String>,
    pods: Vec<Pod>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct RequestsOut {
    requests_milli: Option<BTreeMap<String, i64>>,
    error: Option<ErrorOut>,
}

pub(crate) fn calculate_requests(given: &RequestsIn, _: &RequestsOut) -> RequestsOut {
    let pods: Vec<PodFacts> = given.pods.iter().map(Pod::read).collect();
    let resource: ResourceName = given.resource.as_str().into();
    let container = given.container.as_deref().filter(|name| !name.is_empty());
    let found = hpa::requests(&pods, &resource, container, given.pod_level_resources_gate);
    let owned = |requests: &ByPod<'_, i64>| {
        requests
            .iter()
            .map(|(pod, milli)| (pod.to_owned(), *milli))
            .collect()
    };
    RequestsOut {
        requests_milli: found.as_ref().ok().map(owned),
        error: found.as_ref().err().map(error),
    }
}

#[derive(Deserialize)]
pub(crate) struct RatioIn {
    metrics_milli: BTreeMap<String, i64>,
    requests_milli: Option<BTreeMap<String, i64>>,
    target: i64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct RatioOut {
    ratio: Option<Float>,
    current: Option<i64>,
    raw_average_milli: Option<i64>,
    error: Option<ErrorOut>,
}

fn borrowed(amounts: &BTreeMap<String, i64>) -> ByPod<'_, i64> {
    amounts
        .iter()
        .map(|(pod, milli)| (pod.as_str(), *milli))
        .collect()
}

pub(crate) fn resource_utilization_ratio(given: &RatioIn, _: &RatioOut) -> RatioOut {
    let requests = given.requests_milli.clone().unwrap_or_default();
    let target = i32::try_from(given.target).expect("a percentage");
    let values = borrowed(&given.metrics_milli);
    let found = hpa::resource_utilization(&values, &borrowed(&requests), target);
    let usage = found.as_ref().ok();
    RatioOut {
        ratio: usage.map(|usage| Float(usage.ratio)),
        current: usage.and_then(|usage| usage.utilization).map(i64::from),
        raw_average_milli: usage.map(|usage| usage.average),
        error: found.as_ref().err().map(error),
    }
}

pub(crate) fn metric_usage_ratio(given: &RatioIn, _: &RatioOut) -> RatioOut {
    let TargetUsage { ratio, average, .. } =
        hpa::metric_usage(&borrowed(&given.metrics_milli), given.target);
    RatioOut {
        ratio: Some(Float(ratio)),
        current: Some(average),
        raw_average_milli: None,
        error: None,
    }
}
