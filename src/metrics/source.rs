//! A source of measured usage.

use async_trait::async_trait;
use jiff::Timestamp;

use super::error::MetricsError;
use super::round::Round;

/// Something that measures all nodes and Pods at once.
#[async_trait]
pub trait MetricsSource: Send + Sync {
    /// The name in logs and metric labels, from a closed set.
    fn name(&self) -> &'static str;

    /// One round: everything that the source can tell at `now`.
    ///
    /// A part that fails leaves what it measures absent and is named in the round's reports.
    ///
    /// # Errors
    /// Nothing at all could be learned; the first cause is given.
    async fn sample(&self, now: Timestamp) -> Result<Round, MetricsError>;
}
