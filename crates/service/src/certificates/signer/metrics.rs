//! Figures of the signer.

use evenkeel_certificates::signer_secret::SignerSecret;
use jiff::Timestamp;

use crate::telemetry::metric_families::{count, families};

families! {
    pub struct SignerMetrics {
        last_success: Gauge = "signer_last_success_timestamp" in Seconds,
            "When Secrets and caBundle were last found in place, as a Unix time";
        authorities: Gauge = "signer_authorities",
            "Published authorities of the serving certificate; two while one replaces the other";
        rotating: Gauge = "signer_rotating",
            "1 while a requested rotation of all keys is in progress";
        failures: Counter[reason] = "signer_failures",
            "Failed rounds of the signer, and requests that it cannot read";
    }
}

impl SignerMetrics {
    /// Everything was in place at `now`.
    pub(super) fn in_place(&self, now: Timestamp) {
        self.last_success.set(now.as_second());
    }

    pub(super) fn observe(&self, kept: &SignerSecret) {
        let authorities = kept.bundle.authorities().len();
        self.authorities.set(count(authorities));
        self.rotating.set(i64::from(kept.rotation.is_some()));
    }
}
