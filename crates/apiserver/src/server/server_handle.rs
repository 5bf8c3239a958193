//! A running server: its start, and its interface for the embedding code.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::cluster::{garbage_collector, initial_objects};
use crate::fault_injection::Control;
use crate::server::authority::{self, Authority};
use crate::server::listener::{self, ListenerContext};
use crate::settings::Settings;
use crate::state::Api;
use crate::store::ObjectStore;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address of the settings.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The certificates for TLS cannot be made.
    #[error("no certificates: {0}")]
    Certificates(String),
    /// The first objects of the cluster could not be written.
    #[error("the cluster's first objects: {0}")]
    Seed(String),
}

/// A running API server. It ends when this is dropped, and its objects with it.
pub struct ApiServer {
    address: SocketAddr,
    certificate_pem: Option<String>,
    token: Option<String>,
    control: Control,
    stop: CancellationToken,
    server: JoinHandle<()>,
    collector: JoinHandle<()>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the token: printed text ends up in logs.
        f.debug_struct("ApiServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Starts a server with a new cluster's objects: the four namespaces with their
    /// ServiceAccounts, the two system priority classes and the Service `kubernetes`.
    ///
    /// # Errors
    /// The address is not available, or certificates cannot be made.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen {
            address: settings.address,
            source,
        };
        let listener = TcpListener::bind(settings.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let authority = if settings.tls {
            // Certificates are checked against the machine's clock, whatever the cluster's.
            let authority = Authority::new(address, clock::now());
            Some(authority.map_err(|error| StartError::Certificates(error.to_string()))?)
        } else {
            None
        };
        let control = Control::new();
        let (store, work) = ObjectStore::new(settings.history);
        let api = Arc::new(Api::new(&settings, store));
        initial_objects::write(&api)
            .await
            .map_err(|error| StartError::Seed(error.to_string()))?;
        let stop = CancellationToken::new();
        let collector = tokio::spawn(garbage_collector::run(Arc::clone(&api), work));
        let service = ListenerContext {
            api,
            tls: authority
                .as_ref()
                .map(|authority| TlsAcceptor::from(Arc::clone(&authority.tls))),
            control: control.clone(),
        };
        let server = tokio::spawn(listener::serve(listener, service, stop.clone()));
        Ok(Self {
            address,
            certificate_pem: authority.map(|authority| authority.certificate_pem),
            token: settings.token,
            control,
            stop,
            server,
            collector,
        })
    }

    /// The address it listens on, with its actual port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients: `https` with TLS, else `http`.
    pub fn url(&self) -> String {
        let scheme = if self.certificate_pem.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// PEM of the authority that clients have to trust; `None` without TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// A kubeconfig as YAML. With the token of the settings in it, every user that can read the
    /// file is an administrator.
    pub fn kubeconfig(&self) -> String {
        authority::kubeconfig(&self.url(), self.certificate_pem(), self.token.as_deref())
    }

    /// A handle to make the server fail on command.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Cuts all connections and waits until the port is free.
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
