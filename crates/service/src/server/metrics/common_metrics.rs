//! Labels and gauges that several groups have.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ConnectionFailureLabel {
    pub(super) reason: &'static str,
}

/// Something that is counted while it lasts.
#[derive(Debug)]
pub(in crate::server) struct GaugeGuard(Gauge);

impl GaugeGuard {
    pub(super) fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
