//! Pods and what is measured of them, in the JSON of the cases.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_metrics::pod::{
    ContainerFacts, PodFacts, PodSpecFacts, ReadyCondition, ResourceRequests,
};
use evenkeel_metrics::sample::{ContainerMetrics, Measurement, PodMetrics, PodSample, ValueSample};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::cases::at;

type Amounts = BTreeMap<String, i64>;

fn requests(amounts: &Amounts) -> ResourceRequests {
    let named = amounts
        .iter()
        .map(|(name, milli)| (name.as_str().into(), *milli));
    named.collect()
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    restart_always: bool,
    requests_milli: Option<Amounts>,
}

impl Container {
    fn read(&self) -> ContainerFacts {
        ContainerFacts {
            name: self.name.clone(),
            requests: self
                .requests_milli
                .as_ref()
                .map(requests)
                .unwrap_or_default(),
            is_sidecar: self.restart_always,
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Pod {
    name: String,
    /// No labels stand for those that the selector asks for.
    pub(crate) labels: Option<BTreeMap<String, String>>,
    phase: String,
    deleted: bool,
    ready: Option<String>,
    start_s: Option<i64>,
    ready_transition_s: Option<i64>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
    #[serde(rename = "pod_level_requests_milli")]
    whole_requests: Option<Amounts>,
    overhead_milli: Option<Amounts>,
}

impl Pod {
    pub(crate) fn read(&self) -> PodFacts {
        let optional =
            |amounts: &Option<Amounts>| amounts.as_ref().map(requests).unwrap_or_default();
        PodFacts {
            name: self.name.clone(),
            phase: self.phase.as_str().into(),
            deleted: self.deleted,
            start_time: self.start_s.map(at),
            ready: self.ready.as_ref().map(|ready| ReadyCondition {
                status: ready.as_str().into(),
                last_transition_time: self.ready_transition_s.map_or(Timestamp::MIN, at),
            }),
            spec: Arc::new(PodSpecFacts {
                containers: self.containers.iter().map(Container::read).collect(),
                init_containers: self.init_containers.iter().map(Container::read).collect(),
                pod_requests: optional(&self.whole_requests),
                overhead: optional(&self.overhead_milli),
            }),
        }
    }
}

#[derive(Deserialize)]
struct ContainerUsage {
    name: String,
    usage_milli: Amounts,
}

#[derive(Deserialize)]
pub(crate) struct ResourceSample {
    pod: String,
    timestamp_s: i64,
    window_s: i64,
    containers: Vec<ContainerUsage>,
}

impl ResourceSample {
    pub(crate) fn read(&self) -> PodMetrics {
        let container = |container: &ContainerUsage| ContainerMetrics {
            name: container.name.clone(),
            usage: requests(&container.usage_milli),
        };
        PodMetrics {
            pod: self.pod.clone(),
            timestamp: at(self.timestamp_s),
            window: SignedDuration::from_secs(self.window_s),
            containers: self.containers.iter().map(container).collect(),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct PodValue {
    pub(crate) pod: String,
    timestamp_s: i64,
    window_s: Option<i64>,
    value_milli: i64,
}

impl PodValue {
    pub(crate) fn measurement(&self) -> Measurement {
        Measurement {
            timestamp: at(self.timestamp_s),
            window: SignedDuration::from_secs(self.window_s.unwrap_or(60)),
            value: self.value_milli,
        }
    }

    pub(crate) fn read(&self) -> PodSample {
        PodSample {
            pod: self.pod.clone(),
            measurement: self.measurement(),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Value {
    timestamp_s: i64,
    value_milli: i64,
}

impl Value {
    pub(crate) fn read(&self) -> ValueSample {
        ValueSample {
            timestamp: at(self.timestamp_s),
            value: self.value_milli,
        }
    }
}
