//! One round of measurements, and the observation of a target that it gives.

use std::sync::Arc;

use evenkeel_hpa::Readings;
use evenkeel_metrics::pod::{PodFacts, ResourceRequests};
use evenkeel_metrics::sample::{ContainerMetrics, Measurement, PodMetrics};
use evenkeel_metrics::signal::{ResourceName, Signal};
use evenkeel_metrics::usage::{Span, UsageSample};
use evenkeel_units::{Amount, Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use crate::load::observation::SignalSamples;

/// One round of measurements.
#[derive(Debug)]
pub struct ScalingSample {
    usage: Arc<UsageSample>,
    /// When the round was asked for.
    pub at: Timestamp,
    /// The newest measurement of each resource, for Pods with measurements that carry no time of their own.
    newest: Resources<Span>,
    /// When the Pods' answer of each resource was asked for; earlier than the round where the query
    /// is slower than a round.
    asked: Resources<Timestamp>,
}

impl ScalingSample {
    /// A round with Pods that count as measured when its nodes are, and no later than they were
    /// asked for. If no node is measured, the time of the request counts.
    /// `pods_as_of` is when the usage of the Pods was asked for, where that was earlier than `at`.
    pub fn new(
        usage: Arc<UsageSample>,
        pods_as_of: Resources<Option<Timestamp>>,
        at: Timestamp,
    ) -> Self {
        let asked = Resources::from_fn(|resource| pods_as_of[resource].unwrap_or(at));
        let newest = Resources::from_fn(|resource| {
            let measured = usage.nodes[resource].values();
            let newest = measured.max_by_key(|measurement| measurement.at);
            let asked = asked[resource];
            newest.map_or(Span::new(asked, SignedDuration::ZERO), |newest| {
                Span::new(newest.at.min(asked), newest.window)
            })
        });
        Self {
            usage,
            at,
            newest,
            asked,
        }
    }

    /// When the answer for a signal was asked for; `None` for one that this source does not measure.
    pub(super) fn asked(&self, signal: &Signal) -> Option<Timestamp> {
        Some(self.asked[resource_of(signal)?])
    }

    /// The reading of a signal for the Pods of a target; `None` for one of a kind that is not measured
    /// in rounds.
    pub(super) fn samples(
        &self,
        namespace: &str,
        pods: &[Arc<PodFacts>],
        signal: &Signal,
    ) -> Option<SignalSamples> {
        let resource = resource_of(signal)?;
        let measured = pods
            .iter()
            .map(|pod| self.measurement(namespace, &pod.name, resource));
        Some(SignalSamples::PerPod(measured.collect()))
    }

    /// The measurements of the Pods of a target as the HPA's algorithm reads them. One that is older
    /// than `max_age` at `now` tells nothing of now; where all are, it is as an API that does not answer.
    pub(super) fn readings(
        &self,
        namespace: &str,
        pods: &[Arc<PodFacts>],
        now: Timestamp,
        max_age: SignedDuration,
    ) -> Readings {
        let is_fresh = |one: &Measurement| {
            let age = now.duration_since(one.timestamp);
            age <= max_age && -age <= max_age
        };
        let mut is_stale = false;
        let metrics = pods.iter().filter_map(|pod| {
            let measured = REACTED_TO.iter().filter_map(|resource| {
                let measured = self.measurement(namespace, &pod.name, *resource)?;
                is_stale |= !is_fresh(&measured);
                is_fresh(&measured).then(|| (resource.as_str().into(), measured))
            });
            pod_metrics(&pod.name, measured)
        });
        let metrics: Vec<_> = metrics.collect();
        let resource = if metrics.is_empty() && is_stale {
            Err("the newest measurement is too old".to_owned())
        } else {
            Ok(metrics)
        };
        Readings {
            resource,
            ..Readings::default()
        }
    }

    fn measurement(&self, namespace: &str, pod: &str, resource: Resource) -> Option<Measurement> {
        let amount = self.usage.of_pod(namespace, pod, resource)?;
        let general = self.newest[resource];
        let own = self.usage.span_of_pod(namespace, pod);
        Some(Measurement {
            // No answer tells of a time after it was asked for.
            timestamp: own.unwrap_or(general).end().min(self.asked[resource]),
            window: match (resource, own) {
                (Resource::Memory | Resource::Disk, _) | (_, None) => general.window(),
                (_, Some(own)) => own.window(),
            },
            value: thousandths(resource, amount),
        })
    }
}

/// The resources that targets without an HPA are scaled by: cpu, memory, and network I/O by its preset.
const REACTED_TO: [Resource; 3] = [Resource::Cpu, Resource::Memory, Resource::NetworkIo];

/// The measurements of a Pod, as a metrics API returns them. Cpu comes first: only for its window
/// does it matter how long before it the Pod was ready.
fn pod_metrics(
    pod: &str,
    mut measured: impl Iterator<Item = (ResourceName, Measurement)>,
) -> Option<PodMetrics> {
    let (name, first) = measured.next()?;
    let rest = measured.map(|(name, one)| (name, one.value));
    let usage: ResourceRequests = std::iter::once((name, first.value)).chain(rest).collect();
    Some(PodMetrics {
        pod: pod.to_owned(),
        timestamp: first.timestamp,
        window: first.window,
        containers: vec![ContainerMetrics {
            name: String::new(),
            usage,
        }],
    })
}

/// The readings where there is no round of measurements.
pub(super) fn unmeasured() -> Readings {
    Readings {
        resource: Err("there is no measurement".to_owned()),
        ..Readings::default()
    }
}

/// The measured resource of a signal; `None` for signals of a kind that is not measured.
pub fn resource_of(signal: &Signal) -> Option<Resource> {
    let Signal::Resource(name) = signal else {
        return None;
    };
    match name {
        ResourceName::Cpu => Some(Resource::Cpu),
        ResourceName::Memory => Some(Resource::Memory),
        ResourceName::Other(name) => [Resource::NetworkIo, Resource::DiskIo]
            .into_iter()
            .find(|resource| resource.as_str() == &**name),
    }
}

/// An amount in thousandths of the resource's unit; processor time is counted in these already.
fn thousandths(resource: Resource, amount: Amount) -> i64 {
    let factor = if resource == Resource::Cpu { 1 } else { 1000 };
    i64::try_from(amount.get().saturating_mul(factor)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::pod::{PodPhase, ReadyCondition};
    use evenkeel_metrics::signal::{PromQl, ValueScope};
    use evenkeel_metrics::usage;
    use evenkeel_objects::condition::ConditionStatus;
    use evenkeel_objects::pod_name::PodName;

    use super::*;
    use crate::load::observation::TargetObservation;
    use crate::load::serving_pods::ServingPods;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str) -> Arc<PodFacts> {
        Arc::new(PodFacts {
            name: name.to_owned(),
            phase: PodPhase::Running,
            deleted: false,
            start_time: None,
            ready: Some(ReadyCondition {
                status: ConditionStatus::True,
                last_transition_time: at(0),
            }),
            spec: Arc::default(),
        })
    }

    /// Two Pods of a Namespace on two nodes, and one of another.
    fn usage(window: SignedDuration) -> UsageSample {
        let node = |second| {
            let measured = usage::NodeSample {
                value: Amount::new(1),
                at: at(second),
                window,
            };
            Resources::new([Some(measured), None, None, None, None])
        };
        let used = |cpu, memory| {
            let (cpu, memory) = (Amount::new(cpu), Amount::new(memory));
            Resources::new([Some(cpu), Some(memory), None, None, None])
        };
        let mut usage = UsageSample::default();
        usage.insert_node("a", &node(90));
        usage.insert_node("b", &node(80));
        usage.insert_pod(&PodName::new("shop", "web-0"), &used(250, 4096));
        usage.insert_pod(&PodName::new("shop", "web-1"), &used(500, 1024));
        usage.insert_pod(&PodName::new("test", "web-2"), &used(9000, 9000));
        usage
    }

    #[test]
    fn loads_are_sums_over_the_pods_as_old_as_the_newest_node() {
        let window = SignedDuration::from_secs(30);
        let usage = Arc::new(usage(window));
        let sample = ScalingSample::new(Arc::clone(&usage), Resources::default(), at(100));
        let pods = [pod("web-0"), pod("web-1")];
        let queue = Signal::PromQl(PromQl::own("queue"));
        let signals = [Signal::CPU, Signal::MEMORY, queue.clone()];
        let carriers = ServingPods::default();
        let observe = |sample: &ScalingSample| TargetObservation {
            pods: &pods,
            carriers: &carriers,
            replicas: None,
            samples: signals
                .iter()
                .filter_map(|signal| {
                    let samples = sample.samples("shop", &pods, signal)?;
                    Some((signal.clone(), samples))
                })
                .collect(),
        };
        let observation = observe(&sample);
        let cpu = observation.load(&Signal::CPU, ValueScope::Whole).unwrap();
        assert!((cpu.load.sum - 750.0).abs() < 1e-9);
        assert_eq!((cpu.at, cpu.measured, cpu.window), (at(75), at(90), window));
        let memory = observation
            .load(&Signal::MEMORY, ValueScope::Whole)
            .unwrap();
        assert!((memory.load.sum - 5120.0).abs() < 1e-9);
        assert_eq!(memory.measured, at(100), "no node was measured");

        let mut pods_as_of = Resources::default();
        pods_as_of[Resource::Cpu] = Some(at(70));
        pods_as_of[Resource::Memory] = Some(at(75));
        let late = ScalingSample::new(usage, pods_as_of, at(100));
        let observation = observe(&late);
        let measured = |signal| {
            observation
                .load(signal, ValueScope::Whole)
                .unwrap()
                .measured
        };
        assert_eq!(
            (measured(&Signal::CPU), measured(&Signal::MEMORY)),
            (at(70), at(75)),
            "the Pods' answers are older than the nodes'"
        );
        assert_eq!(observation.load(&queue, ValueScope::Whole), None);
    }

    #[test]
    fn a_source_that_dates_each_pod_is_believed() {
        let mut used = Resources::default();
        used[Resource::Cpu] = Some(Amount::new(250));
        used[Resource::Memory] = Some(Amount::new(4096));
        let mut usage = UsageSample::default();
        for (name, end) in [("web-0", 95), ("web-1", 85)] {
            let name = PodName::new("shop", name);
            usage.insert_pod(&name, &used);
            usage.insert_pod_span(&name, Span::new(at(end), SignedDuration::from_secs(20)));
        }
        let sample = ScalingSample::new(Arc::new(usage), Resources::default(), at(100));
        let carriers = ServingPods::default();
        let pods = [pod("web-0"), pod("web-1")];
        let signals = [Signal::CPU, Signal::MEMORY];
        let observation = TargetObservation {
            pods: &pods,
            carriers: &carriers,
            replicas: None,
            samples: signals
                .iter()
                .filter_map(|signal| {
                    let samples = sample.samples("shop", &pods, signal)?;
                    Some((signal.clone(), samples))
                })
                .collect(),
        };
        let times = |signal| {
            let load = observation.load(signal, ValueScope::Whole).unwrap();
            (load.at, load.measured, load.window.as_secs())
        };
        assert_eq!(times(&Signal::CPU), (at(80), at(95), 20));
        assert_eq!(times(&Signal::MEMORY), (at(90), at(95), 0), "it is a gauge");
    }
}
