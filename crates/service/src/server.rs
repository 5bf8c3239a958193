//! Everything between a socket and a handler: listeners, TLS with changing certificates, the guard
//! before each path, probes, and an end that loses nothing. A [`Listener`] serves a router: over
//! TLS with a [`tls::CertificateStore`] for the API server, kube-scheduler and Prometheus, in plain
//! HTTP for probes and the dashboard. [`Routes`] puts the guard before handlers, [`Probes`] makes
//! the kubelet's router, [`MetricsPage`] that of Prometheus, and a [`Drain`] ends them all. What a
//! request means is decided elsewhere.

pub(crate) mod access_reviews;
mod activity;
mod body;
mod budget;
mod connection;
mod connection_limiter;
mod drain;
mod error;
pub mod handlers;
mod listener;
mod metrics;
mod metrics_page;
mod path_limits;
pub mod paths;
mod probes;
mod readiness;
mod routes;
mod scheduler_thread;
mod scrape_access;
mod settings;
pub mod tls;
mod tracked_body;

pub use body::{BufferedRequest, GrpcCall};
pub(crate) use connection::LastingAnswer;
pub use connection::PeerAddress;
pub use drain::{Drain, DrainOutcome, Shutdown, ShutdownPhase, signals};
pub use error::{ApiError, ServerError};
pub use listener::{Listener, Transport};
pub use metrics::ListenerMetrics;
pub use metrics_page::MetricsPage;
pub use path_limits::{BodyPace, LoadShedDecision, PathLimits};
pub use probes::Probes;
pub use readiness::{Readiness, ReadinessCondition};
pub use routes::{RouteEndpoint, Routes};
pub use scheduler_thread::SchedulerThread;
pub use scrape_access::{MetricsAuthentication, ScrapeAccess, ScrapeRefusal};
pub(crate) use scrape_access::{Reviewer, token};
pub use settings::{ConnectionBounds, DrainSettings, ListenerSettings, Settings};
