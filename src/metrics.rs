//! Sources of the measured load of nodes and Pods: Prometheus, the metrics API of the
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
mod query_key;
pub mod replay;
mod round;
pub mod self_check;
mod series;
mod settings;
mod source;

pub use cache::{Entry, MetricsCache};
pub use error::MetricsError;
pub use instruments::Metrics;
pub use none::NoMetrics;
pub use poller::{Poller, Update};
pub use query_key::{QueryKey, Scope, Signals};
pub use round::{DropCause, Dropped, Query, QueryReport, Round};
pub use series::LabelSet;
pub(crate) use settings::BODY_LIMIT;
pub use settings::{Settings, Source};
pub use source::MetricsSource;
