//! Faults on command: an outage.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Makes a running server fail on command; clones act on the same server.
#[derive(Debug, Clone)]
pub struct Control {
    outage: watch::Sender<Outage>,
    connections: Arc<Mutex<CancellationToken>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outage {
    None,
    For(Duration),
}

impl Control {
    pub(crate) fn new() -> Self {
        Self {
            outage: watch::Sender::new(Outage::None),
            connections: Arc::default(),
        }
    }

    /// Cuts all connections and refuses new ones for `pause`; stored objects stay.
    pub fn restart(&self, pause: Duration) {
        self.outage.send_replace(Outage::For(pause));
        self.cut();
    }

    /// Ends all present connections.
    pub(crate) fn cut(&self) {
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *connections).cancel();
    }

    /// Cancelled when the present connections are cut.
    pub(crate) fn connection(&self) -> CancellationToken {
        let connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connections.clone()
    }

    pub(crate) fn outages(&self) -> watch::Receiver<Outage> {
        self.outage.subscribe()
    }

    pub(crate) fn recovered(&self) {
        self.outage.send_replace(Outage::None);
    }
}
