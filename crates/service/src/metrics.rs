//! Measured load of nodes and Pods. A source ([`sources`]) answers queries for all nodes or all
//! Pods at once, in the background. Each answer is kept with its age, so no request waits for the
//! network. A missing value is absent, never zero; the round's report has the reason.

mod access;
mod answer;
mod api_call;
mod blocking_pool;
pub mod cache;
mod container_usage;
mod containers;
mod error;
pub mod exposition;
mod instruments;
pub mod kubelet;
pub mod poller;
mod query;
pub mod query_queue;
mod query_rounds;
pub mod query_runner;
pub mod query_turns;
mod rejected_samples;
mod resource_metrics;
mod round;
pub mod self_check;
mod series;
mod settings;
pub mod signals;
mod source;
mod sources;
pub mod target_queries;

pub(crate) use access::AccessClient;
pub use access::{Authorization, EndpointAccess, IdentityFiles};
pub use answer::{Answers, Content, Instances, QueryAnswer, SampleTimes};
pub use api_call::ApiCallLimits;
pub use cache::{FailedRefresh, MetricsCache};
pub use container_usage::{ContainerName, ContainerUsage};
pub use containers::Containers;
pub use error::MetricsError;
pub use instruments::QueryMetrics;
pub use poller::{Poller, Update};
pub use query::{QueryKey, UsageQuery};
pub use query_rounds::{QueryRounds, QueryTimeLimits};
pub use rejected_samples::{DropCause, RejectedSamples};
pub use round::{MetricsRound, QueryReport};
pub use series::LabelSet;
pub(crate) use settings::BODY_LIMIT;
pub use settings::Settings;
pub use source::MetricsSource;
pub use sources::{ConnectedSource, MetricsSourceSettings, NoMetrics, metrics_api, prometheus};
