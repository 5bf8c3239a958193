//! Metrics of tuning in place.

use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::resizable_pod::ResizePhase;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResizeReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResizePhaseLabel {
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMode {
    mode: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct TuningMetrics {
    resizes: Family<ResizeReasonLabel, Counter>,
    unchanged: Family<ResizeReasonLabel, Counter>,
    pending: Family<ResizePhaseLabel, Gauge>,
    workloads: Family<OfMode, Gauge>,
    resized_pods: Gauge,
    containers: Gauge,
    failed_samples: Counter,
}

impl TuningMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "tuning_resizes",
            "Outcomes of in-place resizes of Pods, by reason",
            self.resizes.clone(),
        );
        registry.register(
            "tuning_unchanged",
            "Containers that stayed as they are at their turn, by reason",
            self.unchanged.clone(),
        );
        registry.register(
            "tuning_pending_resizes",
            "In-place resizes that the kubelet has not done yet, by phase",
            self.pending.clone(),
        );
        registry.register(
            "tuning_workloads",
            "Workloads of opted-in namespaces by tuning mode",
            self.workloads.clone(),
        );
        registry.register(
            "tuning_resized_pods",
            "Pods with a record of a resize",
            self.resized_pods.clone(),
        );
        registry.register(
            "tuning_containers",
            "Containers in the newest sample of container use",
            self.containers.clone(),
        );
        registry.register(
            "tuning_failed_samples",
            "Samples of container use that the metrics source did not answer",
            self.failed_samples.clone(),
        );
    }

    pub(super) fn told(&self, reason: &'static str) {
        self.resizes
            .get_or_create(&ResizeReasonLabel { reason })
            .inc();
    }

    pub(super) fn unchanged(&self, reason: &'static str) {
        self.unchanged
            .get_or_create(&ResizeReasonLabel { reason })
            .inc();
    }

    pub(super) fn sampled(&self, containers: usize) {
        self.containers.set(gauge(containers));
    }

    pub(super) fn unsampled(&self) {
        self.containers.set(0);
        self.failed_samples.inc();
    }

    pub(super) fn resized(&self, pods: usize, pending: impl Fn(ResizePhase) -> usize) {
        self.resized_pods.set(gauge(pods));
        for phase in ResizePhase::ALL {
            let labels = ResizePhaseLabel {
                phase: phase.as_str(),
            };
            self.pending
                .get_or_create(&labels)
                .set(gauge(pending(phase)));
        }
    }

    pub(super) fn workloads(&self, number: impl Fn(TuningMode) -> usize) {
        for mode in TuningMode::ALL {
            let labels = OfMode {
                mode: mode.as_str(),
            };
            self.workloads
                .get_or_create(&labels)
                .set(gauge(number(mode)));
        }
    }
}

fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
