//! Reports of the service about itself: logs, spans, and the registry that `/metrics` prints, set up
//! once, at the edge. The rest of the code logs through `tracing` and counts in metric handles that it
//! owns; there is no global registry.

mod log;
pub(crate) mod metric_families;
mod rate_limited;
mod registry;
pub(crate) mod spans;

pub use log::{LogError, LogFilter, LogFormat, LogSettings, init};
pub use prometheus_client::registry::Registry;
pub use rate_limited::{PERIOD, RateLimited};
pub use registry::{CONTENT_TYPE, encode, registry};
pub use spans::{SpanMetrics, SpanRecorder};
