//! Metrics of the agent's own work; what it measures of the node is in [`super::figures`].

use std::sync::Arc;

use evenkeel_disk_io::node_pod::NodePod;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::limit_events::DiskLimitEvent;
use crate::telemetry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnlimitedReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct AgentMetrics {
    limited: Gauge,
    unlimited: Family<UnlimitedReasonLabel, Gauge>,
    failures: Counter,
}

impl AgentMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "disk_io_limited_pods",
            "Pods of the node whose limit of disk I/O is set",
            self.limited.clone(),
        );
        registry.register(
            "disk_io_unlimited_pods",
            "Pods of the node that ask for a limit of disk I/O which is not set, by reason",
            self.unlimited.clone(),
        );
        registry.register(
            "disk_io_limit_failures",
            "Limits of disk I/O that could not be set or removed; they are tried again",
            self.failures.clone(),
        );
    }

    pub(super) fn passed(
        &self,
        limited: usize,
        failures: usize,
        notices: &[(Arc<NodePod>, DiskLimitEvent)],
    ) {
        self.limited.set(i64::try_from(limited).unwrap_or(i64::MAX));
        self.failures
            .inc_by(u64::try_from(failures).unwrap_or(u64::MAX));
        self.unlimited.clear();
        for (_, notice) in notices {
            if !matches!(notice, DiskLimitEvent::Limited { .. }) {
                let reason = notice.reason();
                self.unlimited
                    .get_or_create(&UnlimitedReasonLabel { reason })
                    .inc();
            }
        }
    }
}
