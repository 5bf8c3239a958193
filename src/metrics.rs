//! Where the measured load of nodes and Pods comes from: Prometheus, the metrics API of the
//! cluster, a written trace, or nowhere.
//!
//! A source answers one question, "what was used, as of when", for all nodes and Pods at once; it
//! decides nothing. Rounds are asked for in the background and their answers kept in memory with
//! their age, so that no request ever waits for the network. What a source could not tell is
//! absent, never zero, and stands in the round's reports with a reason.

pub mod cache;
mod error;
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
use evenkeel_core::units::Bytes;
use jiff::Timestamp;

/// The longest answer that a source reads: one for 150,000 Pods is some 30 MB.
pub(crate) const BODY_LIMIT: Bytes = Bytes(256 * 1024 * 1024);

/// The source of measured usage, and how often it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub source: Source,
    pub poller: poller::Settings,
}

/// The source of measured usage.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A Prometheus server, or what speaks its API.
    Prometheus(Box<prometheus::Settings>),
    /// metrics.k8s.io: cpu and memory only.
    MetricsApi(metrics_api::Settings),
    /// A trace in a file.
    Replay(replay::Settings),
    /// None: loads are the sums of the Pods' demands.
    None,
}

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
