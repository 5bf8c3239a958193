//! HTTP/1.1 calls to other servers, plain or over TLS, on kept connections. Webhooks are trusted
//! only by the `caBundle` of their configuration, and Services are called by address under another
//! name; both are part of a [`Peer`], and only equal peers share connections.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Most idle connections per server, as in Go's client.
const MOST_IDLE: usize = 25;

type Sender = http1::SendRequest<Full<Bytes>>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    /// In order of trial.
    pub(crate) addresses: Vec<SocketAddr>,
    /// `None` for a plain connection.
    pub(crate) tls: Option<PeerTrust>,
}

/// Which server certificate is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PeerTrust {
    /// Host name or address in the certificate.
    pub(crate) server_name: String,
    /// PEM; one of them must have signed the certificate.
    pub(crate) authorities: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("dial tcp: {0}")]
    Connect(io::Error),
    #[error("caBundle: {0}")]
    Trust(String),
    #[error("tls: {0}")]
    Handshake(io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
}

/// Idle connections by peer.
#[derive(Debug, Default)]
pub(crate) struct OutboundClient {
    idle: Mutex<HashMap<Peer, Vec<Sender>>>,
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl OutboundClient {
    /// Reads the whole answer. The URI of the request is a path.
    ///
    /// # Errors
    /// The peer cannot be reached, is not trusted or ends the connection too early.
    pub(crate) async fn send(
        &self,
        peer: &Peer,
        host: &str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Bytes>, CallError> {
        if let Ok(host) = HeaderValue::from_str(host) {
            request.headers_mut().insert(HOST, host);
        }
        let (mut sender, answer) = self.begin(peer, request).await?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        if sender.ready().await.is_ok() {
            self.keep(peer, sender);
        }
        Ok(Response::from_parts(parts, body))
    }

    /// The head of the answer, over a kept connection if one still works.
    async fn begin(
        &self,
        peer: &Peer,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Sender, Response<hyper::body::Incoming>), CallError> {
        while let Some(mut sender) = self.take(peer) {
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok((sender, answer)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        let mut sender = connect(peer).await?;
        let answer = sender.send_request(request).await?;
        Ok((sender, answer))
    }

    fn take(&self, peer: &Peer) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(peer)?;
        kept.retain(Sender::is_ready);
        kept.pop()
    }

    fn keep(&self, peer: &Peer, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(peer.clone()).or_default();
        if kept.len() < MOST_IDLE {
            kept.push(sender);
        }
    }
}

async fn connect(peer: &Peer) -> Result<Sender, CallError> {
    let stream = TcpStream::connect(peer.addresses.as_slice())
        .await
        .map_err(CallError::Connect)?;
    // A request is written in one piece and waits for nothing.
    stream.set_nodelay(true).map_err(CallError::Connect)?;
    let stream: Box<dyn Duplex> = match &peer.tls {
        Some(trust) => {
            let name = ServerName::try_from(trust.server_name.clone())
                .map_err(|error| CallError::Trust(error.to_string()))?;
            let tls = TlsConnector::from(Arc::new(tls(trust)?));
            let stream = tls.connect(name, stream).await;
            Box::new(stream.map_err(CallError::Handshake)?)
        }
        None => Box::new(stream),
    };
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // If the connection breaks, the pending request fails.
        let _ = connection.await;
    });
    Ok(sender)
}

fn tls(trust: &PeerTrust) -> Result<ClientConfig, CallError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&trust.authorities) {
        let certificate = certificate.map_err(|error| CallError::Trust(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| CallError::Trust(error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CallError::Trust(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
