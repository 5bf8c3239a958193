//! Everything between a socket and a handler: listeners, TLS with certificates that change while
//! it serves, the guard in front of each path, probes, and an end that loses nothing.
//!
//! A [`Listener`] serves a router: over TLS with a [`tls::CertificateStore`] for the API server
//! kube-scheduler and Prometheus, in plain HTTP for probes and the dashboard. [`Routes`] puts the
//! guard before handlers, [`Probes`] makes the router for the kubelet, [`MetricsPage`] that for
//! Prometheus, and a [`Drain`] takes all of them through the end of the service. What a request means is decided elsewhere.

mod activity;
mod arrival;
mod body;
mod budget;
mod connection;
mod drain;
mod error;
pub mod handlers;
mod listener;
mod metrics;
mod metrics_page;
pub mod paths;
mod probes;
mod readiness;
pub(crate) mod reviews;
mod routes;
mod scrape_access;
mod sending;
mod settings;
mod slots;
pub mod tls;

pub use arrival::{BodyPace, Limits, Load};
pub use body::{Call, GrpcCall};
pub use connection::PeerAddress;
pub use drain::{Drain, Drained, Phase, Shutdown, signals};
pub use error::{ApiError, ServerError};
pub use listener::{Listener, Transport};
pub use metrics::Metrics;
pub use metrics_page::MetricsPage;
pub use probes::Probes;
pub use readiness::{Condition, Readiness};
pub use routes::{Endpoint, Routes};
pub use scrape_access::{MetricsAuthentication, Refusal, ScrapeAccess};
pub(crate) use scrape_access::{Reviewer, token};
pub use settings::{ConnectionBounds, DrainSettings, ListenerSettings, Settings};
