//! A metrics adapter: requests per second of the simulated workloads as custom and external
//! metrics, as prometheus-adapter serves them. The custom metric `http_requests_per_second` of a
//! Pod is the rate that it serves. The external metric of the same name, with the label `workload`,
//! is the rate that arrives.

use std::collections::BTreeMap;

use evenkeel_apiserver::{CustomMetrics, DescribedObject, MetricReading};
use evenkeel_units::i64_ceil;

use crate::Timeline;
use crate::engine::requests::{RequestCounterKey, RequestRate};
use crate::machines::Machines;
use crate::prometheus::Behaviour;

pub const REQUESTS: &str = "http_requests_per_second";

/// The workload's label of the external metric.
pub const WORKLOAD: &str = "workload";

pub struct Adapter {
    machines: Machines,
    timeline: Timeline,
    behaviour: Behaviour,
}

impl Adapter {
    /// Serves the metrics of `machines`, and none while the backend is broken.
    pub const fn new(machines: Machines, timeline: Timeline, behaviour: Behaviour) -> Self {
        Self {
            machines,
            timeline,
            behaviour,
        }
    }

    fn reading(&self, of: RequestCounterKey, rate: RequestRate) -> MetricReading {
        let (object, namespace, labels) = match of {
            RequestCounterKey::Served(pod) => {
                let object = DescribedObject {
                    resource: "pods".to_owned(),
                    api_version: "v1".to_owned(),
                    kind: "Pod".to_owned(),
                    name: pod.name().to_owned(),
                };
                let namespace = pod.namespace().to_owned();
                (Some(object), namespace, BTreeMap::new())
            }
            RequestCounterKey::Arriving(namespace, workload) => {
                let labels = [(WORKLOAD.to_owned(), workload)].into();
                (None, namespace, labels)
            }
        };
        MetricReading {
            object,
            namespace,
            metric: REQUESTS.to_owned(),
            labels,
            timestamp: self.timeline.date(rate.at),
            window: Some(self.machines.timing().window.unsigned_abs()),
            milli: i64_ceil(rate.per_second * 1000.0),
        }
    }
}

impl CustomMetrics for Adapter {
    fn values(&self) -> Vec<MetricReading> {
        if !self.behaviour.answers() {
            return Vec::new();
        }
        let rates = self.machines.request_rates().into_iter();
        rates.map(|(of, rate)| self.reading(of, rate)).collect()
    }
}
