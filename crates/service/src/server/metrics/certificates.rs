//! The served certificate and its changes.

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;

use super::common_metrics::ConnectionFailureLabel;
use crate::telemetry::Registry;

#[derive(Debug, Clone, Default)]
pub(crate) struct CertificateMetrics {
    not_after: Gauge,
    reloads: Counter,
    reload_failures: Family<ConnectionFailureLabel, Counter>,
}

impl CertificateMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let Self {
            not_after,
            reloads,
            reload_failures,
        } = self.clone();
        registry.register_with_unit(
            "tls_certificate_not_after",
            "End of the serving certificate, as a Unix time",
            Unit::Seconds,
            not_after,
        );
        registry.register(
            "tls_certificate_reloads",
            "Changes of the served certificate or of the client authorities",
            reloads,
        );
        registry.register(
            "tls_certificate_reload_failures",
            "Failed attempts to use new certificates; the old ones stay",
            reload_failures,
        );
    }

    /// The certificate that is served lives until `not_after`.
    pub(crate) fn serves_until(&self, not_after: Timestamp) {
        self.not_after.set(not_after.as_second());
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.inc();
    }

    pub(crate) fn reload_failed(&self, reason: &'static str) {
        self.reload_failures
            .get_or_create(&ConnectionFailureLabel { reason })
            .inc();
    }
}
