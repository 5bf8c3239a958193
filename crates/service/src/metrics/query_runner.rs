//! Asks the queries of a queue in the background, as many at once as its lanes allow.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use super::query_queue::{LanePolicy, QueryQueue, QueueKey};
use evenkeel_clock as clock;

/// A queue, and its queries that are under way. They end when it is dropped.
#[derive(Debug)]
pub struct QueryRunner<K, A> {
    pub queue: QueryQueue<K>,
    under_way: JoinSet<EndedQuery<K, A>>,
}

/// A query with its answer.
#[derive(Debug)]
pub struct EndedQuery<K, A> {
    pub key: K,
    pub took: Duration,
    pub answer: A,
}

impl<K: QueueKey + Send + 'static, A: Send + 'static> QueryRunner<K, A> {
    /// A runner without queries.
    pub fn new(lanes: impl IntoIterator<Item = LanePolicy>) -> Self {
        Self {
            queue: QueryQueue::new(lanes),
            under_way: JoinSet::new(),
        }
    }

    /// Begins all queries that find a place, each by the future that `ask` makes of it.
    pub fn begin<F>(&mut self, mut ask: impl FnMut(&K) -> F)
    where
        F: Future<Output = A> + Send + 'static,
    {
        while let Some(key) = self.queue.begin_next() {
            let asking = ask(&key);
            self.under_way.spawn(async move {
                let begun = clock::runtime();
                let answer = asking.await;
                let took = begun.elapsed();
                EndedQuery { key, took, answer }
            });
        }
    }

    /// The next query that ends, whose end the queue still has to note; `None` where none is under
    /// way. Nothing is lost if the future is dropped.
    pub async fn ended(&mut self) -> Option<EndedQuery<K, A>> {
        loop {
            if let Some(ended) = completed(self.under_way.join_next().await?) {
                return Some(ended);
            }
        }
    }
}

/// The result of a task; `None` if it was cancelled, which happens only when the runtime ends. A
/// panic of the task continues here.
pub(super) fn completed<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined.map_err(JoinError::try_into_panic) {
        Ok(given) => Some(given),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => None,
    }
}
