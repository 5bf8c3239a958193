//! Labels and gauges that several groups have.

use prometheus_client::metrics::gauge::Gauge;

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
