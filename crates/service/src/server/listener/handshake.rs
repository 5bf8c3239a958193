//! The TLS handshake: what it yields, and what its failures are called.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::AlertDescription;
use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::server::connection::Protocol;
use crate::server::metrics::CERTIFICATE_REFUSED;
use crate::server::tls::{CertificateStore, Peer};
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;

/// The answer to a client that does not speak TLS, as it would like to read it.
const NOT_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain\r\n\
    Connection: close\r\n\
    \r\n\
    This port requires HTTPS.\n\
    ";

/// The first byte of a TLS connection.
const HANDSHAKE_RECORD: u8 = 0x16;

pub(super) struct TlsConnection {
    pub stream: TlsStream<TcpStream>,
    pub protocol: Protocol,
    pub peer: Arc<Peer>,
}

/// A handshake that gave no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeFailure {
    /// It took too long.
    #[error("the handshake took too long")]
    TimedOut,
    /// The client left, as a scanner or a probe of the port does.
    #[error("the client left")]
    ClientLeft(#[source] io::Error),
    /// The client spoke something else.
    #[error("the client does not use TLS")]
    NotTls,
    /// The client does not trust the server's certificate: its CA bundle is not the right one.
    #[error("the client refuses the server's certificate")]
    CertificateRefused(#[source] io::Error),
    /// The client's certificate or its signature cannot be checked.
    #[error("the client's certificate cannot be used")]
    ClientCertificate(#[source] io::Error),
    #[error("the handshake failed")]
    Protocol(#[source] io::Error),
}

impl HandshakeFailure {
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::TimedOut => "TimedOut",
            Self::ClientLeft(_) => "ClientLeft",
            Self::NotTls => "NotTls",
            Self::CertificateRefused(_) => CERTIFICATE_REFUSED,
            Self::ClientCertificate(_) => "ClientCertificateUnusable",
            Self::Protocol(_) => "ProtocolError",
        }
    }

    fn of(error: io::Error) -> Self {
        use AlertDescription as Alert;
        let Some(reason) = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        else {
            return Self::ClientLeft(error);
        };
        match reason {
            rustls::Error::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA,
            ) => Self::CertificateRefused(error),
            rustls::Error::InvalidCertificate(_) => Self::ClientCertificate(error),
            _ => Self::Protocol(error),
        }
    }

    /// Logs it, once a minute at most for each kind.
    pub(super) fn log(&self, log: &RateLimited<&'static str>) {
        if matches!(self, Self::ClientLeft(_)) {
            return;
        }
        if let Some(suppressed) = log.permit(self.reason(), clock::instant()) {
            tracing::warn!(
                error = self as &dyn std::error::Error,
                reason = self.reason(),
                suppressed,
                "TLS handshake failed"
            );
        }
    }
}

/// Does the handshake on `stream` with the certificates in use.
pub(super) async fn handshake(
    store: Arc<CertificateStore>,
    stream: TcpStream,
    timeout: Duration,
) -> Result<TlsConnection, HandshakeFailure> {
    let stream = tokio::time::timeout(timeout, accept(&store, stream))
        .await
        .unwrap_or(Err(HandshakeFailure::TimedOut))?;
    let (_, session) = stream.get_ref();
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let chain = session.peer_certificates().unwrap_or_default();
    let chain = chain.iter().map(|c| c.clone().into_owned()).collect();
    let peer = Arc::new(Peer::new(store, chain));
    Ok(TlsConnection {
        stream,
        protocol,
        peer,
    })
}

async fn accept(
    store: &CertificateStore,
    mut stream: TcpStream,
) -> Result<TlsStream<TcpStream>, HandshakeFailure> {
    // Looked at before rustls does, which would answer with an unhelpful alert.
    let mut first = [0];
    let seen = stream.peek(&mut first).await;
    if seen.map_err(HandshakeFailure::ClientLeft)? == 1 && first[0] != HANDSHAKE_RECORD {
        // The client may read it or not.
        let _ = stream.write_all(NOT_TLS).await;
        let _ = stream.shutdown().await;
        return Err(HandshakeFailure::NotTls);
    }
    let greeting = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let begun = greeting.await.map_err(HandshakeFailure::of)?;
    let config = Arc::clone(store.current().config_for(&begun.client_hello()));
    begun
        .into_stream(config)
        .await
        .map_err(HandshakeFailure::of)
}
