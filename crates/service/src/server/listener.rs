//! A socket that accepts connections, in plain HTTP or over TLS, until the service drains. The
//! number of connections is bounded: a newcomer replaces the least needed one
//! ([`ConnectionLimiter`]). After a failure to accept, such as too many open files, the listener
//! waits before it tries again.

mod handshake;
mod socket;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio_rustls::server::TlsStream;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use self::handshake::{TlsConnection, handshake};
use super::connection::{CloseReason, ConnectionClient, ConnectionContext, PeerAddress, Protocol};
use super::connection_limiter::{ConnectionLimiter, Slot};
use super::drain::Shutdown;
use super::error::ServerError;
use super::metrics::ListenerMetrics;
use super::settings::ListenerSettings;
use super::tls::CertificateStore;
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;

/// After a failure to accept: long enough not to spin, short enough not to be noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The kernel asks after a silent peer from then on.
const KEEPALIVE_AFTER: Duration = Duration::from_mins(1);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The protocol below HTTP.
#[derive(Debug, Clone)]
pub enum Transport {
    /// No protocol between TCP and HTTP/1.1.
    Plain,
    /// None between TCP and HTTP/2, which gRPC clients speak from the first byte.
    PlainHttp2,
    /// TLS with HTTP/2 or HTTP/1.1, as the client likes.
    Tls {
        certificates: Arc<CertificateStore>,
        /// Serves clients with a certificate of the scheduler's authority, after their handshake. If
        /// it is `None`, the runtime of the listener does.
        scheduler_thread: Option<Handle>,
    },
}

impl Transport {
    /// TLS, all of it on the runtime of the listener.
    pub const fn tls(certificates: Arc<CertificateStore>) -> Self {
        Self::Tls {
            certificates,
            scheduler_thread: None,
        }
    }
}

/// A bound socket, not serving yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    settings: ListenerSettings,
    transport: Transport,
    metrics: ListenerMetrics,
}

impl Listener {
    /// Binds `address` and serves nothing yet; within a runtime.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(
        address: SocketAddr,
        settings: ListenerSettings,
        transport: Transport,
        metrics: ListenerMetrics,
    ) -> Result<Self, ServerError> {
        let socket =
            socket::listen(address).map_err(|source| ServerError::Bind { address, source })?;
        Ok(Self {
            socket,
            settings,
            transport,
            metrics,
        })
    }

    /// The bound address, with the port that the system chose if none was given.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves `router` until the service has drained: returns when every connection is closed.
    pub async fn serve(self, router: Router, shutdown: Shutdown) {
        let Self {
            socket,
            settings,
            transport,
            metrics,
        } = self;
        let accepting = AcceptLoop {
            transport,
            slots: ConnectionLimiter::new(settings.connections),
            serving: ConnectionContext {
                router,
                client: ConnectionClient::default(),
                // That of each connection takes its place.
                address: PeerAddress(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
                settings,
                shutdown,
            },
            metrics,
            connections: TaskTracker::new(),
            log: Arc::default(),
        };
        accepting.run(socket).await;
    }
}

struct AcceptLoop {
    transport: Transport,
    serving: ConnectionContext,
    metrics: ListenerMetrics,
    slots: ConnectionLimiter,
    connections: TaskTracker,
    log: Arc<RateLimited<&'static str>>,
}

impl AcceptLoop {
    async fn run(self, socket: TcpListener) {
        tokio::select! {
            biased;
            () = self.serving.shutdown.draining() => {}
            () = self.accept(&socket) => {}
        }
        self.accept_rest(socket);
        self.connections.close();
        self.connections.wait().await;
    }

    /// Accepts connections until the service drains.
    async fn accept(&self, socket: &TcpListener) {
        loop {
            match socket.accept().await {
                Ok((stream, peer)) => self.spawn(stream, peer.ip()),
                Err(error) => {
                    self.metrics
                        .connections()
                        .accept_failures(self.serving.settings.name)
                        .inc();
                    if let Some(suppressed) = self.log.permit("accept", clock::instant()) {
                        tracing::warn!(
                            listener = self.serving.settings.name,
                            error = &error as &dyn std::error::Error,
                            suppressed,
                            "no connection can be accepted"
                        );
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Takes what the kernel has accepted already: to the clients these connections are open.
    fn accept_rest(&self, socket: TcpListener) {
        let Ok(socket) = socket.into_std() else {
            return;
        };
        while let Ok((stream, peer)) = socket.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.spawn(stream, peer.ip());
            }
        }
    }

    fn spawn(&self, stream: TcpStream, peer: IpAddr) {
        let slot = Arc::new(self.slots.admit(peer));
        let name = self.serving.settings.name;
        let open = self.metrics.connections().open(name);
        let transport = self.transport.clone();
        let serving = ConnectionContext {
            address: PeerAddress(peer.to_canonical()),
            ..self.serving.clone()
        };
        let metrics = self.metrics.clone();
        let log = Arc::clone(&self.log);
        self.connections.spawn(async move {
            let served = tokio::select! {
                biased;
                () = slot.crowded_out() => Ok(CloseReason::Crowded),
                served = serve(stream, transport, serving, &slot) => served,
            };
            let closed = match served {
                Ok(closed) => closed,
                Err(failure) => {
                    metrics
                        .connections()
                        .handshake_failures(failure.reason())
                        .inc();
                    failure.log(&log);
                    CloseReason::InOrder
                }
            };
            if let Some(reason) = closed.reason() {
                metrics.connections().closed(name, reason).inc();
            }
            drop(open);
        });
    }
}

async fn serve(
    stream: TcpStream,
    transport: Transport,
    serving: ConnectionContext,
    slot: &Arc<Slot>,
) -> Result<CloseReason, handshake::HandshakeFailure> {
    // Best effort: a connection without these is slower or longer-lived, and works.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(&stream).set_tcp_keepalive(
        &TcpKeepalive::new()
            .with_time(KEEPALIVE_AFTER)
            .with_interval(KEEPALIVE_INTERVAL),
    );
    match transport {
        Transport::Plain => Ok(serving.run(stream, Protocol::Http1, slot).await),
        Transport::PlainHttp2 => Ok(serving.run(stream, Protocol::Http2, slot).await),
        Transport::Tls {
            certificates,
            scheduler_thread,
        } => {
            let begun = tokio::select! {
                () = serving.shutdown.over() => return Ok(CloseReason::Aborted),
                begun = handshake(certificates, stream, serving.settings.handshake_timeout) => begun?,
            };
            let is_scheduler = begun.peer.is_scheduler(clock::now());
            if is_scheduler {
                slot.take_scheduler_slot();
            }
            let TlsConnection {
                stream,
                protocol,
                peer,
            } = begun;
            let serving = ConnectionContext {
                client: ConnectionClient {
                    peer: Some(peer),
                    is_scheduler,
                },
                ..serving
            };
            match scheduler_thread.filter(|_| is_scheduler) {
                None => Ok(serving.run(stream, protocol, slot).await),
                Some(thread) => Ok(run_on(&thread, stream, protocol, serving, slot).await),
            }
        }
    }
}

/// Serves a connection on `thread` to its end.
async fn run_on(
    thread: &Handle,
    mut stream: TlsStream<TcpStream>,
    protocol: Protocol,
    serving: ConnectionContext,
    slot: &Arc<Slot>,
) -> CloseReason {
    let slot = Arc::clone(slot);
    let served = thread.spawn(async move {
        // Best effort: otherwise the thread that accepted it keeps watching the socket, and wakes this
        // one.
        let _ = watch_here(stream.get_mut().0);
        serving.run(stream, protocol, &slot).await
    });
    // The caller may stop waiting, for example because others need the slot.
    match AbortOnDropHandle::new(served).await {
        Ok(closed) => closed,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => CloseReason::Aborted,
        },
    }
}

/// Lets the runtime of this task watch the socket, instead of the one that accepted it.
fn watch_here(stream: &mut TcpStream) -> std::io::Result<()> {
    let same = SockRef::from(&*stream).try_clone()?;
    *stream = TcpStream::from_std(same.into())?;
    Ok(())
}
