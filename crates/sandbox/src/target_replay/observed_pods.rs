//! The Pods of one side as HPA and service saw them last.

use std::sync::Arc;

use evenkeel_hpa::Readings;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::{PodFacts, PodSpecFacts};
use evenkeel_metrics::sample::{Measurement, PodSample};
use evenkeel_metrics::signal::Signal;
use jiff::SignedDuration;

use crate::autoscaler;
use crate::autoscaler::Life;

/// As of the last tick, with measurements. Most Pods are unchanged since the tick before, so only
/// changed ones are made anew.
pub(super) struct ObservedPodSet {
    signal: Signal,
    shown: Vec<ObservedPodState>,
    /// In the form for the HPA.
    pub(super) facts: Vec<PodFacts>,
    /// In the form for sums.
    pub(super) shared: Vec<Arc<PodFacts>>,
    pub(super) measured: Vec<Option<Measurement>>,
    /// In the form for the HPA.
    pub(super) readings: Readings,
}

/// The parts of a Pod that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObservedPodState {
    pub(super) batch: u32,
    pub(super) number: i32,
    pub(super) life: Life,
    pub(super) is_ready: bool,
    pub(super) is_deleted: bool,
}

impl ObservedPodSet {
    pub(super) fn of(signal: Signal) -> Self {
        Self {
            signal,
            shown: Vec::new(),
            facts: Vec::new(),
            shared: Vec::new(),
            measured: Vec::new(),
            readings: Readings::default(),
        }
    }

    pub(super) fn show(
        &mut self,
        place: usize,
        shown: ObservedPodState,
        spec: &Arc<PodSpecFacts>,
        at: SignedDuration,
    ) {
        if self.shown.get(place) == Some(&shown) {
            return;
        }
        let ObservedPodState {
            batch,
            number,
            life,
            is_ready: _,
            is_deleted,
        } = shown;
        // Names in the order of creation, in which the HPA looks them up.
        let name = format!("{batch:08}-{number:06}");
        let pod = PodFacts {
            deleted: is_deleted,
            ..autoscaler::pod(name, Some(life), spec, at)
        };
        // The Pods from this place on have moved, if they still exist.
        self.truncate(place);
        self.shown.push(shown);
        self.shared.push(Arc::new(pod.clone()));
        self.facts.push(pod);
    }

    /// There are no more Pods than these measurements.
    pub(super) fn keep(&mut self, measured: Vec<Option<Measurement>>) {
        self.truncate(measured.len());
        self.measured = measured;
        self.read();
    }

    /// Stores the measurements for the HPA, each over the Pod's earlier one.
    fn read(&mut self) {
        let answer = self.readings.others.remove(&self.signal);
        let mut samples = match answer {
            Some(Ok(MetricsApiReading::Pods(samples))) => samples,
            _ => Vec::new(),
        };
        let mut read = 0;
        for (pod, measured) in self.facts.iter().zip(&self.measured) {
            let Some(measurement) = *measured else {
                continue;
            };
            match samples.get_mut(read) {
                Some(sample) if sample.pod == pod.name => sample.measurement = measurement,
                _ => {
                    samples.truncate(read);
                    samples.push(PodSample {
                        pod: pod.name.clone(),
                        measurement,
                    });
                }
            }
            read += 1;
        }
        samples.truncate(read);
        let answer = Ok(MetricsApiReading::Pods(samples));
        self.readings.others.insert(self.signal.clone(), answer);
    }

    fn truncate(&mut self, pods: usize) {
        self.shown.truncate(pods);
        self.facts.truncate(pods);
        self.shared.truncate(pods);
    }
}
