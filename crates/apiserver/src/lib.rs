//! An in-memory Kubernetes API server over real HTTP, for kubectl, the `kube` client and everything
//! else in this program that talks to a cluster.
//!
//! One generic store and one table of resources ([`catalog`]) carry all kinds; what is particular to a
//! kind is in [`rules`]. It behaves as kube-apiserver does, down to the wording of errors, as far
//! as clients can tell; what it cannot do it refuses with a clear `Status`, so that nothing that
//! works here is a surprise on a real cluster. Nothing is authenticated or authorised.

#![forbid(unsafe_code)]

mod accept;
mod authority;
mod authorization;
mod autoscaler_v1;
mod call;
mod catalog;
mod clock;
mod collector;
mod column;
mod control;
mod decode;
mod definition;
mod discovery;
mod endpoints;
mod error;
mod event;
mod identity;
mod listener;
mod meta;
mod metrics;
mod openapi;
mod patch;
mod path;
mod plugins;
mod protobuf;
mod proxy;
mod query;
mod read;
mod registry;
mod remove;
mod render;
mod reply;
mod resource;
mod routes;
mod rules;
mod schema;
mod seed;
mod selector;
mod settings;
mod state;
mod store;
mod subresources;
mod watching;
mod webhook;
mod write;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::authority::Authority;
pub use self::authority::AuthorityError;
pub use self::control::Control;
pub use self::error::{ApiError, Cause, Reason};
pub use self::metrics::{Reading, ResourceMetrics, Usage};
pub use self::settings::{Clock, Settings};
use self::state::Api;
use self::store::Store;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The first objects could not be written.
    #[error("the cluster's first objects: {0}")]
    Seed(#[from] ApiError),
}

impl StartError {
    /// The reason in metrics and events.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "AddressUnavailable",
            Self::Authority(_) => "CertificateFailed",
            Self::Seed(_) => "SeedFailed",
        }
    }
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct ApiServer {
    address: SocketAddr,
    certificate_pem: Option<String>,
    control: Control,
    stop: CancellationToken,
    server: JoinHandle<()>,
    collector: JoinHandle<()>,
}

impl ApiServer {
    /// Starts a server with the namespaces that every cluster has.
    ///
    /// # Errors
    /// When the address cannot be listened on or certificates cannot be made.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen {
            address: settings.address,
            source,
        };
        let listener = TcpListener::bind(settings.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let authority = if settings.tls {
            // Certificates are checked against the machine's clock, whatever the cluster's says.
            Some(Authority::new(address, clock::now())?)
        } else {
            None
        };
        let control = Control::new();
        let (store, work) = Store::new(settings.history);
        let api = Arc::new(Api::new(&settings, store, control.clone()));
        seed::write(&api).await?;
        let stop = CancellationToken::new();
        let collector = tokio::spawn(collector::run(Arc::clone(&api), work));
        let server = tokio::spawn(listener::serve(
            listener,
            routes::router(api),
            authority
                .as_ref()
                .map(|authority| Arc::clone(&authority.tls)),
            (control.clone(), stop.clone()),
        ));
        Ok(Self {
            address,
            certificate_pem: authority.map(|authority| authority.certificate_pem),
            control,
            stop,
            server,
            collector,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.certificate_pem.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of its authority, where it speaks TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// A kubeconfig for it, as YAML.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        authority::kubeconfig(&self.url(), self.certificate_pem())
    }

    /// Faults on command.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Cuts all connections and waits until the server is gone.
    pub async fn stop(mut self) {
        self.stop.cancel();
        self.collector.abort();
        // A panic in the server was reported where it happened.
        let _ = (&mut self.server).await;
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.collector.abort();
    }
}
