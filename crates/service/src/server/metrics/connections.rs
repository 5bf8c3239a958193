//! Connections, and those that did not come about.

use super::common_metrics::GaugeGuard;
use crate::telemetry::metric_families::families;

/// The reason of a handshake that the client broke off, since it does not trust the certificate.
pub(in crate::server) const CERTIFICATE_REFUSED: &str = "CertificateRefused";

families! {
    pub(in crate::server) struct ConnectionMetrics {
        connections: Gauge[listener] = "http_connections", "Open connections";
        accept_failures: Counter[listener] = "http_accept_failures",
            "Connections that could not be accepted";
        closed: Counter[listener, reason] = "http_connections_closed",
            "Connections closed by the service without notice in an answer, by reason";
        handshake_failures: Counter[reason] = "tls_handshake_failures",
            "TLS handshakes that failed";
    }
}

impl ConnectionMetrics {
    /// Counts a connection as open until the guard is dropped.
    pub(crate) fn open(&self, listener: &'static str) -> GaugeGuard {
        GaugeGuard::new(self.connections(listener))
    }
}
