//! The source of a cluster without measurements: every load is then an estimate.

use async_trait::async_trait;
use jiff::Timestamp;

use super::error::MetricsError;
use super::round::Round;
use super::source::MetricsSource;

/// A source that measures nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

#[async_trait]
impl MetricsSource for NoMetrics {
    fn name(&self) -> &'static str {
        "none"
    }

    async fn sample(&self, _now: Timestamp) -> Result<Round, MetricsError> {
        Ok(Round::default())
    }
}
