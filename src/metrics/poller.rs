//! The task that asks the source for a new round at each tick.
//!
//! Ticks stand at fixed distances from the start; a round that takes longer swallows the ticks
//! it overlaps, so that there are never two at once and a slow source is not asked more often
//! than it can answer. A failing source is asked again at the next tick: rounds are few and
//! small, so there is nothing to back off from.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::cache::{self, Entry, MetricsCache};
use super::error::MetricsError;
use super::instruments::Metrics;
use super::query_key::QueryKey;
use super::round::Round;
use super::source::MetricsSource;
use evenkeel_clock::Clock;

/// While a fault lasts it is logged this often.
const FAULT_LOG_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Interval and time limit of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The distance between ticks, by the cluster's clock.
    pub interval: Duration,
    /// The longest that a whole round may take.
    pub timeout: Duration,
}

/// Outcome of a tick.
#[derive(Debug)]
pub struct Update {
    /// The time of the tick.
    pub at: Timestamp,
    /// The new round, or the cause for which there is none.
    pub outcome: Result<Arc<Round>, Arc<MetricsError>>,
}

/// Asks a source at each tick, until cancelled.
pub struct Poller {
    source: Arc<dyn MetricsSource>,
    settings: Settings,
    clock: Clock,
    cache: MetricsCache<QueryKey, Round>,
    metrics: Metrics,
    fault_logged_at: Option<Timestamp>,
}

impl Poller {
    /// A poller of `source` that has not asked yet, and dates its rounds by `clock`.
    #[must_use]
    pub fn new(
        source: Arc<dyn MetricsSource>,
        settings: Settings,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        let cache = MetricsCache::new(&cache::Settings {
            capacity: 1,
            time_to_idle: None,
            timeout: settings.timeout,
        });
        Self {
            source,
            settings,
            clock,
            cache,
            metrics,
            fault_logged_at: None,
        }
    }

    /// Polls until cancelled, at once and then at each tick, and hands over what each brought.
    pub async fn run(mut self, cancelled: CancellationToken, mut each: impl FnMut(Update) + Send) {
        let clock = self.clock;
        let interval = SignedDuration::try_from(self.settings.interval);
        let interval = interval.unwrap_or(SignedDuration::MAX);
        let mut ticks = tokio::time::interval(clock.period(interval));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let polling = async {
            loop {
                ticks.tick().await;
                each(self.poll(clock.now()).await);
            }
        };
        cancelled.run_until_cancelled(polling).await;
    }

    /// One round at `now`.
    pub async fn poll(&mut self, now: Timestamp) -> Update {
        let key = QueryKey::round(self.source.name());
        let outcome = self
            .cache
            .refresh(key.clone(), now, self.source.sample(now))
            .await
            .map(|entry| entry.value);
        self.metrics
            .observe(outcome.as_deref().map_err(|error| &**error));
        self.log(&outcome, now);
        let newest: Option<Entry<Round>> = self.cache.get(&key).await;
        if let Some(newest) = &newest {
            self.metrics.observe_age(&newest.value, now);
        }
        Update { at: now, outcome }
    }

    fn log(&mut self, outcome: &Result<Arc<Round>, Arc<MetricsError>>, now: Timestamp) {
        let source = self.source.name();
        let fault = match outcome {
            Err(error) => Some(("all", &**error)),
            Ok(round) => round
                .failures()
                .next()
                .map(|(query, error)| (query.as_str(), error)),
        };
        let Some((query, error)) = fault else {
            if self.fault_logged_at.take().is_some() {
                tracing::info!(source, "metrics source answers again");
            }
            return;
        };
        let due = self
            .fault_logged_at
            .is_none_or(|at| now.duration_since(at) >= FAULT_LOG_INTERVAL);
        if due {
            self.fault_logged_at = Some(now);
            tracing::warn!(source, query, reason = error.reason(), %error, "metrics query failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use async_trait::async_trait;
    use tokio::sync::mpsc;

    use super::*;

    /// Answers while `up`, and hangs where told to.
    #[derive(Default)]
    struct Fake {
        up: AtomicBool,
        hangs: bool,
        running: AtomicU32,
        most_running: AtomicU32,
    }

    #[async_trait]
    impl MetricsSource for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        async fn sample(&self, _now: Timestamp) -> Result<Round, MetricsError> {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            if self.hangs {
                tokio::time::sleep(Duration::from_secs(40)).await;
            }
            self.running.fetch_sub(1, Ordering::SeqCst);
            if self.up.load(Ordering::SeqCst) {
                Ok(Round::default())
            } else {
                Err(MetricsError::Skipped)
            }
        }
    }

    fn settings() -> Settings {
        Settings {
            interval: Duration::from_secs(15),
            timeout: Duration::from_secs(60),
        }
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn each_poll_tells_what_it_brought() {
        let source = Arc::new(Fake::default());
        let mut poller = Poller::new(
            source.clone(),
            settings(),
            Clock::real(),
            Metrics::default(),
        );
        for (at, up) in [(0, false), (15, true), (30, false), (45, true)] {
            source.up.store(up, Ordering::SeqCst);
            let update = poller.poll(second(at)).await;
            assert_eq!(update.outcome.is_ok(), up, "{at}");
            assert_eq!(update.at, second(at));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_never_overlap_and_end_when_cancelled() {
        let source = Arc::new(Fake {
            hangs: true,
            ..Fake::default()
        });
        let poller = Poller::new(
            source.clone(),
            settings(),
            Clock::real(),
            Metrics::default(),
        );
        let (sender, mut updates) = mpsc::unbounded_channel();
        let cancelled = CancellationToken::new();
        let running = tokio::spawn(poller.run(cancelled.clone(), move |update| {
            let _ = sender.send(update);
        }));
        for _ in 0..3 {
            updates.recv().await.unwrap();
        }
        cancelled.cancel();
        running.await.unwrap();
        assert!(updates.recv().await.is_none());
        assert_eq!(source.most_running.load(Ordering::SeqCst), 1);
    }
}
