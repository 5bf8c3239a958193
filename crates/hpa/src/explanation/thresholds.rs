//! How much more or less of the deciding metric would make the metrics ask for another count. The
//! algorithm itself is asked, with changed readings, until the change is found.

use std::cmp::Reverse;
use std::collections::HashSet;

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::{Measurement, PodSample, ValueSample};
use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use serde::Serialize;

use super::input::HpaDecisionInput;
use super::metric::amount;
use crate::readings::HpaReadingsReader;
use crate::{DecisionTrace, MetricSpec, MetricTrace, PodGroup, Readings};

/// The largest change that is tried, in steps.
const MOST_STEPS: i64 = 1 << 32;

/// The smallest change of the deciding metric with another count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CountThreshold {
    /// For each measured Pod, or of the total; for example `3m`.
    pub change: String,
    /// In thousandths; negative for a fall.
    pub change_milli: i64,
    /// The Pods whose value changes; `None` for a total.
    pub pods: Option<usize>,
    /// The count that the metrics would ask for.
    pub metrics_replicas: i32,
    /// The count that would be decided, after windows, policies and bounds.
    pub decided_replicas: i32,
}

/// The thresholds above and below the decided count; `None` where the metrics ask for such a count
/// already, or no change of the metric leads to one.
pub(super) fn find(
    input: &HpaDecisionInput<'_>,
    trace: &DecisionTrace,
) -> (Option<CountThreshold>, Option<CountThreshold>) {
    let Some(search) = ThresholdSearch::new(input, trace) else {
        return (None, None);
    };
    (search.first(1), search.first(-1))
}

/// The values of the deciding metric that a change applies to.
enum ChangeableValues {
    Pods {
        samples: Vec<PodSample>,
        /// The samples of Pods that count with their measurement.
        counted: Vec<bool>,
    },
    Object(ValueSample),
    Series(Vec<ValueSample>),
}

struct ThresholdSearch<'a> {
    input: &'a HpaDecisionInput<'a>,
    signal: &'a Signal,
    values: ChangeableValues,
    /// Size of a step, in thousandths.
    unit: i64,
    decided: i32,
}

impl<'a> ThresholdSearch<'a> {
    fn new(input: &'a HpaDecisionInput<'a>, trace: &DecisionTrace) -> Option<Self> {
        let position = trace.deciding?;
        let spec = input.hpa.spec.metrics.get(position)?;
        let MetricSpec::Known(signal, Some(target)) = spec else {
            return None;
        };
        Some(Self {
            input,
            signal,
            values: values(input, signal, trace.metrics.get(position)?)?,
            unit: unit(signal, *target),
            decided: trace.replicas?,
        })
    }

    /// The first threshold upwards (1) or downwards (-1).
    fn first(&self, sign: i64) -> Option<CountThreshold> {
        let is_beyond = |steps: i64| {
            let trace = self.decide(sign * steps)?;
            let desired = trace.desired?;
            let beyond = match sign {
                1 => desired > self.decided,
                _ => desired < self.decided,
            };
            beyond.then_some((desired, trace.replicas?))
        };
        if is_beyond(0).is_some() {
            return None;
        }
        let most = if sign > 0 {
            MOST_STEPS
        } else {
            self.steps_to_zero()
        };
        let (mut below, mut above) = (0, 1);
        while is_beyond(above).is_none() {
            if above >= most {
                return None;
            }
            (below, above) = (above, above.saturating_mul(2).min(most));
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if is_beyond(middle).is_some() {
                above = middle;
            } else {
                below = middle;
            }
        }
        let (metrics_replicas, decided_replicas) = is_beyond(above)?;
        let milli = above.saturating_mul(self.unit);
        Some(CountThreshold {
            change: amount(self.signal, milli),
            change_milli: sign * milli,
            pods: self.values.pods(),
            metrics_replicas,
            decided_replicas,
        })
    }

    fn decide(&self, steps: i64) -> Option<DecisionTrace> {
        let change = steps.saturating_mul(self.unit);
        let mut readings: Readings = self.input.observed.readings.clone();
        let changed = self.values.changed(change);
        readings.others.insert(self.signal.clone(), Ok(changed));
        self.input.decide(&readings).trace.map(|trace| *trace)
    }

    /// The steps after which no value is above zero.
    fn steps_to_zero(&self) -> i64 {
        let largest = match &self.values {
            ChangeableValues::Pods { samples, .. } => {
                samples.iter().map(|sample| sample.measurement.value).max()
            }
            ChangeableValues::Object(sample) => Some(sample.value),
            ChangeableValues::Series(samples) => {
                let positive = samples.iter().map(|sample| sample.value.max(0));
                Some(positive.fold(0, i64::saturating_add))
            }
        };
        (largest.unwrap_or(0).max(0) / self.unit).saturating_add(1)
    }
}

impl ChangeableValues {
    fn pods(&self) -> Option<usize> {
        match self {
            Self::Pods { counted, .. } => Some(counted.iter().filter(|counts| **counts).count()),
            Self::Object(_) | Self::Series(_) => None,
        }
    }

    fn changed(&self, by: i64) -> MetricsApiReading {
        match self {
            Self::Pods { samples, counted } => {
                let pairs = samples.iter().zip(counted);
                let change = |(sample, counts): (&PodSample, &bool)| PodSample {
                    pod: sample.pod.clone(),
                    measurement: Measurement {
                        value: moved(sample.measurement.value, if *counts { by } else { 0 }),
                        ..sample.measurement
                    },
                };
                MetricsApiReading::Pods(pairs.map(change).collect())
            }
            Self::Object(sample) => MetricsApiReading::Object(ValueSample {
                value: moved(sample.value, by),
                ..*sample
            }),
            Self::Series(samples) => {
                let mut samples = samples.clone();
                move_sum(&mut samples, by);
                MetricsApiReading::Series(samples)
            }
        }
    }
}

/// Moves the sum of the series, the largest series first; a fall goes on with the next one.
fn move_sum(samples: &mut [ValueSample], by: i64) {
    let mut left = by;
    let mut largest_first: Vec<_> = samples.iter_mut().collect();
    largest_first.sort_by_key(|sample| Reverse(sample.value));
    for sample in largest_first {
        let before = sample.value;
        sample.value = moved(before, left);
        left = left.saturating_sub(sample.value.saturating_sub(before));
    }
}

/// A fall ends at zero; a value below zero stays.
fn moved(value: i64, by: i64) -> i64 {
    let moved = value.saturating_add(by);
    if by < 0 {
        moved.max(value.min(0))
    } else {
        moved
    }
}

fn values(
    input: &HpaDecisionInput<'_>,
    signal: &Signal,
    trace: &MetricTrace,
) -> Option<ChangeableValues> {
    let reader = HpaReadingsReader {
        readings: input.observed.readings,
        namespace: &input.hpa.namespace,
    };
    Some(match signal {
        Signal::Resource(_) | Signal::ContainerResource { .. } | Signal::Pods(_) => {
            let samples = if let Signal::Pods(_) = signal {
                reader.pods(signal).ok()?.to_vec()
            } else {
                let usage = reader.usage(signal).ok()?.by_pod;
                let sample = |(pod, measurement): (&str, &Measurement)| PodSample {
                    pod: pod.to_owned(),
                    measurement: *measurement,
                };
                usage.iter().map(sample).collect()
            };
            let pods = trace.basis.pods.iter();
            let measured = pods.filter(|pod| pod.group == PodGroup::Measured);
            let measured: HashSet<&str> = measured.map(|pod| &*pod.pod).collect();
            let counts = |sample: &PodSample| measured.contains(&*sample.pod);
            let counted = samples.iter().map(counts).collect();
            ChangeableValues::Pods { samples, counted }
        }
        Signal::Object { .. } => ChangeableValues::Object(reader.object(signal).ok()?),
        Signal::External(_) | Signal::PromQl(_) => {
            ChangeableValues::Series(reader.series(signal).ok()?.to_vec())
        }
    })
}

/// One millicore, one KiB, or else about a thousandth of the target.
fn unit(signal: &Signal, target: MetricTarget) -> i64 {
    match (signal.resource(), target) {
        (Some((ResourceName::Memory, _)), _) => 1024 * 1000,
        (Some((ResourceName::Cpu, _)), _) | (_, MetricTarget::Utilization(_)) => 1,
        (_, MetricTarget::AverageValue(milli) | MetricTarget::Value(milli)) => {
            let digits = (milli / 1000).max(1).ilog10();
            10_i64.pow(digits)
        }
    }
}
