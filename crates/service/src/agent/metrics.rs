//! Metrics of the agent's own work; what it measures of the node is in [`super::figures`].

use std::sync::Arc;

use evenkeel_disk_io::node_pod::NodePod;

use super::limit_events::DiskLimitEvent;
use crate::telemetry::metric_families::{count, families};

families! {
    pub(crate) struct AgentMetrics {
        limited: Gauge = "disk_io_limited_pods", "Pods of the node whose limit of disk I/O is set";
        unlimited: Gauge[reason] = "disk_io_unlimited_pods",
            "Pods of the node that ask for a limit of disk I/O which is not set, by reason";
        failures: Counter = "disk_io_limit_failures",
            "Limits of disk I/O that could not be set or removed; they are tried again";
    }
}

impl AgentMetrics {
    pub(super) fn passed(
        &self,
        limited: usize,
        failures: usize,
        notices: &[(Arc<NodePod>, DiskLimitEvent)],
    ) {
        self.limited.set(count(limited));
        self.failures
            .inc_by(u64::try_from(failures).unwrap_or(u64::MAX));
        self.unlimited.clear();
        for (_, notice) in notices {
            if !matches!(notice, DiskLimitEvent::Limited { .. }) {
                self.unlimited(notice.reason()).inc();
            }
        }
    }
}
