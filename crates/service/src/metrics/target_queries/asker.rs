//! Asks what the ticks want, in the background, and keeps the answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock::Clock;
use evenkeel_scaling::tick::query_answers::{CachedAnswer, FailedQuery};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::question::{TargetQuery, TargetQuerySource};
use super::wanted::{TargetQueryRequest, purposes};
use crate::metrics::cache;
use crate::metrics::cache::{FailedRefresh, MetricsCache, RefreshError};
use crate::metrics::instruments::QueryMetrics;
use crate::metrics::query_queue::{Backoff, LanePolicy, PLACES, QueryEnd, QueryQueue};
use crate::metrics::query_runner::{EndedQuery, QueryRunner};

/// The time for which an answer is kept that is no longer wanted.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// The longest time that a fast answer takes.
const SLOW_AFTER: Duration = Duration::from_secs(2);
/// The first rest, of a question that has failed twice in a row.
const FIRST_REST: SignedDuration = SignedDuration::from_secs(15);
const LONGEST_REST: SignedDuration = SignedDuration::from_mins(2);

type Cache<Q> = MetricsCache<Q, <Q as TargetQuery>::Answer, <Q as TargetQuery>::Error>;

/// The end of the asking that the scaling loop holds: it says what it wants, and reads what there is.
pub struct Questions<Q: TargetQuery> {
    source: Arc<dyn TargetQuerySource<Q>>,
    cache: Cache<Q>,
    wanted: watch::Sender<Arc<[TargetQueryRequest<Q>]>>,
}

/// The end that asks.
pub struct TargetQueryRunner<Q: TargetQuery> {
    source: Arc<dyn TargetQuerySource<Q>>,
    cache: Cache<Q>,
    wanted: watch::Receiver<Arc<[TargetQueryRequest<Q>]>>,
    purposes: HashMap<Q, Q::Purpose>,
    clock: Clock,
    metrics: QueryMetrics,
}

impl<Q: TargetQuery> Questions<Q> {
    /// Both ends of the asking of `source`. Answers are dated by `clock`, and a question takes no
    /// longer than `timeout`.
    pub fn new(
        source: Arc<dyn TargetQuerySource<Q>>,
        timeout: Duration,
        clock: Clock,
        metrics: QueryMetrics,
    ) -> (Self, TargetQueryRunner<Q>) {
        let settings = cache::Settings {
            capacity: Q::MEMORY,
            time_to_idle: Some(FORGOTTEN_AFTER),
            timeout,
        };
        let cache = MetricsCache::weighed(&settings, Q::bytes);
        let (sender, receiver) = watch::channel(Arc::from([]));
        let questions = Self {
            source: Arc::clone(&source),
            cache: cache.clone(),
            wanted: sender,
        };
        let asker = TargetQueryRunner {
            source,
            cache,
            wanted: receiver,
            purposes: HashMap::new(),
            clock,
            metrics,
        };
        (questions, asker)
    }

    /// Says what is wanted from here on; what was wanted before is not asked any more.
    pub fn want(&self, wanted: Vec<TargetQueryRequest<Q>>) {
        self.wanted.send_replace(wanted.into());
    }

    /// The newest answers to what is wanted.
    pub async fn newest(&self) -> HashMap<Q, CachedAnswer<Q::Answer>> {
        let wanted = Arc::clone(&self.wanted.borrow());
        let mut newest = HashMap::with_capacity(wanted.len());
        for TargetQueryRequest { question, .. } in &*wanted {
            let (answer, failed) = self.cache.last(question).await;
            let known = CachedAnswer {
                answer,
                failed: failed.map(failed_query),
                look_back: self.source.look_back(question),
            };
            newest.insert(question.clone(), known);
        }
        newest
    }
}

fn failed_query<E: RefreshError>(failed: FailedRefresh<E>) -> FailedQuery {
    FailedQuery {
        attempted_at: failed.attempted_at,
        is_empty: failed.error.is_empty(),
        error: failed.error,
    }
}

type TargetQueryResult<Q> = Result<(), Arc<<Q as TargetQuery>::Error>>;

impl<Q: TargetQuery> TargetQueryRunner<Q> {
    /// Asks until it is cancelled, or the other end is dropped.
    pub async fn run(mut self, cancelled: CancellationToken) {
        let asking = async {
            let lanes = Q::RESPONDENTS.iter();
            let mut runner = QueryRunner::new(lanes.map(|one| lane(one.at_once)));
            loop {
                let now = self.clock.now();
                runner.begin(|question| self.ask(question, now));
                tokio::select! {
                    changed = self.wanted.changed() => {
                        if changed.is_err() {
                            return;
                        }
                        let wanted = Arc::clone(&self.wanted.borrow_and_update());
                        self.want(&wanted, &mut runner.queue);
                    }
                    Some(ended) = runner.ended() => self.take(&ended, &mut runner.queue),
                }
            }
        };
        cancelled.run_until_cancelled(asking).await;
    }

    fn want(&mut self, wanted: &[TargetQueryRequest<Q>], queue: &mut QueryQueue<Q>) {
        let now = self.clock.now();
        // Before those that are new are among them, which wait no time.
        for (respondent, waits) in Q::RESPONDENTS.iter().zip(queue.waits(now)) {
            for (places, wait) in PLACES.into_iter().zip(waits) {
                self.metrics.observe_wait(respondent.name, places, wait);
            }
        }
        queue.want(wanted.iter().map(|one| &one.question), now);
        self.purposes = purposes(wanted);
    }

    fn ask(
        &self,
        question: &Q,
        now: Timestamp,
    ) -> impl Future<Output = TargetQueryResult<Q>> + Send + use<Q> {
        let (source, cache) = (Arc::clone(&self.source), self.cache.clone());
        let purpose = self.purposes.get(question).cloned();
        let question = question.clone();
        async move {
            let fetch = async {
                let purpose = purpose.as_ref();
                let mut answer = source.fetch(&question, purpose, now).await?;
                Q::cut(&mut answer, purpose);
                Ok(answer)
            };
            cache.refresh(question.clone(), now, fetch).await.map(drop)
        }
    }

    fn take(&self, ended: &EndedQuery<Q, TargetQueryResult<Q>>, queue: &mut QueryQueue<Q>) {
        let EndedQuery { key, took, answer } = ended;
        let failed = answer.as_ref().err();
        let name = Q::RESPONDENTS[key.lane()].name;
        let reason = failed.map(|error| error.reason());
        self.metrics.observe_call(name, *took, reason);
        let end = QueryEnd {
            // A source without a value at present has answered all the same.
            answered: failed.is_none_or(|error| error.is_empty()),
            took: *took,
        };
        queue.ended(key, end, self.clock.now());
    }
}

/// The lane of an endpoint. All that waits is wanted, and the wanted questions are held anyway.
pub(in crate::metrics) const fn lane(at_once: usize) -> LanePolicy {
    LanePolicy {
        at_once,
        waiting: usize::MAX,
        slow_after: Some(SLOW_AFTER),
        backoff: Backoff::AfterFailures {
            first: FIRST_REST,
            longest: LONGEST_REST,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use evenkeel_metrics::api_reading::MetricsApiReading;
    use evenkeel_metrics::metric_query::{MetricQuery, MetricSubject, ServedMetric};
    use evenkeel_metrics::pod::PodFacts;
    use evenkeel_metrics::sample::{Measurement, PodSample, ValueSample};
    use evenkeel_metrics::signal::MetricIdentifier;
    use evenkeel_objects::pod::Pod;
    use evenkeel_scaling::tick::query_answers::SignalRequest;
    use tokio::sync::Notify;

    use super::*;
    use crate::metrics::MetricsError;
    use crate::metrics::signals::Signals;

    const TIMEOUT: Duration = Duration::from_secs(10);

    fn wanted(
        queries: impl IntoIterator<Item = MetricQuery>,
    ) -> Vec<TargetQueryRequest<MetricQuery>> {
        let queries = queries.into_iter();
        queries
            .map(|query| SignalRequest::of(&query, &[]))
            .collect()
    }

    fn query(namespace: &str, text: &str) -> MetricQuery {
        MetricQuery {
            namespace: namespace.into(),
            subject: MetricSubject::PromQl(text.into()),
        }
    }

    /// Answers with the number of questions of a text so far, fails those that begin with `no`, and
    /// never ends one that begins with `hang`.
    #[derive(Default)]
    struct Fake {
        asked: Mutex<HashMap<Arc<str>, i64>>,
        ended: Notify,
    }

    impl Fake {
        /// Waits until so many questions of a text have been asked.
        async fn asked(&self, text: &str, times: i64) {
            loop {
                let ended = self.ended.notified();
                if self.asked.lock().unwrap().get(text).copied() >= Some(times) {
                    return;
                }
                ended.await;
            }
        }
    }

    #[async_trait]
    impl TargetQuerySource<MetricQuery> for Fake {
        async fn fetch(
            &self,
            query: &MetricQuery,
            _: Option<&Vec<Arc<PodFacts>>>,
            now: Timestamp,
        ) -> Result<MetricsApiReading, MetricsError> {
            let MetricSubject::PromQl(text) = &query.subject else {
                return Err(MetricsError::Skipped);
            };
            let value = {
                let mut asked = self.asked.lock().unwrap();
                let count = asked.entry(Arc::clone(text)).or_default();
                *count += 1;
                *count
            };
            self.ended.notify_waiters();
            if text.starts_with("hang") {
                std::future::pending::<()>().await;
            }
            if text.starts_with("down") {
                return Err(MetricsError::Timeout);
            }
            if text.starts_with("no") {
                return Err(MetricsError::SeriesCount { given: 0 });
            }
            let timestamp = now;
            Ok(MetricsApiReading::Series(vec![ValueSample {
                timestamp,
                value,
            }]))
        }
    }

    fn begin(source: &Arc<Fake>) -> (Signals, CancellationToken) {
        let (signals, asker) = Signals::new(
            source.clone(),
            TIMEOUT,
            Clock::real(),
            QueryMetrics::default(),
        );
        let cancelled = CancellationToken::new();
        tokio::spawn(asker.run(cancelled.clone()));
        (signals, cancelled)
    }

    fn value(reading: &CachedAnswer<MetricsApiReading>) -> Option<i64> {
        let MetricsApiReading::Series(samples) = &*reading.answer.as_ref()?.value else {
            return None;
        };
        samples.first().map(|sample| sample.value)
    }

    /// Waits until a question has ended in an answer or an error.
    async fn ended(signals: &Signals, query: &MetricQuery) -> CachedAnswer<MetricsApiReading> {
        loop {
            let newest = signals.newest().await;
            let reading = newest.get(query).cloned().unwrap_or_default();
            if reading.answer.is_some() || reading.failed.is_some() {
                return reading;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wanted_is_asked_once_each_time_it_is_wanted() {
        let source = Arc::new(Fake::default());
        let (signals, cancelled) = begin(&source);
        let up = query("a", "up");
        signals.want(wanted([up.clone()]));
        assert_eq!(value(&ended(&signals, &up).await), Some(1));
        signals.want(wanted([up.clone()]));
        source.asked("up", 2).await;
        signals.want(Vec::new());
        assert!(!signals.newest().await.contains_key(&up));
        cancelled.cancel();
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_told_beside_the_answer_before_it_and_is_no_zero() {
        let source = Arc::new(Fake::default());
        let (signals, _cancelled) = begin(&source);
        let none = query("a", "none");
        signals.want(wanted([none.clone()]));
        let reading = ended(&signals, &none).await;
        assert!(reading.answer.is_none());
        let none = MetricsError::SeriesCount { given: 0 };
        let error = reading.error().map(ToString::to_string);
        assert_eq!(error, Some(none.to_string()));
        assert!(reading.empty_at().is_some(), "it was answered");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_answer_has_not_answered_by_nothing() {
        let source = Arc::new(Fake::default());
        let (signals, _cancelled) = begin(&source);
        let down = query("a", "down");
        signals.want(wanted([down.clone()]));
        let reading = ended(&signals, &down).await;
        let error = reading.error().map(ToString::to_string);
        assert_eq!(error, Some(MetricsError::Timeout.to_string()));
        assert_eq!(reading.empty_at(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_whose_queries_hang_holds_up_nobody_else() {
        let source = Arc::new(Fake::default());
        let (signals, _cancelled) = begin(&source);
        let hanging = (0..100).map(|n| query("bad", &format!("hang{n}")));
        let good = query("good", "up");
        signals.want(wanted(hanging.chain([good.clone()])));
        assert_eq!(value(&ended(&signals, &good).await), Some(1));
    }

    /// Answers by the values of a thousand Pods, some of them the target's.
    struct Crowd;

    #[async_trait]
    impl TargetQuerySource<MetricQuery> for Crowd {
        async fn fetch(
            &self,
            _: &MetricQuery,
            _: Option<&Vec<Arc<PodFacts>>>,
            now: Timestamp,
        ) -> Result<MetricsApiReading, MetricsError> {
            let sample = |number: i64| PodSample {
                pod: format!("web-{number}"),
                measurement: Measurement {
                    timestamp: now,
                    window: SignedDuration::from_secs(60),
                    value: number,
                },
            };
            Ok(MetricsApiReading::Pods((0..1000).map(sample).collect()))
        }
    }

    /// The harm: a selector that selects thousands of Pods beside the target's had all of them kept, for
    /// each of as many targets as one likes.
    #[tokio::test(start_paused = true)]
    async fn of_an_answer_by_pods_those_of_the_targets_are_kept() {
        let (signals, asker) = Signals::new(
            Arc::new(Crowd),
            TIMEOUT,
            Clock::real(),
            QueryMetrics::default(),
        );
        tokio::spawn(asker.run(CancellationToken::new()));
        let query = MetricQuery {
            namespace: "a".into(),
            subject: MetricSubject::Served(ServedMetric::Pods {
                selector: "app=web".into(),
                metric: MetricIdentifier::named("rps"),
            }),
        };
        let pod = |name: &str| {
            let pod = serde_json::json!({"metadata": {"name": name}, "spec": {"containers": []}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            Arc::new(PodFacts::from(&pod))
        };
        // Two targets with one question.
        let of = |names: &[&str]| {
            let pods: Vec<_> = names.iter().map(|name| pod(name)).collect();
            SignalRequest::of(&query, &pods)
        };
        signals.want(vec![of(&["web-1", "web-7"]), of(&["web-3", "unmeasured"])]);
        let answer = ended(&signals, &query).await.answer.unwrap();
        let MetricsApiReading::Pods(samples) = &*answer.value else {
            panic!("{answer:?}");
        };
        let kept: Vec<_> = samples.iter().map(|sample| &*sample.pod).collect();
        assert_eq!(kept, ["web-1", "web-3", "web-7"]);
        assert!(query.bytes(Some(&answer.value)) < 1024);
    }
}
