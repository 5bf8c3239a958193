//! A client that shows what a library hides: which connection an answer came on, whether a failed
//! request had been sent, and which certificate the server showed.

#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)] // a fixture that cannot be set up fails its test

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Request, StatusCode, Version, header};
use bytes::Bytes;
use evenkeel_certificates::authority::ClientCertificate;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The protocol a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http {
    One,
    Two,
}

impl Http {
    pub(crate) const BOTH: [Self; 2] = [Self::One, Self::Two];
}

/// The authorities that a client trusts, and the certificate that it shows.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub authorities: String,
    pub certificate: Option<ClientCertificate>,
    /// The client's clock, where it is not the machine's.
    pub now: Option<Timestamp>,
    /// Its own address on loopback, where it is not the usual one.
    pub from: Option<[u8; 4]>,
}

impl Trust {
    pub(crate) fn only(authorities: impl Into<String>) -> Self {
        Self {
            authorities: authorities.into(),
            certificate: None,
            now: None,
            from: None,
        }
    }

    pub(crate) fn from(self, address: [u8; 4]) -> Self {
        Self {
            from: Some(address),
            ..self
        }
    }

    pub(crate) fn showing(self, certificate: ClientCertificate) -> Self {
        Self {
            certificate: Some(certificate),
            ..self
        }
    }

    pub(crate) fn at(self, now: Timestamp) -> Self {
        Self {
            now: Some(now),
            ..self
        }
    }

    fn config(&self, http: Http) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.authorities.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clock: Arc<dyn TimeProvider> = match self.now {
            None => Arc::new(rustls::time_provider::DefaultTimeProvider),
            Some(now) => Arc::new(Stopped(now)),
        };
        let builder = ClientConfig::builder_with_details(provider, clock)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(ClientCertificate { certificate, key }) => builder
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = match http {
            Http::One => vec![b"http/1.1".to_vec()],
            Http::Two => vec![b"h2".to_vec()],
        };
        Arc::new(config)
    }
}

#[derive(Debug)]
struct Stopped(Timestamp);

impl TimeProvider for Stopped {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The trailers behind the body.
    pub trailers: HeaderMap,
    pub version: Version,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// True if it said that its connection closes.
    pub(crate) fn closes(&self) -> bool {
        self.headers
            .get(header::CONNECTION)
            .is_some_and(|value| value == "close")
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The request was not sent, or the server said that it did not begin with it: it can be sent
    /// again on another connection.
    NotSent,
    /// The request was sent and is lost.
    Lost(hyper::Error),
}

impl NoAnswer {
    fn of(error: hyper::Error) -> Self {
        // An orderly GOAWAY names the last request that was begun, and only later ones fail by it.
        if format!("{error:?}").contains("GoAway(b\"\", NO_ERROR, Remote)") {
            return Self::NotSent;
        }
        Self::Lost(error)
    }
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// One open connection.
pub(crate) struct Connection {
    sender: Sender,
    /// The server's certificate, DER.
    pub certificate: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr, trust: &Trust, http: Http) -> io::Result<Self> {
        let stream = connect_tls(address, trust, http).await?;
        let shown = stream.get_ref().1.peer_certificates().unwrap();
        let certificate = shown[0].to_vec();
        let sender = match http {
            Http::One => {
                let (sender, connection) = http1::handshake(TokioIo::new(stream))
                    .await
                    .map_err(io::Error::other)?;
                tokio::spawn(connection);
                Sender::One(sender)
            }
            Http::Two => {
                let (sender, connection) =
                    http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                        .await
                        .map_err(io::Error::other)?;
                tokio::spawn(connection);
                Sender::Two(sender)
            }
        };
        Ok(Self {
            sender,
            certificate,
        })
    }

    /// HTTP/2 without TLS, from an address of loopback.
    pub(crate) async fn open_plain(address: SocketAddr, from: [u8; 4]) -> io::Result<Self> {
        let stream = connect(address, from).await?;
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self {
            sender: Sender::Two(sender),
            certificate: Vec::new(),
        })
    }

    /// Sends a request and waits for its whole answer.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Answer, NoAnswer> {
        let sent = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await.map_err(|_| NoAnswer::NotSent)?;
                sender.try_send_request(request).await
            }
            Sender::Two(sender) => {
                sender.ready().await.map_err(|_| NoAnswer::NotSent)?;
                sender.try_send_request(request).await
            }
        };
        let response = sent.map_err(|mut error| match error.take_message() {
            Some(_) => NoAnswer::NotSent,
            None => NoAnswer::of(error.into_error()),
        })?;
        let (head, body) = response.into_parts();
        let collected = body.collect().await.map_err(NoAnswer::Lost)?;
        let trailers = collected.trailers().cloned().unwrap_or_default();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: collected.to_bytes(),
            trailers,
            version: head.version,
        })
    }

    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answer, NoAnswer> {
        self.send(post(path, body)).await
    }
}

/// A JSON request as the API server would send it.
pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("https://localhost{path}"))
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

/// A TLS connection without HTTP on it yet.
pub(crate) async fn connect_tls(
    address: SocketAddr,
    trust: &Trust,
    http: Http,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = connect(address, trust.from.unwrap_or([127, 0, 0, 1])).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(trust.config(http))
        .connect(name, stream)
        .await
}

/// The protocol that is agreed on with a client which asks for `name` and speaks these.
pub(crate) async fn agreed(
    address: SocketAddr,
    trust: &Trust,
    name: &'static str,
    spoken: &[&str],
) -> io::Result<Option<String>> {
    let stream = connect(address, [127, 0, 0, 1]).await?;
    let mut config = Arc::unwrap_or_clone(trust.config(Http::One));
    config.alpn_protocols = spoken.iter().map(|one| one.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name).unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let agreed = stream.get_ref().1.alpn_protocol();
    Ok(agreed.map(|one| String::from_utf8_lossy(one).into_owned()))
}

/// A TCP connection from an address of loopback.
pub(crate) async fn connect(address: SocketAddr, from: [u8; 4]) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    socket.connect(address).await
}
