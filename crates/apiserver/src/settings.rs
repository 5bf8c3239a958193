//! How a server is set up.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::clock;
use crate::usage::ResourceMetrics;

/// Tells the time that objects are stamped with.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a server is set up.
#[derive(Clone)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// HTTPS under a certificate authority of its own, else plain HTTP.
    pub tls: bool,
    /// Whether a bearer token has to be given; any is accepted.
    pub require_token: bool,
    /// How many changes of each resource are remembered for watches.
    pub history: usize,
    /// How often an idle watch that wants bookmarks gets one.
    pub bookmark_interval: Duration,
    /// Decides UIDs and generated names.
    pub seed: u64,
    /// The time of the cluster.
    pub clock: Clock,
    /// What `metrics.k8s.io` answers; without it the group is not served.
    pub metrics: Option<Arc<dyn ResourceMetrics>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            require_token: false,
            history: 8_192,
            bookmark_interval: Duration::from_secs(5),
            seed: 0,
            clock: Arc::new(clock::now),
            metrics: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("address", &self.address)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}
