//! Connections, and those that did not come about.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::common_metrics::{ConnectionFailureLabel, GaugeGuard};
use crate::telemetry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerLabel {
    listener: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerReasonLabel {
    listener: &'static str,
    reason: &'static str,
}

/// The reason of a handshake that the client broke off, since it does not trust the certificate.
pub(in crate::server) const CERTIFICATE_REFUSED: &str = "CertificateRefused";

#[derive(Debug, Clone, Default)]
pub(in crate::server) struct ConnectionMetrics {
    open: Family<ListenerLabel, Gauge>,
    accept_failures: Family<ListenerLabel, Counter>,
    closed: Family<ListenerReasonLabel, Counter>,
    handshake_failures: Family<ConnectionFailureLabel, Counter>,
}

impl ConnectionMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let Self {
            open,
            accept_failures,
            closed,
            handshake_failures,
        } = self.clone();
        // An alert rule looks for its increase, and there is none of a counter that begins at 1.
        drop(handshake_failures.get_or_create(&ConnectionFailureLabel {
            reason: CERTIFICATE_REFUSED,
        }));
        registry.register("http_connections", "Open connections", open);
        registry.register(
            "http_accept_failures",
            "Connections that could not be accepted",
            accept_failures,
        );
        registry.register(
            "http_connections_closed",
            "Connections closed by the service without notice in an answer, by reason",
            closed,
        );
        registry.register(
            "tls_handshake_failures",
            "TLS handshakes that failed",
            handshake_failures,
        );
    }

    /// Counts a connection as open until the guard is dropped.
    pub(crate) fn open(&self, listener: &'static str) -> GaugeGuard {
        GaugeGuard::new(self.open.get_or_create_owned(&ListenerLabel { listener }))
    }

    pub(crate) fn accept_failed(&self, listener: &'static str) {
        self.accept_failures
            .get_or_create(&ListenerLabel { listener })
            .inc();
    }

    pub(crate) fn closed(&self, listener: &'static str, reason: &'static str) {
        self.closed
            .get_or_create(&ListenerReasonLabel { listener, reason })
            .inc();
    }

    pub(crate) fn handshake_failed(&self, reason: &'static str) {
        self.handshake_failures
            .get_or_create(&ConnectionFailureLabel { reason })
            .inc();
    }
}
