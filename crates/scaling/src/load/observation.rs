//! An observation of a target: its Pods, and what was measured of each of its signals.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::sample::{Measurement, ValueSample};
use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_units::count_as_f64;
use jiff::{SignedDuration, Timestamp};

use super::serving_pods::ServingPods;
use super::sum;
use super::sum::{Certainty, LoadSum, PodLoad, Windows};

/// The Pods of a target and what was measured of it, at one moment.
#[derive(Debug, Clone)]
pub struct TargetObservation<'a> {
    /// The Pods of the target that have not ended, in no order.
    pub pods: &'a [Arc<PodFacts>],
    /// The Pods that carry load now, and those that did before.
    pub carriers: &'a ServingPods,
    /// The replicas that it is to have, where each of them is one Pod; `None` where that is not known.
    pub replicas: Option<i32>,
    /// The signals that are known, each with its samples.
    pub samples: Vec<(Signal, SignalSamples)>,
}

/// The samples of one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalSamples {
    /// One measurement for each Pod of the observation, in the order of its Pods; `None` for a Pod
    /// that was not measured.
    PerPod(Vec<Option<Measurement>>),
    /// One value for the target as a whole.
    Total(ValueSample),
}

/// The load of a target in one signal, with the time that it is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSample {
    pub load: LoadSum,
    /// The time that the load is of: the centre of the window that it is the mean of.
    pub at: Timestamp,
    /// The end of that window, from which the age of the sample counts.
    pub measured: Timestamp,
    /// The length of the window; zero for a value of one moment.
    pub window: SignedDuration,
}

impl LoadSample {
    /// A load that was the same for all of a moment.
    pub const fn of_moment(sum: f64, at: Timestamp) -> Self {
        Self {
            load: LoadSum {
                sum,
                certainty: Certainty::Certain,
            },
            at,
            measured: at,
            window: SignedDuration::ZERO,
        }
    }
}

impl TargetObservation<'_> {
    /// The load in `signal`; `None` where nothing is known of it, or
    /// no Pod that carries load was measured (see [`sum::over_pods`]). `scope` says what a value for the
    /// target as a whole is the value of.
    pub fn load(&self, signal: &Signal, scope: ValueScope) -> Option<LoadSample> {
        let (_, samples) = self.samples.iter().find(|(of, _)| of == signal)?;
        match samples {
            SignalSamples::PerPod(measurements) => self.sum(signal, measurements),
            SignalSamples::Total(sample) => self.total(signal, scope, *sample),
        }
    }

    /// The sum over the Pods, for the mean of the times at which those that count were measured.
    fn sum(&self, signal: &Signal, measurements: &[Option<Measurement>]) -> Option<LoadSample> {
        let pods = || self.pods.iter().zip(measurements);
        let carrying = pods().filter(|(pod, _)| pod.carries_since().is_some());
        let carrying = carrying.filter_map(|(_, measured)| measured.as_ref());
        let windows = Windows::of(carrying.clone())?;
        let mut centres = MeanTime::new(windows.end);
        let mut carried = Vec::new();
        let loads = pods().map(|(pod, measured)| {
            let load = PodLoad::of(pod, signal, measured.as_ref(), windows);
            if let (PodLoad::Carried(value), Some(measured)) = (load, measured) {
                centres.add(measured.centre());
                carried.push(value);
            }
            load
        });
        let ceased = self.carriers.ceased_since(windows.start);
        let load = sum::over_pods(loads, ceased)?;
        let replicas = self.replicas.and_then(|count| usize::try_from(count).ok());
        let load = replicas.map_or(load, |replicas| {
            load.of_replicas(carried, replicas, signal.is_conserved())
        });
        Some(LoadSample {
            load,
            at: centres.mean(),
            measured: windows.end,
            window: carrying.map(|one| one.window).max().unwrap_or_default(),
        })
    }

    /// The load that follows from one value for the whole target. Without a ready Pod, a value for
    /// each Pod describes no Pod.
    fn total(&self, signal: &Signal, scope: ValueScope, sample: ValueSample) -> Option<LoadSample> {
        let value = sum::in_base_unit(signal, sample.value);
        let times = match scope {
            ValueScope::Whole => 1.0,
            ValueScope::EachPod => match self.pods.iter().filter(|pod| pod.serves()).count() {
                0 => return None,
                ready => count_as_f64(ready),
            },
        };
        Some(LoadSample::of_moment(value * times, sample.timestamp))
    }
}

impl SignalSamples {
    /// The samples in an answer of a metrics API, for these Pods. Series of one signal add up; what is
    /// below zero together counts as 0 where the load is taken. `None` for an answer without a value.
    pub fn of(reading: &MetricsApiReading, pods: &[Arc<PodFacts>]) -> Option<Self> {
        Some(match reading {
            MetricsApiReading::Pods(samples) => {
                let by_name = samples.iter().map(|one| (&*one.pod, one.measurement));
                let by_name: HashMap<&str, Measurement> = by_name.collect();
                let of = |pod: &Arc<PodFacts>| by_name.get(&*pod.name).copied();
                Self::PerPod(pods.iter().map(of).collect())
            }
            MetricsApiReading::Object(sample) => Self::Total(*sample),
            MetricsApiReading::Series(samples) => Self::Total(ValueSample {
                timestamp: samples.iter().map(|one| one.timestamp).max()?,
                value: samples
                    .iter()
                    .fold(0, |sum: i64, one| sum.saturating_add(one.value)),
            }),
        })
    }
}

/// The mean of times that lie near one.
struct MeanTime {
    near: Timestamp,
    distances: SignedDuration,
    count: i32,
}

impl MeanTime {
    const fn new(near: Timestamp) -> Self {
        Self {
            near,
            distances: SignedDuration::ZERO,
            count: 0,
        }
    }

    fn add(&mut self, time: Timestamp) {
        let distance = time.duration_since(self.near);
        self.distances = self.distances.saturating_add(distance);
        self.count = self.count.saturating_add(1);
    }

    fn mean(&self) -> Timestamp {
        let mean = self.distances / self.count.max(1);
        self.near.checked_add(mean).unwrap_or(self.near)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::pod::{PodPhase, ReadyCondition};
    use evenkeel_metrics::sample::PodSample;
    use evenkeel_metrics::signal::{MetricIdentifier, PromQl};
    use evenkeel_objects::condition::ConditionStatus;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str, ready: bool) -> Arc<PodFacts> {
        Arc::new(PodFacts {
            name: name.to_owned(),
            phase: PodPhase::Running,
            deleted: false,
            start_time: Some(at(0)),
            ready: Some(ReadyCondition {
                status: ConditionStatus::from(ready),
                last_transition_time: at(0),
            }),
            spec: Arc::default(),
        })
    }

    fn measured(second: i64, value: i64) -> Measurement {
        Measurement {
            timestamp: at(second),
            window: SignedDuration::from_secs(30),
            value,
        }
    }

    #[test]
    fn the_load_of_each_signal_is_that_of_its_samples() {
        let pods = [pod("a", true), pod("b", true), pod("c", false)];
        let cpu = vec![Some(measured(1007, 250)), Some(measured(1009, 750)), None];
        let memory = vec![Some(measured(1009, 4_096_000)), None, None];
        let queue = Signal::External(MetricIdentifier::named("queue"));
        let carriers = ServingPods::default();
        let observation = TargetObservation {
            pods: &pods,
            carriers: &carriers,
            replicas: None,
            samples: vec![
                (Signal::CPU, SignalSamples::PerPod(cpu)),
                (Signal::MEMORY, SignalSamples::PerPod(memory)),
                (
                    queue.clone(),
                    SignalSamples::Total(ValueSample {
                        timestamp: at(1005),
                        value: 12_500,
                    }),
                ),
            ],
        };
        let load = |signal: &Signal| {
            observation
                .load(signal, ValueScope::Whole)
                .map(|load| (load.load.sum, load.at, load.measured))
        };
        // The centres are at 992 and 994 seconds.
        assert_eq!(load(&Signal::CPU), Some((1000.0, at(993), at(1009))));
        assert_eq!(load(&Signal::MEMORY), Some((4096.0, at(994), at(1009))));
        assert_eq!(load(&queue), Some((12.5, at(1005), at(1005))));
        assert_eq!(load(&Signal::PromQl(PromQl::own("up"))), None);
        let certainty = |signal: &Signal| {
            let load = observation.load(signal, ValueScope::Whole);
            load.unwrap().load.certainty
        };
        assert_eq!(certainty(&Signal::CPU), Certainty::Certain);
        assert_eq!(
            certainty(&Signal::MEMORY),
            Certainty::Estimated,
            "one is not measured"
        );
    }

    #[test]
    fn an_answer_of_an_api_gives_each_pod_its_own_and_adds_series_up() {
        let pods = [pod("a", true), pod("b", true)];
        let of_pod = |pod: &str, value| PodSample {
            pod: pod.to_owned(),
            measurement: measured(7, value),
        };
        let answer = MetricsApiReading::Pods(vec![of_pod("b", 2), of_pod("gone", 3)]);
        let per_pod = SignalSamples::PerPod(vec![None, Some(measured(7, 2))]);
        assert_eq!(SignalSamples::of(&answer, &pods), Some(per_pod));
        let series = |values: &[(i64, i64)]| {
            let value = |&(second, value): &(i64, i64)| ValueSample {
                timestamp: at(second),
                value,
            };
            SignalSamples::of(
                &MetricsApiReading::Series(values.iter().map(value).collect()),
                &pods,
            )
        };
        let total = |second, value| {
            let timestamp = at(second);
            Some(SignalSamples::Total(ValueSample { timestamp, value }))
        };
        assert_eq!(series(&[(5, 2_000), (4, -500)]), total(5, 1_500));
        assert_eq!(series(&[(5, i64::MAX), (4, 1)]), total(5, i64::MAX));
        assert_eq!(series(&[]), None, "nothing is no zero");
    }

    #[test]
    fn a_value_for_each_pod_is_the_load_of_the_ready_ones() {
        let latency = Signal::External(MetricIdentifier::named("latency"));
        let total = |value| {
            let timestamp = at(5);
            (
                latency.clone(),
                SignalSamples::Total(ValueSample { timestamp, value }),
            )
        };
        for (pods, value, whole, each) in [
            (
                vec![pod("a", true), pod("b", true), pod("c", false)],
                500,
                Some(0.5),
                Some(1.0),
            ),
            (vec![pod("a", false)], 500, Some(0.5), None),
            (vec![pod("a", true)], -500, Some(0.0), Some(0.0)),
        ] {
            let observation = TargetObservation {
                pods: &pods,
                carriers: &ServingPods::default(),
                replicas: None,
                samples: vec![total(value)],
            };
            let load = |scope| {
                let load = observation.load(&latency, scope);
                load.map(|load| load.load.sum)
            };
            assert_eq!(load(ValueScope::Whole), whole);
            assert_eq!(load(ValueScope::EachPod), each);
        }
    }
}
