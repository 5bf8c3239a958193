//! The share of a core in which models are fitted.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_units::Ratio;
use evenkeel_units::panic_error::{PanicError, caught};
use tokio::sync::Mutex;

/// One piece of work at a time, each with a rest after it; clones share the core.
#[derive(Debug, Clone)]
pub struct FitCore {
    /// Held while something is fitted, and during the rest after it.
    busy: Arc<Mutex<()>>,
    share: Ratio,
}

impl FitCore {
    /// Work takes this share of a core, and rests for the other part of the time.
    pub fn new(share: Ratio) -> Self {
        Self {
            busy: Arc::default(),
            share,
        }
    }

    /// Does one piece of work on the blocking pool, and rests. Tells how long it took.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> (Result<T, PanicError>, Duration) {
        let _core = self.busy.lock().await;
        let worked = tokio::task::spawn_blocking(move || {
            let begun = clock::instant();
            let worked = caught(work);
            (worked, begun.elapsed())
        });
        let Ok((worked, took)) = worked.await else {
            // Only a runtime that shuts down cancels its blocking work.
            return std::future::pending().await;
        };
        let rests = 1.0 / self.share.get() - 1.0;
        tokio::time::sleep(took.mul_f64(rests.max(0.0))).await;
        (worked, took)
    }
}
