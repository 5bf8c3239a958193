//! The memory that the bodies of a listener's requests may take together.
//!
//! A request reserves room for its body before the body is read, so that clients who announce much
//! and withhold the rest cannot take more than this, however many they are. Room that is not free
//! soon is not waited for: both callers go on by themselves when they are refused, and would have
//! given up by then.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;
use super::metrics::Metrics;
use evenkeel_core::units::Bytes;

/// Time for which a request waits for its turn or for room: half of the 200 ms that kube-scheduler
/// waits for an answer, and many times what a body in transit takes to be answered.
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// Unit of the budget: small enough not to waste room on small bodies, large enough for a
/// semaphore.
const UNIT: u64 = 1024;

/// Room for bodies, shared by all paths of a listener.
#[derive(Debug)]
pub(super) struct BodyBudget {
    room: Arc<Semaphore>,
    units: u32,
    held: Gauge,
    refused: Counter,
}

/// Room for one body, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    permit: Option<OwnedSemaphorePermit>,
    held: Gauge,
}

impl BodyBudget {
    /// Room for `size` in all, rounded down to whole KiB.
    pub(super) fn new(size: Bytes, metrics: &Metrics) -> Self {
        let units = u32::try_from(size.0 / UNIT).unwrap_or(u32::MAX);
        Self {
            room: Arc::new(Semaphore::new(usize::try_from(units).unwrap_or(usize::MAX))),
            units,
            held: metrics.body_room_held(),
            refused: metrics.body_room_refused(),
        }
    }

    /// The largest body that there is ever room for.
    pub(super) fn largest(&self) -> u64 {
        u64::from(self.units) * UNIT
    }

    pub(super) fn none(&self) -> Room {
        Room {
            permit: None,
            held: self.held.clone(),
        }
    }

    /// Makes `room` large enough for a body of `length`, which is no more than the largest.
    ///
    /// # Errors
    /// 503 where others hold what is needed.
    pub(super) async fn widen(&self, room: &mut Room, length: u64) -> Result<(), ApiError> {
        let needed = usize::try_from(length.div_ceil(UNIT)).unwrap_or(usize::MAX);
        let missing = needed.saturating_sub(room.units());
        if missing == 0 {
            return Ok(());
        }
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let acquired = Arc::clone(&self.room).acquire_many_owned(missing);
        let Ok(permit) = tokio::time::timeout(WAIT, acquired).await else {
            self.refused.inc();
            return Err(overloaded());
        };
        room.add(permit.expect("the semaphore is never closed"));
        Ok(())
    }
}

impl Room {
    fn units(&self) -> usize {
        let permit = self.permit.as_ref();
        permit.map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        self.held.inc_by(bytes(permit.num_permits()));
        match &mut self.permit {
            Some(held) => held.merge(permit),
            none => *none = Some(permit),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.held.dec_by(bytes(self.units()));
    }
}

fn bytes(units: usize) -> i64 {
    i64::try_from(units).map_or(i64::MAX, |units| units.saturating_mul(1024))
}

/// 503: more is asked of the service than it can take, so it does not take part.
pub(super) fn overloaded() -> ApiError {
    let message = "the service is busy with other requests";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "Overloaded", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(size: u64) -> BodyBudget {
        BodyBudget::new(Bytes(size), &Metrics::default())
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_counted_in_whole_units_and_given_back() {
        let budget = budget(4 * UNIT + 1);
        assert_eq!(budget.largest(), 4 * UNIT);
        let mut first = budget.none();
        for (length, held) in [(0, 0), (1, UNIT), (UNIT, UNIT), (UNIT + 1, 2 * UNIT)] {
            budget.widen(&mut first, length).await.unwrap();
            assert_eq!(budget.held.get().unsigned_abs(), held, "{length}");
        }
        let mut second = budget.none();
        let refused = budget.widen(&mut second, 3 * UNIT).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(budget.refused.get(), 1);
        drop(first);
        assert_eq!(budget.held.get(), 0);
        budget.widen(&mut second, 4 * UNIT).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn room_that_becomes_free_in_time_is_taken() {
        let budget = budget(UNIT);
        let (mut first, mut second) = (budget.none(), budget.none());
        budget.widen(&mut first, 1).await.unwrap();
        let freed = async {
            tokio::time::sleep(WAIT / 2).await;
            drop(first);
        };
        let (waited, ()) = tokio::join!(budget.widen(&mut second, 1), freed);
        waited.unwrap();
    }
}
