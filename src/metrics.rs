//! Sources of the measured load of nodes and Pods: Prometheus, the metrics API of the
//! cluster, a written trace, or nowhere.
//!
//! A source answers a few queries of one kind, "what was used, as of when", each for all nodes or
//! all Pods at once; it decides nothing. They are asked in rounds in the background, and each answer
//! is kept in memory with its age, so that no request ever waits for the network. What a source
//! could not tell is absent, never zero, and stands in the round's reports with a reason.

mod access;
mod answer;
mod api_call;
mod aside;
mod asking;
pub mod cache;
mod container_usage;
mod containers;
mod dropped;
mod error;
pub mod exposition;
mod instruments;
pub mod kubelet;
pub mod metrics_api;
mod none;
mod pace;
pub mod poller;
pub mod prometheus;
mod query;
pub mod questions;
pub mod replay;
mod resource_metrics;
mod round;
pub mod self_check;
mod series;
mod settings;
pub mod signals;
mod source;

pub use access::{Access, Authorization, IdentityFiles};
pub use answer::{Answer, Answers, Content, Instances, SampleTimes};
pub use api_call::Bounds;
pub use asking::{Asking, Limits};
pub use cache::{Entry, Failed, MetricsCache};
pub use container_usage::{ContainerName, ContainerUsage};
pub use containers::Containers;
pub use dropped::{DropCause, Dropped};
pub use error::MetricsError;
pub use instruments::Metrics;
pub use none::NoMetrics;
pub use poller::{Poller, Update};
pub use query::{Query, QueryKey};
pub use round::{QueryReport, Round};
pub use series::LabelSet;
pub(crate) use settings::BODY_LIMIT;
pub use settings::{Settings, Source};
pub use source::MetricsSource;
