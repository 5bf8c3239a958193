//! The bounds of a path, and what its guard tells the handler of a request.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_units::Bytes;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::budget::{BodyBudget, Charge};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    pub body: Bytes,
    pub body_pace: BodyPace,
    /// Requests answered at a time; those beyond it are shed.
    pub concurrency: NonZeroUsize,
}

/// Time that a body may take to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPace {
    /// Time that every body has, however slow.
    pub grace: Duration,
    /// Bytes a second for which it has more.
    pub rate: Bytes,
    /// The end, at whatever rate.
    pub longest: Duration,
}

impl BodyPace {
    /// Time from a request's head until more than `length` bytes have to be there.
    pub(super) fn limit(&self, length: u64) -> Duration {
        let Self {
            grace,
            rate,
            longest,
        } = *self;
        let millis = length.saturating_mul(1000) / rate.0.max(1);
        let earned = Duration::from_millis(millis);
        grace.saturating_add(earned).min(longest)
    }
}

/// The requests of a path that are being answered.
#[derive(Debug)]
pub(super) struct ConcurrencyLimiter {
    normal: Arc<Semaphore>,
    shed: Counter,
}

impl ConcurrencyLimiter {
    pub(super) fn new(concurrency: NonZeroUsize, shed: Counter) -> Self {
        let most = concurrency.get().min(Semaphore::MAX_PERMITS);
        Self {
            normal: Arc::new(Semaphore::new(most)),
            shed,
        }
    }

    /// A turn for a complete request, held while it waits for the processor, so that turns run out
    /// when more arrive than can be answered.
    pub(super) async fn take(&self) -> (LoadShedDecision, Option<OwnedSemaphorePermit>) {
        let Ok(permit) = Arc::clone(&self.normal).try_acquire_owned() else {
            self.shed.inc();
            return (LoadShedDecision::Shed, None);
        };
        tokio::task::yield_now().await;
        (LoadShedDecision::Normal, Some(permit))
    }
}

/// Place of a request relative to the concurrency limit of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadShedDecision {
    /// Within it: the handler does its work.
    Normal,
    /// Beyond it: the handler answers at once so as to change nothing.
    Shed,
}

/// A request that the guard has let through, as the handler sees it.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub limits: PathLimits,
    pub budget: Arc<BodyBudget>,
    pub turns: Arc<ConcurrencyLimiter>,
    /// Takes the room of the body once it has arrived.
    pub charge: Charge,
    pub started: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_a_grace_and_then_the_time_of_its_bytes() {
        let pace = BodyPace {
            grace: Duration::from_millis(500),
            rate: Bytes(1000),
            longest: Duration::from_secs(10),
        };
        for (length, limit) in [
            (0, 500),
            (1, 501),
            (2000, 2500),
            (9500, 10_000),
            (9501, 10_000),
            (u64::MAX, 10_000),
        ] {
            assert_eq!(pace.limit(length), Duration::from_millis(limit), "{length}");
        }
    }
}
