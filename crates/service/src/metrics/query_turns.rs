//! Places of a queue for tasks that ask for themselves, and wait for their turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::query_queue::{LanePolicy, NotAdded, QueryEnd, QueryQueue, QueueKey};
use evenkeel_clock as clock;

/// A queue that tasks share; clones are of the same.
#[derive(Debug, Clone)]
pub struct QueryTurns<K: QueueKey>(Arc<Mutex<WaitingTasks<K>>>);

#[derive(Debug)]
struct WaitingTasks<K> {
    queue: QueryQueue<K>,
    tasks: HashMap<K, oneshot::Sender<()>>,
    numbers: u64,
}

/// The turn of one query, which is over when this is dropped.
#[derive(Debug)]
pub struct QueryTurn<K: QueueKey> {
    turns: QueryTurns<K>,
    key: K,
}

/// The key of a query that is like no other: its tenant and a number.
pub type QueryNumber = (Option<Arc<str>>, u64);

impl QueueKey for QueryNumber {
    fn tenant(&self) -> Option<&Arc<str>> {
        self.0.as_ref()
    }
}

impl<K: QueueKey> QueryTurns<K> {
    /// The turns of a queue with one lane.
    pub fn new(lane: LanePolicy) -> Self {
        Self(Arc::new(Mutex::new(WaitingTasks {
            queue: QueryQueue::new([lane]),
            tasks: HashMap::new(),
            numbers: 0,
        })))
    }

    /// Joins the line, and waits for the turn. To drop the future is to leave the line.
    ///
    /// # Errors
    /// The query is not due, or too many wait.
    pub fn join(
        &self,
        key: K,
        now: Timestamp,
    ) -> Result<impl Future<Output = QueryTurn<K>> + use<K>, NotAdded> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        waiting.queue.add(&key, now)?;
        waiting.tasks.insert(key.clone(), sender);
        waiting.go_on();
        drop(waiting);
        let turns = self.clone();
        let turn = QueryTurn { turns, key };
        Ok(async move {
            // The sender is kept until the turn comes.
            let _ = receiver.await;
            turn
        })
    }

    /// Takes note of the end of a query, after its turn.
    pub fn ended(&self, key: &K, end: QueryEnd, now: Timestamp) {
        self.lock().queue.ended(key, end, now);
    }

    /// True where a query neither waits, nor has a turn or an end that was not noted.
    pub(crate) fn is_idle(&self, key: &K) -> bool {
        self.lock().queue.is_idle(key)
    }

    /// The queries that have their turn.
    #[cfg(test)]
    pub(crate) fn under_way(&self) -> usize {
        self.lock().queue.under_way()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTasks<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueryTurns<QueryNumber> {
    /// Waits for the turn of a query that is asked once.
    ///
    /// # Errors
    /// Too many wait.
    pub async fn take(
        &self,
        tenant: Option<&Arc<str>>,
    ) -> Result<QueryTurn<QueryNumber>, NotAdded> {
        let number = {
            let mut waiting = self.lock();
            waiting.numbers += 1;
            waiting.numbers
        };
        let turn = self.join((tenant.cloned(), number), clock::now())?;
        Ok(turn.await)
    }
}

impl<K: QueueKey> WaitingTasks<K> {
    /// Gives turns to those that wait, as far as there are places.
    fn go_on(&mut self) {
        while let Some(key) = self.queue.begin_next() {
            if let Some(task) = self.tasks.remove(&key) {
                // A task that has gone leaves as its turn is dropped.
                let _ = task.send(());
            }
        }
    }
}

impl<K: QueueKey> Drop for QueryTurn<K> {
    fn drop(&mut self) {
        let mut waiting = self.turns.lock();
        waiting.queue.leave(&self.key);
        waiting.tasks.remove(&self.key);
        waiting.go_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::query_queue::Backoff;

    const AT_ONCE: usize = 4;
    const OF_TENANT: usize = AT_ONCE / 2;
    const WAITING: usize = 128;
    const WAITING_OF_TENANT: usize = WAITING / 8;

    fn turns() -> QueryTurns<QueryNumber> {
        QueryTurns::new(LanePolicy {
            at_once: AT_ONCE,
            waiting: WAITING,
            slow_after: None,
            backoff: Backoff::Once,
        })
    }

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    #[tokio::test]
    async fn one_namespace_has_half_of_the_places_and_its_turn_among_others() {
        let turns = turns();
        let (loud, quiet) = (name("loud"), name("quiet"));
        let mut held = Vec::new();
        for _ in 0..OF_TENANT {
            held.push(turns.take(Some(&loud)).await.unwrap());
        }
        let mut waiting = Vec::new();
        for _ in 0..WAITING_OF_TENANT {
            let mut turn = Box::pin(turns.take(Some(&loud)));
            assert!(futures::poll!(&mut turn).is_pending());
            waiting.push(turn);
        }
        let refused = turns.take(Some(&loud)).await.unwrap_err();
        assert_eq!(refused, NotAdded::TenantFull);
        // Others are asked at once, beside and before those that wait.
        let other = turns.take(Some(&quiet)).await.unwrap();
        let another = turns.take(Some(&quiet)).await.unwrap();
        assert_eq!(turns.under_way(), AT_ONCE);
        let mut later = Box::pin(turns.take(Some(&quiet)));
        assert!(futures::poll!(&mut later).is_pending());
        held.pop();
        // The place of the loud one goes to the next of its own: the quiet one has its half.
        assert!(futures::poll!(&mut waiting[0]).is_ready());
        assert!(futures::poll!(&mut later).is_pending());
        drop(other);
        assert!(futures::poll!(&mut later).is_ready());
        drop((another, held));
    }

    #[tokio::test]
    async fn who_leaves_takes_no_place() {
        let turns = turns();
        let shop = name("shop");
        let first = turns.take(Some(&shop)).await.unwrap();
        let second = turns.take(Some(&shop)).await.unwrap();
        let mut left = Box::pin(turns.take(Some(&shop)));
        assert!(futures::poll!(&mut left).is_pending());
        drop(left);
        let mut waits = Box::pin(turns.take(Some(&shop)));
        assert!(futures::poll!(&mut waits).is_pending());
        drop(first);
        assert!(futures::poll!(&mut waits).is_ready());
        drop(second);
        assert_eq!(turns.under_way(), 0, "every turn was given back");
    }

    #[tokio::test]
    async fn the_line_is_bounded() {
        let turns = turns();
        let mut held = Vec::new();
        for number in 0..AT_ONCE {
            held.push(
                turns
                    .take(Some(&name(&format!("held-{number}"))))
                    .await
                    .unwrap(),
            );
        }
        let mut waiting = Vec::new();
        for number in 0..WAITING {
            let namespace = name(&format!("waits-{number}"));
            let turns = turns.clone();
            let mut turn = Box::pin(async move { turns.take(Some(&namespace)).await });
            assert!(futures::poll!(&mut turn).is_pending());
            waiting.push(turn);
        }
        assert_eq!(
            turns.take(Some(&name("late"))).await.unwrap_err(),
            NotAdded::Full
        );
        drop(waiting);
        drop(held);
        turns.take(Some(&name("late"))).await.unwrap();
    }
}
