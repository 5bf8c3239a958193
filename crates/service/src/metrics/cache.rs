//! Answers kept in memory by key, refreshed by one caller at a time. Reading never waits for the
//! network. Any attempt at or after its own time satisfies a refresh, failed ones included, so that
//! a hundred callers at one tick make one call; moka gives all of them the same outcome, also if
//! the first caller goes away. A failed attempt keeps the value before it, with its age.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_scaling::tick::query_answers::CachedValue;
use jiff::Timestamp;
use moka::future::Cache;
use moka::policy::EvictionPolicy;

use super::error::MetricsError;

/// Why a key has no newer value.
pub trait RefreshError: fmt::Display + Send + Sync + 'static {
    /// None came in time.
    fn timeout() -> Self;

    /// The process is shutting down.
    fn aborted() -> Self;

    /// The cause as one word of a closed set.
    fn reason(&self) -> &'static str;

    /// True where it was answered, and there is nothing in the answer.
    fn is_empty(&self) -> bool {
        false
    }
}

impl RefreshError for MetricsError {
    fn timeout() -> Self {
        Self::Timeout
    }

    fn aborted() -> Self {
        Self::Aborted
    }

    fn reason(&self) -> &'static str {
        Self::reason(self)
    }

    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// The most keys that are kept, or the most weight where they are weighed.
    pub capacity: u64,
    /// A key without reads or refreshes for this long is forgotten; no key is if `None`.
    pub time_to_idle: Option<Duration>,
    /// The longest that one refresh may take.
    pub timeout: Duration,
}

/// An attempt to get a value that has failed.
#[derive(Debug)]
pub struct FailedRefresh<E = MetricsError> {
    pub error: Arc<E>,
    pub attempted_at: Timestamp,
}

impl<E> Clone for FailedRefresh<E> {
    fn clone(&self) -> Self {
        Self {
            error: Arc::clone(&self.error),
            attempted_at: self.attempted_at,
        }
    }
}

/// The last good value of a key, and how the last attempt to get a newer one ended.
struct Slot<V, E> {
    entry: Option<CachedValue<V>>,
    attempted_at: Timestamp,
    error: Option<Arc<E>>,
}

impl<V, E> Clone for Slot<V, E> {
    fn clone(&self) -> Self {
        Self {
            entry: self.entry.clone(),
            attempted_at: self.attempted_at,
            error: self.error.clone(),
        }
    }
}

/// Values by key, such as a [`QueryKey`](super::QueryKey); clones share them.
pub struct MetricsCache<K, V, E = MetricsError> {
    slots: Cache<K, Slot<V, E>>,
    timeout: Duration,
}

impl<K, V, E> Clone for MetricsCache<K, V, E> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            timeout: self.timeout,
        }
    }
}

impl<K, V, E> MetricsCache<K, V, E>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: RefreshError,
{
    pub fn new(settings: &Settings) -> Self {
        Self::weighed(settings, |_, _| 1)
    }

    /// A cache that weighs each key with its last good value, if there is one.
    pub fn weighed(settings: &Settings, weight: fn(&K, Option<&V>) -> usize) -> Self {
        let Settings {
            capacity,
            time_to_idle,
            timeout,
        } = settings;
        let weigh = move |key: &K, slot: &Slot<V, E>| {
            let value = slot.entry.as_ref().map(|entry| &*entry.value);
            u32::try_from(weight(key, value)).unwrap_or(u32::MAX)
        };
        // The default policy may refuse a new key for a popular old one; here a caller waits for
        // the new one.
        let mut slots = Cache::builder()
            .max_capacity(*capacity)
            .weigher(weigh)
            .eviction_policy(EvictionPolicy::lru());
        if let Some(idle) = time_to_idle {
            slots = slots.time_to_idle(*idle);
        }
        Self {
            slots: slots.build(),
            timeout: *timeout,
        }
    }

    /// The newest good value of `key`, of any age. Reads memory only, also during a refresh.
    pub async fn get(&self, key: &K) -> Option<CachedValue<V>> {
        self.slots.get(key).await?.entry
    }

    /// The newest good value of `key`, and the last attempt to get a newer one, if that failed.
    pub async fn last(&self, key: &K) -> (Option<CachedValue<V>>, Option<FailedRefresh<E>>) {
        let Some(slot) = self.slots.get(key).await else {
            return (None, None);
        };
        let Slot {
            entry,
            attempted_at,
            error,
        } = slot;
        (
            entry,
            error.map(|error| FailedRefresh {
                error,
                attempted_at,
            }),
        )
    }

    /// Gets a value that is asked for at `now` or later, by `fetch` unless another caller is
    /// already at it or has been.
    ///
    /// # Errors
    /// The attempt failed or took longer than the timeout; the value before it stays.
    pub async fn refresh(
        &self,
        key: K,
        now: Timestamp,
        fetch: impl Future<Output = Result<V, E>> + Send,
    ) -> Result<CachedValue<V>, Arc<E>> {
        let attempt = self.attempt(&key, now, fetch);
        let slot = self
            .slots
            .entry(key.clone())
            .or_insert_with_if(attempt, |slot| slot.attempted_at < now)
            .await
            .into_value();
        match (slot.error, slot.entry) {
            (None, Some(entry)) => Ok(entry),
            (error, _) => Err(error.unwrap_or_else(|| Arc::new(E::aborted()))),
        }
    }

    async fn attempt(
        &self,
        key: &K,
        now: Timestamp,
        fetch: impl Future<Output = Result<V, E>>,
    ) -> Slot<V, E> {
        let outcome = tokio::time::timeout(self.timeout, fetch)
            .await
            .unwrap_or(Err(E::timeout()));
        match outcome {
            Ok(value) => Slot {
                entry: Some(CachedValue {
                    value: Arc::new(value),
                    fetched_at: now,
                }),
                attempted_at: now,
                error: None,
            },
            Err(error) => Slot {
                entry: self.get(key).await,
                attempted_at: now,
                error: Some(Arc::new(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::future::join_all;
    use tokio::sync::Barrier;

    use super::*;

    fn cache() -> MetricsCache<&'static str, u32> {
        MetricsCache::new(&Settings {
            capacity: 10,
            time_to_idle: Some(Duration::from_hours(1)),
            timeout: Duration::from_mins(1),
        })
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_hundred_refreshes_at_once_make_one_call_and_share_its_value() {
        let (cache, calls, gate) = (cache(), AtomicU32::new(0), Barrier::new(100));
        let outcomes = join_all((0..100).map(|_| async {
            gate.wait().await;
            let fetch = async {
                tokio::task::yield_now().await;
                Ok(calls.fetch_add(1, Ordering::Relaxed))
            };
            *cache.refresh("q", second(1), fetch).await.unwrap().value
        }))
        .await;
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(outcomes, [0; 100]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_hundred_refreshes_at_once_share_one_failure_too() {
        let (cache, calls, gate) = (cache(), AtomicU32::new(0), Barrier::new(100));
        let outcomes = join_all((0..100).map(|_| async {
            gate.wait().await;
            let fetch = async {
                calls.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Err(MetricsError::Skipped)
            };
            cache.refresh("q", second(1), fetch).await
        }))
        .await;
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert!(
            outcomes
                .iter()
                .all(|outcome| outcome.as_ref().unwrap_err().reason() == "Skipped")
        );
    }

    #[tokio::test]
    async fn a_failure_keeps_the_value_with_the_time_at_which_it_was_asked_for() {
        let cache = cache();
        assert!(cache.get(&"q").await.is_none());
        cache
            .refresh("q", second(1), async { Ok(7) })
            .await
            .unwrap();
        let failed = cache
            .refresh("q", second(2), async { Err(MetricsError::Skipped) })
            .await;
        assert_eq!(failed.unwrap_err().reason(), "Skipped");
        let kept = cache.get(&"q").await.unwrap();
        assert_eq!((*kept.value, kept.fetched_at), (7, second(1)));
        let renewed = cache
            .refresh("q", second(3), async { Ok(8) })
            .await
            .unwrap();
        assert_eq!((*renewed.value, renewed.fetched_at), (8, second(3)));
    }

    /// The harm: answers of megabytes each counted as one, as those of a number did.
    #[tokio::test]
    async fn what_is_kept_is_bounded_by_its_weight() {
        let settings = Settings {
            capacity: 100,
            time_to_idle: None,
            timeout: Duration::from_mins(1),
        };
        let weight = |_: &u32, value: Option<&Vec<u8>>| value.map_or(1, Vec::len);
        let cache: MetricsCache<u32, Vec<u8>> = MetricsCache::weighed(&settings, weight);
        for (key, size) in (0..50).zip([1, 30, 7].into_iter().cycle()) {
            let answer = async { Ok(vec![0; size]) };
            cache.refresh(key, second(1), answer).await.unwrap();
            cache.slots.run_pending_tasks().await;
            assert!(cache.slots.weighted_size() <= 100);
        }
        assert!(cache.get(&49).await.is_some(), "the newest stays");
        assert!(cache.get(&0).await.is_none());
    }

    #[tokio::test]
    async fn a_refresh_for_the_past_takes_what_is_there() {
        let cache = cache();
        cache
            .refresh("q", second(5), async { Ok(7) })
            .await
            .unwrap();
        let asked = cache
            .refresh("q", second(4), async { Ok(8) })
            .await
            .unwrap();
        assert_eq!(*asked.value, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refresh_that_hangs_ends_by_the_timeout_and_does_not_block_readers() {
        let cache = cache();
        cache
            .refresh("q", second(1), async { Ok(7) })
            .await
            .unwrap();
        let hanging = {
            let cache = cache.clone();
            tokio::spawn(async move { cache.refresh("q", second(2), std::future::pending()).await })
        };
        tokio::task::yield_now().await;
        assert_eq!(*cache.get(&"q").await.unwrap().value, 7);
        assert!(!hanging.is_finished());
        let ended = hanging.await.unwrap();
        assert_eq!(ended.unwrap_err().reason(), "Timeout");
        assert_eq!(*cache.get(&"q").await.unwrap().value, 7);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_leaves_the_refresh_to_the_next() {
        let cache = cache();
        let gone = {
            let cache = cache.clone();
            tokio::spawn(async move { cache.refresh("q", second(1), std::future::pending()).await })
        };
        tokio::task::yield_now().await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let next = cache
            .refresh("q", second(1), async { Ok(7) })
            .await
            .unwrap();
        assert_eq!(*next.value, 7);
    }
}
