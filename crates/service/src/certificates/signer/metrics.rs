//! Figures of the signer.

use evenkeel_certificates::signer_secret::SignerSecret;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;

use crate::telemetry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignerFailureLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct SignerMetrics {
    last_success: Gauge,
    authorities: Gauge,
    rotating: Gauge,
    failures: Family<SignerFailureLabel, Counter>,
}

impl SignerMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        let Self {
            last_success,
            authorities,
            rotating,
            failures,
        } = self.clone();
        registry.register_with_unit(
            "signer_last_success_timestamp",
            "When Secrets and caBundle were last found in place, as a Unix time",
            Unit::Seconds,
            last_success,
        );
        registry.register(
            "signer_authorities",
            "Published authorities of the serving certificate; two while one replaces the other",
            authorities,
        );
        registry.register(
            "signer_rotating",
            "1 while a requested rotation of all keys is in progress",
            rotating,
        );
        registry.register(
            "signer_failures",
            "Failed rounds of the signer, and requests that it cannot read",
            failures,
        );
    }

    /// Everything was in place at `now`.
    pub(super) fn in_place(&self, now: Timestamp) {
        self.last_success.set(now.as_second());
    }

    pub(super) fn observe(&self, kept: &SignerSecret) {
        let authorities = i64::try_from(kept.bundle.authorities().len());
        self.authorities.set(authorities.unwrap_or(i64::MAX));
        self.rotating.set(i64::from(kept.rotation.is_some()));
    }

    pub(super) fn failed(&self, reason: &'static str) {
        self.failures
            .get_or_create(&SignerFailureLabel { reason })
            .inc();
    }
}
