//! What the listeners count, in three groups: requests by path, connections, certificates.

mod certificates;
mod connections;
mod requests;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

pub(crate) use certificates::CertificateMetrics;
pub(super) use connections::ConnectionMetrics;
pub(super) use requests::PathMetrics;
use requests::RequestMetrics;

use crate::telemetry::Registry;

/// The metrics of all listeners; a clone counts in the same places.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    requests: RequestMetrics,
    connections: ConnectionMetrics,
    certificates: CertificateMetrics,
}

impl Metrics {
    /// Puts the metrics into `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let Self {
            requests,
            connections,
            certificates,
        } = self;
        requests.register(registry);
        connections.register(registry);
        certificates.register(registry);
    }

    /// The handles of one path.
    pub(super) fn path(&self, path: &'static str) -> PathMetrics {
        self.requests.path(path)
    }

    /// What is counted of connections.
    pub(super) const fn connections(&self) -> &ConnectionMetrics {
        &self.connections
    }

    /// What is counted of certificates.
    pub(crate) const fn certificates(&self) -> &CertificateMetrics {
        &self.certificates
    }

    /// What the bodies of requests hold of their budget, in bytes.
    pub(super) fn body_room_held(&self) -> Gauge {
        self.requests.body_room_held.clone()
    }

    /// Requests for whose bodies there was no room.
    pub(super) fn body_room_refused(&self) -> Counter {
        self.requests.body_room_refused.clone()
    }

    /// Counts an attempt to take new certificates into use that kept the old ones.
    pub fn certificate_reload_failed(&self, reason: &'static str) {
        self.certificates.reload_failed(reason);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

/// Something that is counted while it lasts.
#[derive(Debug)]
pub(super) struct Open(Gauge);

impl Open {
    fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
