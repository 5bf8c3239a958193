//! When a controller looks again.

use std::time::Duration;

use tokio::sync::watch;

use crate::store::Stores;

/// How long a controller waits for its own writes to be seen before it looks again: at every
/// change of the cluster, but not more often.
const SETTLE: Duration = Duration::from_millis(5);

/// Looks again at least this often, so that a write that failed is tried again.
const RESYNC: Duration = Duration::from_secs(2);

/// Tells a controller when to look again.
pub(super) struct ResyncSignal(watch::Receiver<u64>);

impl ResyncSignal {
    /// The signal of a controller that is about to look.
    pub(super) fn of(stores: &Stores) -> Self {
        Self(stores.changes())
    }

    /// Waits until something has changed since the last look, or it is time to try again.
    pub(super) async fn next(&mut self) {
        tokio::time::sleep(SETTLE).await;
        // An error would mean that the stores are dropped, and then this task ends too.
        let _ = tokio::time::timeout(RESYNC, self.0.changed()).await;
    }
}
