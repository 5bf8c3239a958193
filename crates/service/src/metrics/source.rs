//! A source of measured usage.

use async_trait::async_trait;
use jiff::Timestamp;

use super::answer::{Answers, QueryAnswer};
use super::error::MetricsError;
use super::query::UsageQuery;

/// Something that answers a few queries, each for all nodes or all Pods at once.
#[async_trait]
pub trait MetricsSource: Send + Sync {
    /// The name in logs and metric labels, from a closed set.
    fn name(&self) -> &'static str;

    /// The queries of a round in order: those that date others come before these, and nodes before
    /// Pods.
    fn queries(&self) -> &[UsageQuery];

    /// Asks one of the queries at `now`; `before` are the round's answers so far. Another source's
    /// query has an empty answer.
    ///
    /// # Errors
    /// The query has no answer; nothing of it is taken.
    async fn fetch(
        &self,
        query: UsageQuery,
        before: &Answers,
        now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError>;
}
