//! Everything between a socket and a handler: listeners, TLS with certificates that change while
//! it serves, the guard in front of each path, probes, and an end that loses nothing.
//!
//! A [`Listener`] serves a router: over TLS with a [`tls::CertificateStore`] for the API server
//! and kube-scheduler, in plain HTTP for probes, metrics and the dashboard. [`Routes`] puts the
//! guard before handlers, [`Probes`] makes the router for the kubelet, and a [`Drain`] takes all
//! of them through the end of the service. What a request means is decided elsewhere.

mod activity;
mod body;
mod budget;
pub mod certificates;
mod connection;
mod drain;
mod error;
pub mod handlers;
mod listener;
mod metrics;
pub mod paths;
mod probes;
mod readiness;
mod routes;
pub mod tls;

use std::io;
use std::net::SocketAddr;

pub use body::Call;
pub use drain::{Drain, DrainSettings, Drained, Phase, Shutdown, signals};
pub use error::ApiError;
pub use listener::{Listener, ListenerSettings, Transport};
pub use metrics::Metrics;
pub use probes::Probes;
pub use readiness::{Condition, Readiness};
use routes::Arrival;
pub use routes::{Endpoint, Limits, Load, Routes};

/// Why a listener could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, or is none of this machine.
    #[error("{address} cannot be bound")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl ServerError {
    /// A short name for metrics and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "AddressUnavailable",
        }
    }
}
