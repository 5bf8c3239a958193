//! The answer of a metrics API for one signal.

use crate::pod::PodFacts;
use crate::sample::{PodSample, ValueSample};
use std::collections::HashSet;
use std::sync::Arc;

/// The answer of a metrics API for one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsApiReading {
    /// Values of Pods, for a Pods metric.
    Pods(Vec<PodSample>),
    /// The value of an object, for an Object metric.
    Object(ValueSample),
    /// The values of all series that match, for an External metric or a PromQL query.
    Series(Vec<ValueSample>),
}

impl MetricsApiReading {
    /// Keeps of the values of Pods those of `pods`.
    pub fn keep_pods(&mut self, pods: &[Arc<PodFacts>]) {
        let kept = pods.iter().map(|pod| &*pod.name).collect();
        self.keep(&kept);
    }

    pub fn keep(&mut self, kept: &HashSet<&str>) {
        if let Self::Pods(samples) = self {
            samples.retain(|sample| kept.contains(&*sample.pod));
            samples.shrink_to_fit();
        }
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let own = match self {
            Self::Pods(samples) => {
                let names = samples.iter().map(|sample| sample.pod.capacity());
                samples.capacity() * size_of::<PodSample>() + names.sum::<usize>()
            }
            Self::Object(_) => 0,
            Self::Series(samples) => samples.capacity() * size_of::<ValueSample>(),
        };
        size_of::<Self>() + own
    }
}
