//! When a controller looks again.

use std::time::Duration;

use tokio::sync::watch;

use crate::store::Stores;

/// Pause for a controller's own writes to appear; it limits the rate of looks at a changing
/// cluster.
const SETTLE: Duration = Duration::from_millis(5);

/// Longest pause, after which a failed write is tried again.
const RESYNC: Duration = Duration::from_secs(2);

pub(super) struct ResyncSignal(watch::Receiver<u64>);

impl ResyncSignal {
    /// Signal of a controller that is about to look.
    pub(super) fn of(stores: &Stores) -> Self {
        Self(stores.changes())
    }

    /// Waits for a change since the last look, or for [`RESYNC`].
    pub(super) async fn next(&mut self) {
        tokio::time::sleep(SETTLE).await;
        // An error would mean that the stores are dropped, and then this task ends too.
        let _ = tokio::time::timeout(RESYNC, self.0.changed()).await;
    }
}
