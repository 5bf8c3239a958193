//! Settings of the listeners and of the end of the service.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::scrape_access::MetricsAuthentication;

/// Addresses to listen on, and the end of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Webhook and extender, over TLS.
    pub https: SocketAddr,
    pub http: SocketAddr,
    pub metrics: SocketAddr,
    pub metrics_authentication: MetricsAuthentication,
    /// True where the group of external metrics is served beside webhook and extender.
    pub external_metrics: bool,
    /// The dashboard; without authentication, so on loopback.
    pub dashboard: SocketAddr,
    /// Names by which it may be asked for besides those of loopback, without a port.
    pub dashboard_hosts: Vec<String>,
    /// Bounds of the connections of webhook and extender.
    pub webhook: ListenerSettings,
    pub drain: DrainSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerSettings {
    pub name: &'static str,
    pub connections: ConnectionBounds,
    pub handshake_timeout: Duration,
    /// Time limit of a request head, and of a client that takes an answer; effectively up to twice
    /// as long.
    pub header_timeout: Duration,
    /// Time for which a connection may be idle. Longer than clients keep theirs (90 s in Go), so
    /// that the client closes.
    pub idle_timeout: Duration,
    /// Concurrent requests on one HTTP/2 connection; a client with more opens another.
    pub streams: u32,
}

/// Requests on one connection of a client that asks for a page.
const FEW_STREAMS: u32 = 8;

/// Connections that are open at a time. Each costs a descriptor and up to some 50 KB; over HTTP/2
/// also, for each request under way, up to 16 KiB while its head is read and some 2 KB until its
/// answer is taken. The callers' budgets bound bodies and answers, and no answer is kept for longer
/// than twice the header timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionBounds {
    /// Of all clients without a certificate of the scheduler's authority.
    pub total: NonZeroUsize,
    /// Of these, from one address.
    pub per_peer: NonZeroUsize,
    /// Of clients with such a certificate, beside the total.
    pub scheduler: NonZeroUsize,
}

impl ConnectionBounds {
    /// The same, or less where fewer than all may be open together.
    pub fn within(self, most: usize) -> Self {
        let total = self
            .total
            .get()
            .min(most.saturating_sub(self.scheduler.get()));
        Self::new(total, self.per_peer.get().min(total), self.scheduler.get())
    }

    /// All that may be open together.
    pub const fn all(&self) -> usize {
        self.total.get().saturating_add(self.scheduler.get())
    }
}

impl Default for ConnectionBounds {
    /// A cluster has few API servers, each with its own address and one or two connections: a
    /// thousand is hundreds of times more. Idle connections take 50 MB at most; with a hundred
    /// requests each and no answer taken, they take 250 MB.
    fn default() -> Self {
        const { Self::new(1024, 256, 64) }
    }
}

impl ConnectionBounds {
    pub const fn new(total: usize, per_peer: usize, scheduler: usize) -> Self {
        const fn positive(count: usize) -> NonZeroUsize {
            match NonZeroUsize::new(count) {
                Some(count) => count,
                None => NonZeroUsize::MIN,
            }
        }
        Self {
            total: positive(total),
            per_peer: positive(per_peer),
            scheduler: positive(scheduler),
        }
    }
}

impl ListenerSettings {
    /// A listener called `name` with the usual bounds.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            connections: ConnectionBounds::default(),
            // Three times as long as the API server waits for the whole of its call.
            handshake_timeout: Duration::from_secs(3),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(10),
            // As many as a Go client sends before it has read what the server allows.
            streams: 100,
        }
    }

    /// The probes' listener. The kubelet closes each probe's connection at once, so a lingering one
    /// is not the kubelet's.
    pub fn for_probes() -> Self {
        Self {
            connections: const { ConnectionBounds::new(64, 32, 1) },
            header_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(10),
            streams: FEW_STREAMS,
            ..Self::new("probes")
        }
    }

    /// The dashboard's listener; all its callers come from loopback.
    pub(crate) fn for_dashboard() -> Self {
        Self {
            connections: const { ConnectionBounds::new(128, 128, 1) },
            streams: FEW_STREAMS,
            ..Self::new("dashboard")
        }
    }

    /// The listener of metrics: a few readers that take a page within seconds.
    pub fn for_metrics() -> Self {
        Self {
            connections: const { ConnectionBounds::new(64, 16, 1) },
            header_timeout: Duration::from_secs(5),
            streams: FEW_STREAMS,
            ..Self::new("metrics")
        }
    }

    /// A gRPC listener of the metrics provider, for jobs that ask a few questions one after another
    /// over a connection each.
    pub(crate) fn for_jobs(name: &'static str) -> Self {
        Self {
            connections: const { ConnectionBounds::new(256, 16, 1) },
            streams: FEW_STREAMS,
            ..Self::new(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_open_files_are_fewer_connections() {
        let bounds = ConnectionBounds::new(100, 20, 10);
        assert_eq!(bounds.all(), 110);
        assert_eq!(bounds.within(110), bounds);
        assert_eq!(bounds.within(60), ConnectionBounds::new(50, 20, 10));
        assert_eq!(bounds.within(15), ConnectionBounds::new(5, 5, 10));
        assert_eq!(bounds.within(0), ConnectionBounds::new(1, 1, 10));
    }
}
