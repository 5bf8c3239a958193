//! The settings of a server.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::clock;
use crate::usage::{CustomMetrics, ResourceMetrics};

/// The time for objects.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Settings of a server. The default is plain HTTP on a free port of loopback, with the machine's
/// clock and without metrics.
#[derive(Clone)]
pub struct Settings {
    /// The address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// HTTPS under a certificate authority of its own, else plain HTTP.
    pub tls: bool,
    /// The bearer token of the one user: a request without it is answered 401, whatever its path.
    /// [`kubeconfig`](crate::ApiServer::kubeconfig) contains it. Without a token, every client that
    /// reaches the port is an administrator: on loopback, every user of the machine.
    /// kubectl and client-go send tokens over TLS only.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use evenkeel_apiserver::{ApiServer, Settings};
    ///
    /// let server = ApiServer::start(Settings {
    ///     tls: true,
    ///     token: Some("pick-a-random-one".to_owned()),
    ///     ..Settings::default()
    /// })
    /// .await?;
    /// assert!(server.kubeconfig().contains("token: \"pick-a-random-one\""));
    /// server.stop().await;
    /// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub token: Option<String>,
    /// Number of remembered changes per resource; a watch from an older version is answered 410.
    pub history: usize,
    /// Interval of bookmarks on idle watches that allow them.
    pub bookmark_interval: Duration,
    /// Decides UIDs and generated names: the same seed and order of requests give the same.
    pub seed: u64,
    /// The cluster's time, which may differ from the machine's.
    pub clock: Clock,
    /// For `metrics.k8s.io`, which is not served without it.
    pub metrics: Option<Arc<dyn ResourceMetrics>>,
    /// For custom and external metrics; without it neither group is served.
    pub custom_metrics: Option<Arc<dyn CustomMetrics>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            token: None,
            history: 8_192,
            bookmark_interval: Duration::from_secs(5),
            seed: 0,
            clock: Arc::new(clock::now),
            metrics: None,
            custom_metrics: None,
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
