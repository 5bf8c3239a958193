//! The memory that the bodies of one caller's requests may take together. A body takes room as its
//! bytes arrive, so clients that announce much and withhold it hold nothing. If room is short, the
//! body that has been arriving for longest is cut, because an honest caller sends its own at once;
//! a complete body is never cut. The answer takes the room until the client has taken it. A body
//! does not wait long for room: both callers go on by themselves when refused.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use evenkeel_units::Bytes;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::error::ApiError;
use super::metrics::{ListenerMetrics, RoomMetrics};

/// Time for which a body waits for room: half of kube-scheduler's 200 ms for an answer, and many
/// times the time of a body in transit.
const WAIT: Duration = Duration::from_millis(100);

/// Unit of the budget: small enough not to waste room, large enough for a semaphore.
const UNIT: u64 = 1024;

/// Room for bodies, shared by all paths of a caller.
#[derive(Debug)]
pub(super) struct BodyBudget {
    room: Arc<Semaphore>,
    units: u32,
    /// Bodies that are arriving, in the order in which they began.
    arriving: Arc<IncomingBodyRegistry>,
    metrics: RoomMetrics,
}

#[derive(Debug, Default)]
struct IncomingBodyRegistry {
    count: AtomicU64,
    bodies: Mutex<BTreeMap<u64, IncomingBodyEntry>>,
}

#[derive(Debug)]
struct IncomingBodyEntry {
    units: usize,
    cut: CancellationToken,
}

/// Room for one body, given back when it is dropped.
#[derive(Debug)]
pub(super) struct BodyReservation {
    permit: Option<OwnedSemaphorePermit>,
    held: Gauge,
    id: u64,
    arriving: Arc<IncomingBodyRegistry>,
    cut: CancellationToken,
}

/// The room of one request, from the end of its body until its answer is taken; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Charge(Arc<Mutex<Option<BodyReservation>>>);

impl Charge {
    pub(super) fn set(&self, room: BodyReservation) {
        *self.room() = Some(room);
    }

    /// Gives back what an answer of `length` does not need; it is called when the body is gone.
    pub(super) fn keep(&self, length: u64) {
        if let Some(room) = &mut *self.room() {
            room.keep(length);
        }
    }

    fn room(&self) -> MutexGuard<'_, Option<BodyReservation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyBudget {
    /// Room for `size` in all, rounded down to whole KiB.
    pub(super) fn new(caller: &'static str, size: Bytes, metrics: &ListenerMetrics) -> Self {
        let units = u32::try_from(size.0 / UNIT).unwrap_or(u32::MAX);
        Self {
            room: Arc::new(Semaphore::new(usize::try_from(units).unwrap_or(usize::MAX))),
            units,
            arriving: Arc::default(),
            metrics: metrics.room(caller),
        }
    }

    pub(super) fn largest(&self) -> u64 {
        u64::from(self.units) * UNIT
    }

    /// No room yet, for a body that begins to arrive.
    pub(super) fn begin(&self) -> BodyReservation {
        let id = self.arriving.count.fetch_add(1, Ordering::Relaxed);
        let cut = CancellationToken::new();
        let body = IncomingBodyEntry {
            units: 0,
            cut: cut.clone(),
        };
        self.arriving.bodies().insert(id, body);
        BodyReservation {
            permit: None,
            held: self.metrics.held.clone(),
            id,
            arriving: Arc::clone(&self.arriving),
            cut,
        }
    }

    /// Makes `room` large enough for a body of `length`, which is no more than the largest.
    ///
    /// # Errors
    /// 503 where others hold what is needed.
    pub(super) async fn widen(
        &self,
        room: &mut BodyReservation,
        length: u64,
    ) -> Result<(), ApiError> {
        let missing = units(length).saturating_sub(room.units());
        if missing == 0 {
            return Ok(());
        }
        let units = u32::try_from(missing).unwrap_or(u32::MAX);
        let free = Arc::clone(&self.room).try_acquire_many_owned(units);
        let permit = match free {
            Ok(permit) => permit,
            Err(_) => self.wait(room.id, missing, units).await?,
        };
        room.add(permit);
        Ok(())
    }

    async fn wait(
        &self,
        id: u64,
        missing: usize,
        units: u32,
    ) -> Result<OwnedSemaphorePermit, ApiError> {
        let lacking = missing.saturating_sub(self.room.available_permits());
        let cut = self.arriving.cut_before(id, lacking);
        self.metrics.cut.inc_by(cut);
        let acquired = Arc::clone(&self.room).acquire_many_owned(units);
        let Ok(permit) = tokio::time::timeout(WAIT, acquired).await else {
            self.metrics.refused.inc();
            return Err(overloaded());
        };
        Ok(permit.expect("the semaphore is never closed"))
    }
}

impl IncomingBodyRegistry {
    fn bodies(&self) -> MutexGuard<'_, BTreeMap<u64, IncomingBodyEntry>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts bodies that began before `id`, the oldest first, until they free `units`; returns how
    /// many. None is cut if it holds nothing, or if all together hold less.
    fn cut_before(&self, id: u64, units: usize) -> u64 {
        let mut bodies = self.bodies();
        let (mut freed, mut chosen) = (0, Vec::new());
        let mut older = bodies.range(..id).filter(|(_, body)| body.units > 0);
        while freed < units {
            let Some((id, body)) = older.next() else {
                return 0;
            };
            freed += body.units;
            chosen.push(*id);
        }
        for body in chosen.iter().filter_map(|id| bodies.remove(id)) {
            body.cut.cancel();
        }
        chosen.len() as u64
    }
}

impl BodyReservation {
    /// Waits until the body has to make way for others.
    pub(super) async fn cut(&self) {
        self.cut.cancelled().await;
    }

    /// The body has arrived whole, and keeps its room until its answer is taken.
    pub(super) fn complete(&self) {
        self.arriving.bodies().remove(&self.id);
    }

    fn keep(&mut self, length: u64) {
        let spare = self.units().saturating_sub(units(length));
        let spare = self.permit.as_mut().and_then(|held| held.split(spare));
        if let Some(spare) = spare {
            self.held.dec_by(bytes(spare.num_permits()));
        }
    }

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
        if let Some(body) = self.arriving.bodies().get_mut(&self.id) {
            body.units = self.units();
        }
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.complete();
        self.held.dec_by(bytes(self.units()));
    }
}

fn units(length: u64) -> usize {
    usize::try_from(length.div_ceil(UNIT)).unwrap_or(usize::MAX)
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
        BodyBudget::new("test", Bytes(size), &ListenerMetrics::default())
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_counted_in_whole_units_and_given_back() {
        let budget = budget(4 * UNIT + 1);
        assert_eq!(budget.largest(), 4 * UNIT);
        let mut first = budget.begin();
        for (length, held) in [(0, 0), (1, UNIT), (UNIT, UNIT), (UNIT + 1, 2 * UNIT)] {
            budget.widen(&mut first, length).await.unwrap();
            assert_eq!(budget.metrics.held.get().unsigned_abs(), held, "{length}");
        }
        first.complete();
        let mut second = budget.begin();
        let refused = budget.widen(&mut second, 3 * UNIT).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(budget.metrics.refused.get(), 1);
        assert!(!first.cut.is_cancelled(), "it was whole");
        drop(first);
        assert_eq!(budget.metrics.held.get(), 0);
        budget.widen(&mut second, 4 * UNIT).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn room_that_becomes_free_in_time_is_taken() {
        let budget = budget(UNIT);
        let (mut first, mut second) = (budget.begin(), budget.begin());
        budget.widen(&mut first, 1).await.unwrap();
        first.complete();
        let freed = async {
            tokio::time::sleep(WAIT / 2).await;
            drop(first);
        };
        let (waited, ()) = tokio::join!(budget.widen(&mut second, 1), freed);
        waited.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_bodies_that_arrive_for_longest_make_way_and_no_more_than_is_needed() {
        let budget = budget(6 * UNIT);
        let mut arriving = [budget.begin(), budget.begin(), budget.begin()];
        for body in &mut arriving {
            budget.widen(body, 2 * UNIT).await.unwrap();
        }
        let mut newest = budget.begin();
        let [first, second, third] = arriving;
        let ends = async |room: BodyReservation| {
            room.cut().await;
        };
        let waited = budget.widen(&mut newest, 3 * UNIT);
        let (waited, (), ()) = tokio::join!(waited, ends(first), ends(second));
        waited.unwrap();
        assert!(!third.cut.is_cancelled());
        assert_eq!(budget.metrics.cut.get(), 2);
        // The oldest one left cuts no body that came later.
        let mut third = third;
        let refused = budget.widen(&mut third, 6 * UNIT).await;
        assert!(refused.is_err() && !newest.cut.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_makes_way_in_vain() {
        let budget = budget(6 * UNIT);
        let (mut whole, mut arriving) = (budget.begin(), budget.begin());
        budget.widen(&mut whole, 4 * UNIT).await.unwrap();
        whole.complete();
        budget.widen(&mut arriving, UNIT).await.unwrap();
        let (empty, mut newest) = (budget.begin(), budget.begin());
        // All that arrives holds less than is lacking.
        let refused = budget.widen(&mut newest, 3 * UNIT).await;
        assert!(refused.is_err() && !arriving.cut.is_cancelled());
        // With the free room it suffices, and a body without room has nothing to give.
        let ends = async |room: BodyReservation| room.cut().await;
        let (waited, ()) = tokio::join!(budget.widen(&mut newest, 2 * UNIT), ends(arriving));
        waited.unwrap();
        assert!(!empty.cut.is_cancelled());
        assert_eq!(budget.metrics.cut.get(), 1);
    }

    #[tokio::test]
    async fn an_answer_keeps_the_room_that_it_needs() {
        let budget = budget(4 * UNIT);
        let mut room = budget.begin();
        budget.widen(&mut room, 4 * UNIT).await.unwrap();
        for (length, held) in [(9 * UNIT, 4), (UNIT + 1, 2), (1, 1), (2 * UNIT, 1), (0, 0)] {
            room.keep(length);
            assert_eq!(budget.metrics.held.get(), bytes(held), "{length}");
        }
        let mut other = budget.begin();
        budget.widen(&mut other, 4 * UNIT).await.unwrap();
    }
}
