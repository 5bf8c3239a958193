//! Counters of the listeners, in three groups: requests by path, connections, certificates.

mod certificates;
mod common_metrics;
mod connections;
mod requests;

pub(crate) use certificates::CertificateMetrics;
pub(super) use common_metrics::GaugeGuard;
pub(super) use connections::{CERTIFICATE_REFUSED, ConnectionMetrics};
use requests::RequestMetrics;
pub(super) use requests::{PathMetrics, RoomMetrics};

use crate::telemetry::Registry;

#[derive(Debug, Clone, Default)]
pub struct ListenerMetrics {
    requests: RequestMetrics,
    connections: ConnectionMetrics,
    certificates: CertificateMetrics,
}

impl ListenerMetrics {
    /// Puts the metrics into `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let Self {
            requests,
            connections,
            certificates,
        } = self;
        requests.register(registry);
        connections.register(registry);
        // An alert rule looks for its increase, and there is none of a counter that begins at 1.
        drop(connections.handshake_failures(CERTIFICATE_REFUSED));
        certificates.register(registry);
    }

    pub(super) fn path(&self, path: &'static str) -> PathMetrics {
        self.requests.path(path)
    }

    pub(super) const fn connections(&self) -> &ConnectionMetrics {
        &self.connections
    }

    pub(crate) const fn certificates(&self) -> &CertificateMetrics {
        &self.certificates
    }

    pub(super) fn room(&self, caller: &'static str) -> RoomMetrics {
        self.requests.room(caller)
    }

    /// Counts an attempt to take new certificates into use that kept the old ones.
    pub(crate) fn certificate_reload_failed(&self, reason: &'static str) {
        self.certificates.reload_failures(reason).inc();
    }
}
