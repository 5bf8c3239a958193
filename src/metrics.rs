//! Where the measured load of nodes and Pods comes from: Prometheus, the metrics API of the
//! cluster, a written trace, or nowhere.
//!
//! A source answers one question, "what was used, as of when", for all nodes and Pods at once; it
//! decides nothing. Rounds are asked for in the background and their answers kept in memory with
//! their age, so that no request ever waits for the network. What a source could not tell is
//! absent, never zero, and stands in the round's reports with a reason.

pub mod cache;
mod error;
pub mod exposition;
mod instruments;
pub mod metrics_api;
mod none;
pub mod poller;
pub mod prometheus;
pub mod replay;
mod round;
pub mod self_check;

pub use cache::{Entry, MetricsCache};
pub use error::MetricsError;
pub use instruments::Metrics;
pub use none::NoMetrics;
pub use poller::{Poller, Update};
pub use round::{DropCause, Dropped, Query, QueryReport, Round};

use async_trait::async_trait;
use jiff::Timestamp;

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
