//! One connection from its first request to its end. When the service leaves, HTTP/1.1 clients get
//! `Connection: close` with their next answer; a quiet connection is closed a moment after the last
//! new one was accepted. HTTP/2 has GOAWAY, which loses no request.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, Response, Version, header};
use evenkeel_clock as clock;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;
use tower::ServiceExt;

use super::activity::{Activity, ActivityStream, ConnectionVerdict, ConnectionWatchdog, InFlight};
use super::budget::Charge;
use super::connection_limiter::Slot;
use super::drain::{Shutdown, ShutdownPhase};
use super::error::CloseConnection;
use super::settings::ListenerSettings;
use super::tls::Peer;
use super::tracked_body::TrackedBody;

/// A quiet HTTP/1.1 connection stays open this long after the last accept: a request may be under
/// way from a client that did not know yet.
const LINGER: Duration = Duration::from_secs(1);

/// A request body of several megabytes should not wait for the window.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// Pings find HTTP/2 connections without a client.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Reason for which a connection was closed from this side without a word in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// It was not: the client went, or the last answer said so.
    InOrder,
    /// A request head did not arrive in time.
    SlowHead,
    /// Its client did not take an answer in time.
    SlowReader,
    Idle,
    /// Another connection took its slot.
    Crowded,
    /// The client's certificate started or stopped counting as kube-scheduler's while it was open.
    OtherClient,
    /// The service was over while it was open.
    Aborted,
}

impl CloseReason {
    /// A short name for metrics; `None` where all was in order.
    pub(super) const fn reason(self) -> Option<&'static str> {
        match self {
            Self::InOrder => None,
            Self::SlowHead => Some("SlowHead"),
            Self::SlowReader => Some("SlowReader"),
            Self::Idle => Some("Idle"),
            Self::Crowded => Some("Crowded"),
            Self::OtherClient => Some("OtherClient"),
            Self::Aborted => Some("Aborted"),
        }
    }
}

/// The router and the peer of a connection, and its bounds.
#[derive(Debug, Clone)]
pub(super) struct ConnectionContext {
    pub router: Router,
    pub client: ConnectionClient,
    pub address: PeerAddress,
    pub settings: ListenerSettings,
    pub shutdown: Shutdown,
}

/// The client of a connection by its certificate.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionClient {
    /// `None` without TLS.
    pub peer: Option<Arc<Peer>>,
    /// As it was at the handshake: the client has a slot and the thread of kube-scheduler.
    pub is_scheduler: bool,
}

impl ConnectionClient {
    /// The certificate counts for something else than at the handshake: it has expired, or the
    /// authorities have changed.
    fn has_changed(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| peer.is_scheduler(clock::now()) != self.is_scheduler)
    }
}

/// The address from which a connection comes, as each of its requests has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

impl ConnectionContext {
    /// Serves `stream` to its end.
    pub(super) async fn run<I>(self, stream: I, protocol: Protocol, slot: &Arc<Slot>) -> CloseReason
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = slot.activity().clone();
        let service = ConnectionService {
            router: self.router,
            client: self.client.clone(),
            address: self.address,
            shutdown: self.shutdown.clone(),
            slot: Arc::downgrade(slot),
            activity: activity.clone(),
        };
        let end = ConnectionLifetime {
            protocol,
            client: self.client,
            settings: self.settings,
            shutdown: self.shutdown,
            activity: activity.clone(),
        };
        match protocol {
            Protocol::Http1 => {
                let stream = TokioIo::new(ActivityStream::new(stream, activity));
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    // Kept by `ConnectionLifetime`, which lets an idle connection be.
                    .header_read_timeout(None)
                    .serve_connection(stream, service);
                end.drive(connection).await
            }
            Protocol::Http2 => {
                let stream = TokioIo::new(stream);
                let connection = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(PING_INTERVAL)
                    .keep_alive_timeout(PING_TIMEOUT)
                    .max_concurrent_streams(end.settings.streams)
                    .initial_stream_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .serve_connection(stream, service);
                end.drive(connection).await
            }
        }
    }
}

/// Marks an answer that goes on for as long as its client wants, such as a stream of events. It is
/// not late while its client takes what there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastingAnswer;

struct ConnectionLifetime {
    protocol: Protocol,
    client: ConnectionClient,
    settings: ListenerSettings,
    shutdown: Shutdown,
    activity: Activity,
}

impl ConnectionLifetime {
    async fn drive<C: GracefulConnection>(self, connection: C) -> CloseReason {
        let mut connection = pin!(connection);
        let mut draining = pin!(self.last_word());
        let mut over = pin!(self.shutdown.over());
        let mut told = false;
        let mut closed = CloseReason::InOrder;
        let mut pace =
            ConnectionWatchdog::new(self.activity.clone(), self.settings.idle_intervals());
        let mut looks = tokio::time::interval(self.settings.header_timeout);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // An error means that the client broke off or broke the protocol, which should not
                // fill the log.
                _ = connection.as_mut() => return closed,
                () = &mut over => return CloseReason::Aborted,
                () = &mut draining, if !told => {
                    told = true;
                    connection.as_mut().graceful_shutdown();
                }
                _ = looks.tick() => {
                    let reason = match pace.look() {
                        ConnectionVerdict::SlowHead => return CloseReason::SlowHead,
                        ConnectionVerdict::SlowReader => return CloseReason::SlowReader,
                        ConnectionVerdict::Idle if closed == CloseReason::Idle => return CloseReason::Idle,
                        ConnectionVerdict::Idle => CloseReason::Idle,
                        ConnectionVerdict::Keep if self.client.has_changed() => CloseReason::OtherClient,
                        ConnectionVerdict::Keep => continue,
                    };
                    closed = reason;
                    // A busy one gets `Connection: close` with its next answer.
                    if self.protocol == Protocol::Http2 || !self.activity.is_busy() {
                        connection.as_mut().graceful_shutdown();
                    }
                }
            }
        }
    }

    /// Waits until the connection should be told to end.
    async fn last_word(&self) {
        self.shutdown.draining().await;
        if self.protocol == Protocol::Http2 {
            return;
        }
        // A begun request is answered with `Connection: close` without help; until then hyper may
        // not be told, because it would drop half a head.
        tokio::time::sleep(LINGER).await;
        while self.activity.is_busy() {
            tokio::time::sleep(LINGER).await;
        }
    }
}

/// The service that hyper calls for each request of a connection.
#[derive(Debug)]
struct ConnectionService {
    router: Router,
    client: ConnectionClient,
    address: PeerAddress,
    shutdown: Shutdown,
    /// Requests may outlast their connection, which is no use of it.
    slot: Weak<Slot>,
    activity: Activity,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<TrackedBody<(InFlight, Option<Charge>)>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let mut in_flight = self.activity.call();
        let version = request.version();
        request.extensions_mut().insert(self.address);
        if let Some(peer) = &self.client.peer {
            request.extensions_mut().insert(Arc::clone(peer));
        }
        let (shutdown, slot) = (self.shutdown.clone(), self.slot.clone());
        let has_changed = self.client.has_changed();
        let answer = self.router.clone().oneshot(request);
        Box::pin(async move {
            let mut response = answer.await?;
            if response.status().is_success()
                && let Some(slot) = slot.upgrade()
            {
                slot.used();
            }
            let closes = response
                .extensions_mut()
                .remove::<CloseConnection>()
                .is_some()
                || shutdown.phase() > ShutdownPhase::Serving
                || has_changed;
            if closes && version < Version::HTTP_2 {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            if response
                .extensions_mut()
                .remove::<LastingAnswer>()
                .is_none()
            {
                in_flight.answered();
            }
            let charge = response.extensions_mut().remove::<Charge>();
            Ok(response.map(|body| TrackedBody::new(body, (in_flight, charge))))
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::connection_limiter::ConnectionLimiter;
    use super::super::drain::Drain;
    use super::super::settings::DrainSettings;
    use super::*;

    /// An answer with a line a second for ever.
    fn ticking(lasts: bool) -> Response<Body> {
        let lines = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, Infallible>("tick\n"), ()))
        });
        let mut response = Response::new(Body::from_stream(lines));
        if lasts {
            response.extensions_mut().insert(LastingAnswer);
        }
        response
    }

    /// The end of a connection with such an answer within five minutes.
    async fn end(lasts: bool, client_reads: bool) -> Option<CloseReason> {
        let drain = Drain::new(DrainSettings {
            delay: Duration::ZERO,
            timeout: Duration::ZERO,
        });
        let settings = ListenerSettings::new("test");
        let address = IpAddr::from([127, 0, 0, 1]);
        let slot = Arc::new(ConnectionLimiter::new(settings.connections).admit(address));
        let context = ConnectionContext {
            router: Router::new().route("/", get(async move || ticking(lasts))),
            client: ConnectionClient::default(),
            address: PeerAddress(address),
            settings,
            shutdown: drain.observer(),
        };
        let (mut client, stream) = tokio::io::duplex(256);
        let head = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        client.write_all(head).await.unwrap();
        let reading = async {
            let mut buffer = [0; 256];
            while client_reads && client.read(&mut buffer).await.unwrap() > 0 {}
            std::future::pending::<()>().await;
        };
        let served = context.run(stream, Protocol::Http1, &slot);
        tokio::select! {
            reason = served => Some(reason),
            () = reading => None,
            () = tokio::time::sleep(Duration::from_mins(5)) => None,
        }
    }

    /// The harm: a stream of events ended after ten seconds, because its answer was never complete.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_lasts_is_late_only_if_its_client_does_not_read() {
        assert_eq!(end(true, true).await, None);
        assert_eq!(end(true, false).await, Some(CloseReason::SlowReader));
        assert_eq!(end(false, true).await, Some(CloseReason::SlowReader));
    }
}
