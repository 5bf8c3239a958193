//! Settings of the listeners and of the end of the service.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Addresses to listen on, and the end of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Webhook and extender, over TLS.
    pub https: SocketAddr,
    pub http: SocketAddr,
    /// The dashboard; without authentication, so on loopback.
    pub dashboard: SocketAddr,
    /// Names by which it may be asked for besides those of loopback, without a port.
    pub dashboard_hosts: Vec<String>,
    /// Bounds of the connections of webhook and extender.
    pub webhook: ListenerSettings,
    pub drain: DrainSettings,
}

/// Bounds of the connections of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerSettings {
    /// The name in metrics and logs.
    pub name: &'static str,
    /// Connections open at a time.
    pub max_connections: NonZeroUsize,
    /// Time limit of a TLS handshake.
    pub handshake_timeout: Duration,
    /// Time limit of a request head; between this long and twice as long.
    pub header_timeout: Duration,
    /// Time for which a connection may be without a request. Longer than clients keep theirs (90 s
    /// in Go), so that it is the client that closes.
    pub idle_timeout: Duration,
}

impl ListenerSettings {
    /// A listener called `name` with the usual bounds.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            max_connections: const { NonZeroUsize::new(4096).expect("not zero") },
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
        }
    }

    /// The idle timeout in header timeouts, at which connections are looked at.
    pub(super) fn idle_intervals(&self) -> u32 {
        let intervals = self.idle_timeout.as_millis() / self.header_timeout.as_millis().max(1);
        u32::try_from(intervals).unwrap_or(u32::MAX).max(1)
    }
}

/// Lengths of the phases of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainSettings {
    /// From the signal until no more connections are accepted.
    pub delay: Duration,
    /// From then until whatever is left is dropped.
    pub timeout: Duration,
}
