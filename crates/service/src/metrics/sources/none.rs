//! The source of a cluster without measurements: every load is then an estimate.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::metrics::answer::{Answers, QueryAnswer};
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::source::MetricsSource;

/// A source that measures nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

#[async_trait]
impl MetricsSource for NoMetrics {
    fn name(&self) -> &'static str {
        "none"
    }

    fn queries(&self) -> &[UsageQuery] {
        &[]
    }

    async fn fetch(
        &self,
        _query: UsageQuery,
        _before: &Answers,
        _now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        Ok(QueryAnswer::default())
    }
}
