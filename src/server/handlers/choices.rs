//! Waiting for kube-scheduler's choice where the next answer depends on it.
//!
//! kube-scheduler asks about the next Pod beside telling where the last one went, and is mostly a millisecond
//! too early. A guess would then refuse a node for the sake of a Pod that went elsewhere, and the Pod that is
//! asked about ends where it fits worse. So such an answer, and no other, waits for the notice: until a few
//! milliseconds have passed since the last Pod was scored, and only while notices do come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use evenkeel_clock as clock;
use evenkeel_kubernetes::extender::bind::PATIENCE;

/// What is known of the choices to come.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// When an answer last left a choice.
    left: Mutex<Option<Instant>>,
    /// True where the last answer that was waited for was followed by a notice.
    come: AtomicBool,
    told: Notify,
}

impl Choices {
    /// An answer has left a choice to kube-scheduler.
    pub(super) fn left(&self) {
        let now = clock::runtime();
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// kube-scheduler has told a choice.
    pub(super) fn told(&self) {
        self.come.store(true, Ordering::Relaxed);
        self.told.notify_waiters();
    }

    /// The next notice from now on, for [`Self::wait`].
    pub(super) fn next(&self) -> Notified<'_> {
        self.told.notified()
    }

    /// Waits for `next`: true where it has come in time, `None` where there was nothing to wait for.
    pub(super) async fn wait(&self, next: Notified<'_>) -> Option<bool> {
        let left = *self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let until = left? + PATIENCE;
        if !self.come.load(Ordering::Relaxed) || until <= clock::runtime() {
            return None;
        }
        let has_come = tokio::time::timeout_at(until, next).await.is_ok();
        self.come.fetch_and(has_come, Ordering::Relaxed);
        Some(has_come)
    }
}
