//! The served certificate and its changes.

use jiff::Timestamp;

use crate::telemetry::metric_families::families;

families! {
    pub(crate) struct CertificateMetrics {
        not_after: Gauge = "tls_certificate_not_after" in Seconds,
            "End of the serving certificate, as a Unix time";
        reloads: Counter = "tls_certificate_reloads",
            "Changes of the served certificate or of the client authorities";
        reload_failures: Counter[reason] = "tls_certificate_reload_failures",
            "Failed attempts to use new certificates; the old ones stay";
    }
}

impl CertificateMetrics {
    /// The certificate that is served lives until `not_after`.
    pub(crate) fn serves_until(&self, not_after: Timestamp) {
        self.not_after.set(not_after.as_second());
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.inc();
    }
}
