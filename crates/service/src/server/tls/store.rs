//! The certificates in use, swapped as one. Each set comes with its TLS configuration, which has
//! the hints to clients; a connection takes the current set when it begins.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::server::{ClientHello, NoClientAuth, NoServerSessionStorage};
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};

use super::authorities::provider;
use super::verifier::AnyClient;
use super::{ClientAuthorities, ServerCertificate, TlsError};
use crate::server::ListenerMetrics;
use crate::server::paths::EXTENDER_SERVICE;

/// The name of HTTP/1.1 in TLS.
const HTTP_1: &[u8] = b"http/1.1";

/// Certificates to take into use; what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct CertificateUpdate {
    pub server: Option<ServerCertificate>,
    /// Authorities by which clients are known; of other kinds they stay as they are.
    pub authorities: Option<ClientAuthorities>,
}

#[derive(Debug)]
pub struct CertificateStore {
    current: ArcSwap<InUse>,
    changing: Mutex<()>,
    metrics: ListenerMetrics,
}

#[derive(Debug)]
pub(crate) struct InUse {
    /// Grows with each change.
    pub generation: u64,
    /// Offers HTTP/2 and HTTP/1.1.
    config: Arc<ServerConfig>,
    /// Offers HTTP/1.1 alone.
    http1: Arc<ServerConfig>,
    pub server: ServerCertificate,
    pub authorities: ClientAuthorities,
}

impl CertificateStore {
    /// A store that begins with `initial`.
    ///
    /// # Errors
    /// `initial` has no server certificate.
    pub fn new(initial: CertificateUpdate, metrics: ListenerMetrics) -> Result<Self, TlsError> {
        let CertificateUpdate {
            server,
            authorities,
        } = initial;
        let server = server.ok_or(TlsError::NoServerCertificate)?;
        metrics.certificates().serves_until(server.not_after());
        Ok(Self {
            current: ArcSwap::from_pointee(InUse::new(0, server, authorities.unwrap_or_default())),
            changing: Mutex::new(()),
            metrics,
        })
    }

    /// Takes `change` into use for new connections; what paths ask of client certificates changes
    /// for open ones too.
    pub fn replace(&self, change: CertificateUpdate) {
        let CertificateUpdate {
            server,
            authorities,
        } = change;
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.current();
        let next = InUse::new(
            old.generation.wrapping_add(1),
            server.unwrap_or_else(|| old.server.clone()),
            old.authorities.clone().and(authorities.unwrap_or_default()),
        );
        let metrics = self.metrics.certificates();
        metrics.serves_until(next.server.not_after());
        metrics.reloaded();
        tracing::info!(
            not_after = %next.server.not_after(),
            "certificates taken into use"
        );
        self.current.store(Arc::new(next));
    }

    pub(crate) fn current(&self) -> Arc<InUse> {
        self.current.load_full()
    }

    pub(crate) const fn metrics(&self) -> &ListenerMetrics {
        &self.metrics
    }
}

impl InUse {
    fn new(generation: u64, server: ServerCertificate, authorities: ClientAuthorities) -> Self {
        let hints = authorities.subjects();
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .expect("the provider has cipher suites for TLS 1.2 and 1.3");
        let builder = if hints.is_empty() {
            builder.with_client_cert_verifier(Arc::new(NoClientAuth))
        } else {
            builder.with_client_cert_verifier(Arc::new(AnyClient::new(hints)))
        };
        let certificate = SingleCertAndKey::from(server.certified_key().clone());
        let mut config = builder.with_cert_resolver(Arc::new(certificate));
        config.alpn_protocols = vec![b"h2".to_vec(), HTTP_1.to_vec()];
        // Neither the API server nor kube-scheduler resumes sessions; without tickets every
        // connection shows its certificate.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let mut http1 = config.clone();
        http1.alpn_protocols = vec![HTTP_1.to_vec()];
        Self {
            generation,
            config: Arc::new(config),
            http1: Arc::new(http1),
            server,
            authorities,
        }
    }

    /// The configuration for a client with this hello. kube-scheduler, which calls the extender's
    /// Service, asks about one Pod after another and notifies choices beside that. HTTP/2 would
    /// only add hand-offs between tasks to each call: a third more of a processor, and on a busy
    /// machine twice the time. The API server has many concurrent calls, and is offered both.
    pub(crate) fn config_for(&self, hello: &ClientHello<'_>) -> &Arc<ServerConfig> {
        let name = hello.server_name().unwrap_or_default();
        let service = name.split('.').next();
        let mut spoken = hello.alpn().into_iter().flatten();
        if service == Some(EXTENDER_SERVICE) && spoken.any(|protocol| protocol == HTTP_1) {
            &self.http1
        } else {
            &self.config
        }
    }
}
