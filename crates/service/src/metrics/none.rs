//! The source of a cluster without measurements: every load is then an estimate.

use async_trait::async_trait;
use jiff::Timestamp;

use super::answer::{Answers, QueryAnswer};
use super::error::MetricsError;
use super::query::UsageQuery;
use super::source::MetricsSource;

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
