//! The signals without a measurement round: custom and external metrics, usage by one container,
//! and PromQL, each asked for one target.

mod question;
mod served;
mod source;

pub use served::ServedSource;
pub use source::SignalSources;

use std::time::Duration;

use evenkeel_metrics::metric_query::MetricQuery;
use evenkeel_units::Bytes;

use super::target_queries::Questions;

/// The longest answer to one question: the values of some 10,000 Pods.
pub(crate) const BODY_LIMIT: Bytes = Bytes(4 * 1024 * 1024);

/// The asking for signals, as the scaling loop holds it.
pub type Signals = Questions<MetricQuery>;

/// The bounds of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The longest that it may take.
    pub timeout: Duration,
}
