//! Metrics of tuning in place.

use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::resizable_pod::ResizePhase;

use crate::telemetry::metric_families::{count, families};

families! {
    pub struct TuningMetrics {
        resizes: Counter[reason] = "tuning_resizes",
            "Outcomes of in-place resizes of Pods, by reason";
        unchanged: Counter[reason] = "tuning_unchanged",
            "Containers that stayed as they are at their turn, by reason";
        pending: Gauge[phase] = "tuning_pending_resizes",
            "In-place resizes that the kubelet has not done yet, by phase";
        workloads: Gauge[mode] = "tuning_workloads",
            "Workloads of opted-in namespaces by tuning mode";
        resized_pods: Gauge = "tuning_resized_pods", "Pods with a record of a resize";
        containers: Gauge = "tuning_containers",
            "Containers in the newest sample of container use";
        failed_samples: Counter = "tuning_failed_samples",
            "Samples of container use that the metrics source did not answer";
    }
}

impl TuningMetrics {
    pub(super) fn sampled(&self, containers: usize) {
        self.containers.set(count(containers));
    }

    pub(super) fn unsampled(&self) {
        self.containers.set(0);
        self.failed_samples.inc();
    }

    pub(super) fn resized(&self, pods: usize, pending: impl Fn(ResizePhase) -> usize) {
        self.resized_pods.set(count(pods));
        for phase in ResizePhase::ALL {
            self.pending(phase.as_str()).set(count(pending(phase)));
        }
    }

    pub(super) fn workloads_by_mode(&self, number: impl Fn(TuningMode) -> usize) {
        for mode in TuningMode::ALL {
            self.workloads(mode.as_str()).set(count(number(mode)));
        }
    }
}
