//! An observation of a target: its Pods, and the readings of every signal by every source.
//!
//! Sources are a list: for each signal the first source that could tell counts, and those that could
//! not say why. A further source, or a further kind of signal, is one more reading.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::carriers::Carriers;
use super::pod::PodFacts;
use super::sample::{Measurement, ValueSample};
use super::signal::Signal;
use super::sum::{self, Certainty, Load, PodLoad, Windows};

/// The Pods of a target and what was measured of it, at one moment.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    /// The Pods of the target that have not ended, in no order.
    pub pods: &'a [Arc<PodFacts>],
    /// Which of them carry load, and who did before.
    pub carriers: &'a Carriers,
    /// The readings, those of preferred sources first.
    pub readings: Vec<SourceReading>,
}

/// The answer of one source for one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReading {
    /// The name of the source, such as `prometheus` or `metrics-api`.
    pub source: &'static str,
    pub signal: Signal,
    /// The samples, or the reason why there are none.
    pub samples: Result<Samples, Unavailable>,
}

/// The samples of one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Samples {
    /// One measurement for each Pod of the observation, in the order of its Pods; `None` for a Pod
    /// that was not measured.
    PerPod(Vec<Option<Measurement>>),
    /// One value for the target as a whole.
    Total(ValueSample),
}

/// Why a source had no samples of a signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unavailable {
    /// The reason, from a closed set of the source.
    pub reason: &'static str,
    /// The reason in words.
    pub message: String,
}

/// The load of a target in one signal, with the time that it is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSample {
    pub load: Load,
    /// The time that the load is of: the centre of the window that it is the mean of.
    pub at: Timestamp,
    /// The end of that window, from which the age of the sample counts.
    pub measured: Timestamp,
    /// The length of the window; zero for a value of one moment.
    pub window: SignedDuration,
}

impl LoadSample {
    /// A load that was the same for all of a moment.
    #[must_use]
    pub const fn of_moment(sum: f64, at: Timestamp) -> Self {
        Self {
            load: Load {
                sum,
                certainty: Certainty::Certain,
            },
            at,
            measured: at,
            window: SignedDuration::ZERO,
        }
    }
}

impl Observation<'_> {
    /// The load in `signal`, from the first source that knows it; `None` where no source does, or
    /// no Pod that carries load was measured (see [`sum::over_pods`]).
    pub fn load(&self, signal: &Signal) -> Option<LoadSample> {
        let of_signal = self.readings.iter().filter(|one| one.signal == *signal);
        let mut samples = of_signal.filter_map(|one| one.samples.as_ref().ok());
        samples.find_map(|samples| match samples {
            Samples::PerPod(measurements) => self.sum(signal, measurements),
            Samples::Total(sample) => {
                let value = sum::in_base_unit(signal, sample.value);
                Some(LoadSample::of_moment(value, sample.timestamp))
            }
        })
    }

    /// The sum over the Pods, for the mean of the times at which those that count were measured.
    fn sum(&self, signal: &Signal, measurements: &[Option<Measurement>]) -> Option<LoadSample> {
        let pods = || self.pods.iter().zip(measurements);
        let carrying = pods().filter(|(pod, _)| pod.carries_since().is_some());
        let carrying = carrying.filter_map(|(_, measured)| measured.as_ref());
        let windows = Windows::of(carrying.clone())?;
        let mut centres = MeanTime::new(windows.end);
        let loads = pods().map(|(pod, measured)| {
            let load = PodLoad::of(pod, signal, measured.as_ref(), windows);
            if let (PodLoad::Carried(_), Some(measured)) = (load, measured) {
                centres.add(measured.centre());
            }
            load
        });
        let ceased = self.carriers.ceased_since(windows.start);
        Some(LoadSample {
            load: sum::over_pods(loads, ceased)?,
            at: centres.mean(),
            measured: windows.end,
            window: carrying.map(|one| one.window).max().unwrap_or_default(),
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
    use super::*;
    use crate::scaling::pod::{ConditionStatus, PodPhase, ReadyCondition, Requests};
    use crate::scaling::signal::MetricIdentifier;

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
            containers: Vec::new(),
            init_containers: Vec::new(),
            pod_requests: Requests::default(),
            overhead: Requests::default(),
        })
    }

    fn measured(second: i64, value: i64) -> Measurement {
        Measurement {
            timestamp: at(second),
            window: SignedDuration::from_secs(30),
            value,
        }
    }

    fn reading(signal: Signal, samples: Samples) -> SourceReading {
        SourceReading {
            source: "test",
            signal,
            samples: Ok(samples),
        }
    }

    #[test]
    fn the_first_source_that_knows_a_signal_counts() {
        let pods = [pod("a", true), pod("b", true), pod("c", false)];
        let down = SourceReading {
            source: "metrics-api",
            signal: Signal::CPU,
            samples: Err(Unavailable {
                reason: "Timeout",
                message: "no answer".to_owned(),
            }),
        };
        let cpu = vec![Some(measured(1007, 250)), Some(measured(1009, 750)), None];
        let memory = vec![Some(measured(1009, 4_096_000)), None, None];
        let queue = Signal::External(MetricIdentifier::named("queue"));
        let carriers = Carriers::default();
        let observation = Observation {
            pods: &pods,
            carriers: &carriers,
            readings: vec![
                down,
                reading(Signal::CPU, Samples::PerPod(cpu)),
                reading(
                    Signal::CPU,
                    Samples::PerPod(vec![Some(measured(1009, 1)); 3]),
                ),
                reading(Signal::MEMORY, Samples::PerPod(memory)),
                reading(
                    queue.clone(),
                    Samples::Total(ValueSample {
                        timestamp: at(1005),
                        value: 12_500,
                    }),
                ),
            ],
        };
        let load = |signal: &Signal| {
            observation
                .load(signal)
                .map(|load| (load.load.sum, load.at, load.measured))
        };
        // The centres are at 992 and 994 seconds.
        assert_eq!(load(&Signal::CPU), Some((1000.0, at(993), at(1009))));
        assert_eq!(load(&Signal::MEMORY), Some((4096.0, at(994), at(1009))));
        assert_eq!(load(&queue), Some((12.5, at(1005), at(1005))));
        assert_eq!(load(&Signal::PromQl("up".to_owned())), None);
        let certainty = |signal: &Signal| observation.load(signal).unwrap().load.certainty;
        assert_eq!(certainty(&Signal::CPU), Certainty::Certain);
        assert_eq!(
            certainty(&Signal::MEMORY),
            Certainty::Estimated,
            "one is not measured"
        );
    }
}
