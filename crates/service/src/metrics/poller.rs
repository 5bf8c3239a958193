//! The task that asks the source's queries at each tick, one for all sources. Ticks are at fixed
//! distances from the start; a long round swallows the ticks it overlaps, so there are never two at
//! once.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::error::MetricsError;
use super::instruments::QueryMetrics;
use super::query_rounds::{QueryRounds, QueryTimeLimits};
use super::round::MetricsRound;
use super::source::MetricsSource;

/// While a fault lasts it is logged this often.
const FAULT_LOG_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// The distance of rounds and their time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The distance between ticks, by the cluster's clock.
    pub interval: Duration,
    pub limits: QueryTimeLimits,
}

#[derive(Debug)]
pub struct Update {
    pub at: Timestamp,
    pub outcome: Result<Arc<MetricsRound>, Arc<MetricsError>>,
}

/// Asks a source at each tick, until cancelled.
pub struct Poller {
    asking: QueryRounds,
    interval: Duration,
    clock: Clock,
    metrics: QueryMetrics,
    fault_logged_at: Option<Timestamp>,
}

impl Poller {
    /// A poller of `source` that has not asked yet, and dates its rounds by `clock`.
    pub fn new(
        source: Arc<dyn MetricsSource>,
        settings: Settings,
        clock: Clock,
        metrics: QueryMetrics,
    ) -> Self {
        let Settings { interval, limits } = settings;
        Self {
            asking: QueryRounds::new(source, limits),
            interval,
            clock,
            metrics,
            fault_logged_at: None,
        }
    }

    /// Polls until cancelled, at once and then at each tick, and hands over what each brought.
    pub async fn run(mut self, cancelled: CancellationToken, mut each: impl FnMut(Update) + Send) {
        let clock = self.clock;
        let interval = SignedDuration::try_from(self.interval);
        let interval = interval.unwrap_or(SignedDuration::MAX);
        let mut ticks = clock.ticks(interval);
        let polling = async {
            loop {
                ticks.tick().await;
                each(self.poll(clock.now()).await);
            }
        };
        cancelled.run_until_cancelled(polling).await;
    }

    /// One round at `now`.
    pub(crate) async fn poll(&mut self, now: Timestamp) -> Update {
        let outcome = self.asking.round(now).await.map(Arc::new);
        self.metrics
            .observe(outcome.as_deref().map_err(|error| &**error));
        self.log(&outcome, now);
        if let Some(newest) = self.asking.newest().await {
            self.metrics.observe_age(now.duration_since(newest));
        }
        Update { at: now, outcome }
    }

    fn log(&mut self, outcome: &Result<Arc<MetricsRound>, Arc<MetricsError>>, now: Timestamp) {
        let source = self.asking.source();
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
    use evenkeel_metrics::usage::{NodeSample, UsageSample};
    use evenkeel_units::{Amount, Resource, Resources};
    use prometheus_client::registry::Registry;
    use tokio::sync::mpsc;

    use super::*;
    use crate::metrics::answer::{Answers, QueryAnswer};
    use crate::metrics::query::UsageQuery;

    /// A source of two queries, each answered while it is `up` and after it took so long.
    #[derive(Default)]
    struct Fake {
        up: AtomicBool,
        takes: Duration,
        running: AtomicU32,
        most_running: AtomicU32,
    }

    #[async_trait]
    impl MetricsSource for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn queries(&self) -> &[UsageQuery] {
            &[
                UsageQuery::Node(Resource::Cpu),
                UsageQuery::Pod(Resource::Cpu),
            ]
        }

        async fn fetch(
            &self,
            _query: UsageQuery,
            _before: &Answers,
            now: Timestamp,
        ) -> Result<QueryAnswer, MetricsError> {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            tokio::time::sleep(self.takes).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            if !self.up.load(Ordering::SeqCst) {
                return Err(MetricsError::Skipped);
            }
            let mut row = Resources::default();
            row[Resource::Cpu] = Some(NodeSample {
                value: Amount::new(1),
                at: now,
                window: SignedDuration::ZERO,
            });
            let mut usage = UsageSample::default();
            usage.insert_node("a", &row);
            Ok(usage.into())
        }
    }

    fn poller(source: &Arc<Fake>, metrics: &QueryMetrics) -> Poller {
        let settings = Settings {
            interval: Duration::from_secs(15),
            limits: QueryTimeLimits {
                deadline: Duration::from_secs(10),
                patience: Duration::from_secs(40),
            },
        };
        Poller::new(source.clone(), settings, Clock::real(), metrics.clone())
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn each_poll_tells_what_it_brought_and_the_age_of_what_is_kept() {
        let (source, metrics) = (Arc::new(Fake::default()), QueryMetrics::default());
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut poller = poller(&source, &metrics);
        for (at, up, age) in [
            (0, false, "0.0"),
            (15, true, "0.0"),
            (35, false, "20.0"),
            (45, true, "0.0"),
        ] {
            source.up.store(up, Ordering::SeqCst);
            let update = poller.poll(second(at)).await;
            assert_eq!(update.outcome.is_ok(), up, "{at}");
            assert_eq!(update.at, second(at));
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            let line = format!("metrics_sample_age_seconds {age}\n");
            assert!(text.contains(&line), "{line} at {at}\n{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_never_overlap_and_end_when_cancelled() {
        let source = Arc::new(Fake {
            takes: Duration::from_secs(5),
            ..Fake::default()
        });
        let poller = poller(&source, &QueryMetrics::default());
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
        // The two queries of one round.
        assert_eq!(source.most_running.load(Ordering::SeqCst), 2);
    }
}
