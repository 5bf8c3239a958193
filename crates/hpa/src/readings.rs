//! The measurements of the signals of one HPA.

use std::collections::{BTreeMap, HashSet};

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metrics_api::MetricsApi;
use evenkeel_metrics::sample::{Measurement, PodMetrics, PodSample, ValueSample};
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::error::{ReadError, ReplicasError};
use super::pod_values::ByPod;

/// The answers of the metrics APIs for the selector of the target. An error is the text of the
/// client's error, without the words that Kubernetes puts before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    /// By container, for Resource and ContainerResource metrics.
    pub resource: Result<Vec<PodMetrics>, String>,
    /// For other signals, and for resource signals with a query of their own, such as those of one
    /// container.
    pub others: BTreeMap<Signal, Result<MetricsApiReading, String>>,
}

impl Readings {
    /// Drops measurements of other Pods.
    pub fn keep_pods<'p>(&mut self, names: impl IntoIterator<Item = &'p str>) {
        let kept: HashSet<&str> = names.into_iter().collect();
        if let Ok(metrics) = &mut self.resource {
            metrics.retain(|pod| kept.contains(&*pod.pod));
        }
        for reading in self.others.values_mut().flatten() {
            reading.keep(&kept);
        }
    }

    /// The first begin and the first end of the windows of a signal's measurements.
    pub fn times(&self, signal: &Signal) -> Option<(Timestamp, Timestamp)> {
        let of_pods = |measurements: &mut dyn Iterator<Item = Measurement>| {
            let times = measurements.map(|one| (one.start(), one.timestamp));
            times.reduce(|(start, end), next| (start.min(next.0), end.min(next.1)))
        };
        let Some(reading) = self.others.get(signal) else {
            let (resource, container) = signal.resource()?;
            let metrics = self.resource.as_ref().ok()?;
            let measured = metrics.iter();
            return of_pods(&mut measured.filter_map(|pod| pod.measurement(resource, container)));
        };
        match reading.as_ref().ok()? {
            MetricsApiReading::Pods(samples) => {
                of_pods(&mut samples.iter().map(|sample| sample.measurement))
            }
            MetricsApiReading::Object(sample) => Some((sample.timestamp, sample.timestamp)),
            MetricsApiReading::Series(samples) => {
                let first = samples.iter().map(|sample| sample.timestamp).min()?;
                Some((first, first))
            }
        }
    }

    /// Replaces every answer by the error `why`.
    pub fn withhold(&mut self, why: &str) {
        self.resource = Err(why.to_owned());
        for answer in self.others.values_mut() {
            *answer = Err(why.to_owned());
        }
    }
}

impl Default for Readings {
    fn default() -> Self {
        Self {
            resource: Ok(Vec::new()),
            others: BTreeMap::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct PodUsage<'a> {
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) by_pod: ByPod<'a, Measurement>,
}

/// With the namespace, for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HpaReadingsReader<'a> {
    pub(crate) readings: &'a Readings,
    pub(crate) namespace: &'a str,
}

impl<'a> HpaReadingsReader<'a> {
    pub(crate) fn usage(self, signal: &Signal) -> Result<PodUsage<'a>, ReplicasError> {
        if self.readings.others.contains_key(signal) {
            let samples = self.pods(signal)?;
            let by_pod = samples.iter();
            let by_pod = by_pod.map(|sample| (sample.pod.as_str(), sample.measurement));
            return Ok(PodUsage {
                timestamp: samples.first().map(|sample| sample.measurement.timestamp),
                by_pod: by_pod.collect(),
            });
        }
        let metrics = self.resource(signal)?;
        let Some((resource, container)) = signal.resource() else {
            return Err(ReplicasError::no_target(signal));
        };
        let measured = metrics.iter().filter_map(|pod| {
            let measurement = pod.measurement(resource, container)?;
            Some((pod.pod.as_str(), measurement))
        });
        Ok(PodUsage {
            timestamp: metrics.first().map(|pod| pod.timestamp),
            by_pod: measured.collect(),
        })
    }

    fn resource(self, signal: &Signal) -> Result<&'a [PodMetrics], ReplicasError> {
        match &self.readings.resource {
            Ok(metrics) if metrics.is_empty() => Err(self.empty(signal)),
            Ok(metrics) => Ok(metrics),
            Err(error) => Err(self.failed(signal, error)),
        }
    }

    pub(crate) fn pods(self, signal: &Signal) -> Result<&'a [PodSample], ReplicasError> {
        match self.other(signal)? {
            Some(MetricsApiReading::Pods(samples)) if !samples.is_empty() => Ok(samples),
            _ => Err(self.empty(signal)),
        }
    }

    pub(crate) fn object(self, signal: &Signal) -> Result<ValueSample, ReplicasError> {
        match self.other(signal)? {
            Some(MetricsApiReading::Object(sample)) => Ok(*sample),
            _ => Err(self.empty(signal)),
        }
    }

    pub(crate) fn series(self, signal: &Signal) -> Result<&'a [ValueSample], ReplicasError> {
        match self.other(signal)? {
            Some(MetricsApiReading::Series(samples)) if !samples.is_empty() => Ok(samples),
            _ => Err(self.empty(signal)),
        }
    }

    fn other(self, signal: &Signal) -> Result<Option<&'a MetricsApiReading>, ReplicasError> {
        match self.readings.others.get(signal) {
            Some(Ok(reading)) => Ok(Some(reading)),
            Some(Err(error)) => Err(self.failed(signal, error)),
            None => Ok(None),
        }
    }

    fn empty(self, signal: &Signal) -> ReplicasError {
        self.unread(signal, ReadError::Empty(MetricsApi::of(signal)))
    }

    fn failed(self, signal: &Signal, error: &str) -> ReplicasError {
        let error = ReadError::Fetch {
            api: MetricsApi::of(signal),
            error: error.to_owned(),
        };
        self.unread(signal, error)
    }

    fn unread(self, signal: &Signal, error: ReadError) -> ReplicasError {
        ReplicasError::Unread {
            signal: Box::new(signal.clone()),
            namespace: self.namespace.to_owned(),
            error,
        }
    }
}
