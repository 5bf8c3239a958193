//! One round of a source: its queries asked one after the other, and their answers put together.
//!
//! Each answer is kept by the key of its query, and the round is made of those that were asked for
//! now. A query that fails leaves its part absent. A server that does not answer two queries in a
//! row is not asked the rest: each would be waited for in full, and none would be answered.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::answer::{Answer, Answers};
use super::cache::MetricsCache;
use super::dropped::Dropped;
use super::error::MetricsError;
use super::query::{Query, QueryKey};
use super::source::MetricsSource;
use evenkeel_clock as clock;
use evenkeel_core::placement::usage::UsageSample;

/// So many queries in a row without any answer end a round; one alone may just be a heavy one.
const UNREACHABLE_AFTER: u32 = 2;

/// The newest answer to each query.
pub type AnswerCache = MetricsCache<QueryKey, Answer>;

/// Outcome of asking all queries of a source once.
#[derive(Debug, Default)]
pub struct Round {
    pub usage: Arc<UsageSample>,
    /// Outcome of each query, in the order asked.
    pub reports: Vec<QueryReport>,
}

/// Outcome of one query.
#[derive(Debug)]
pub struct QueryReport {
    pub query: Query,
    /// Time that it took, reading the answer included.
    pub took: Duration,
    /// Values of the answer that were not taken.
    pub dropped: Dropped,
    /// Cause for which there is no answer.
    pub error: Option<Arc<MetricsError>>,
}

type Outcome = Result<Arc<Answer>, Arc<MetricsError>>;

impl Round {
    /// Asks the queries of `source` at `now`, each through `cache`.
    ///
    /// # Errors
    /// Not one query was answered; the first cause is given.
    pub async fn ask(
        source: &dyn MetricsSource,
        cache: &AnswerCache,
        now: Timestamp,
    ) -> Result<Self, Arc<MetricsError>> {
        let queries = source.queries();
        let (mut answers, mut reports) = (Answers::default(), Vec::with_capacity(queries.len()));
        let mut unreachable = 0;
        for &query in queries {
            let begun = clock::instant();
            let outcome: Outcome = if unreachable < UNREACHABLE_AFTER {
                let fetch = source.fetch(query, &answers, now);
                let key = QueryKey {
                    source: source.name(),
                    query,
                };
                let entry = cache.refresh(key, now, fetch).await;
                entry.map(|entry| entry.value)
            } else {
                Err(Arc::new(MetricsError::Skipped))
            };
            unreachable = match &outcome {
                Err(error) if error.is_unreachable() => unreachable + 1,
                Err(error) if matches!(**error, MetricsError::Skipped) => unreachable,
                _ => 0,
            };
            reports.push(QueryReport::new(query, begun.elapsed(), &outcome));
            if let Ok(answer) = outcome {
                answers.push(query, answer);
            }
        }
        Self::of(&answers, reports)
    }

    /// The round, unless not one of its queries has brought an answer.
    fn of(answers: &Answers, reports: Vec<QueryReport>) -> Result<Self, Arc<MetricsError>> {
        let first = reports.first().and_then(|report| report.error.clone());
        match first {
            Some(error) if reports.iter().all(|report| report.error.is_some()) => Err(error),
            _ => Ok(Self {
                usage: Arc::new(answers.usage()),
                reports,
            }),
        }
    }

    /// The queries that failed, whose part of the usage is absent.
    pub fn failures(&self) -> impl Iterator<Item = (Query, &MetricsError)> {
        self.reports
            .iter()
            .filter_map(|report| Some((report.query, report.error.as_deref()?)))
    }
}

impl QueryReport {
    fn new(query: Query, took: Duration, outcome: &Outcome) -> Self {
        let (dropped, error) = match outcome {
            Ok(answer) => (answer.dropped, None),
            Err(error) => (Dropped::default(), Some(Arc::clone(error))),
        };
        Self {
            query,
            took,
            dropped,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use futures::future::join_all;

    use super::*;
    use crate::metrics::answer::Content;
    use crate::metrics::cache;
    use evenkeel_core::placement::usage::PodName;
    use evenkeel_core::units::{Amount, Resource, Resources};

    const MEMORY: Query = Query::Pod(Resource::Memory);

    const QUERIES: [Query; 4] = [
        Query::Pod(Resource::Cpu),
        MEMORY,
        Query::Pod(Resource::DiskIo),
        Query::Pod(Resource::Disk),
    ];

    type Script = fn(Query) -> Result<(), MetricsError>;

    /// Answers with a value of one Pod, where the script lets it.
    struct Fake {
        script: Script,
        /// The queries asked, with the number of answers before each.
        asked: Mutex<Vec<(Query, usize)>>,
    }

    impl Fake {
        fn new(script: Script) -> Self {
            Self {
                script,
                asked: Mutex::default(),
            }
        }
    }

    #[async_trait]
    impl MetricsSource for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn queries(&self) -> &[Query] {
            &QUERIES
        }

        async fn fetch(
            &self,
            query: Query,
            before: &Answers,
            _now: Timestamp,
        ) -> Result<Answer, MetricsError> {
            let held = QUERIES.iter().filter(|query| before.hold(**query));
            self.asked.lock().unwrap().push((query, held.count()));
            tokio::task::yield_now().await;
            (self.script)(query)?;
            let Query::Pod(resource) = query else {
                panic!("{query:?} was not to be asked");
            };
            let mut used = Resources::default();
            used[resource] = Some(Amount::new(1));
            let mut usage = UsageSample::default();
            usage.insert_pod(&PodName::new("shop", "web"), &used);
            Ok(usage.into())
        }
    }

    fn cache() -> AnswerCache {
        MetricsCache::new(&cache::Settings {
            capacity: 10,
            time_to_idle: None,
            timeout: Duration::from_secs(60),
        })
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    async fn ask(source: &Fake) -> Result<Round, Arc<MetricsError>> {
        Round::ask(source, &cache(), second(0)).await
    }

    fn reasons(round: &Round) -> Vec<&'static str> {
        let errors = round.reports.iter().map(|report| report.error.as_deref());
        errors
            .map(|error| error.map_or("", MetricsError::reason))
            .collect()
    }

    #[tokio::test]
    async fn a_round_shares_the_answers_that_are_kept_by_the_key_of_each_query() {
        let (source, cache) = (Fake::new(|_| Ok(())), cache());
        let round = Round::ask(&source, &cache, second(0)).await.unwrap();
        assert_eq!(reasons(&round), [""; 4]);
        for query in QUERIES {
            let source = "fake";
            let kept = cache.get(&QueryKey { source, query }).await.unwrap();
            let (Content::Usage(usage), Query::Pod(resource)) = (&kept.value.content, query) else {
                panic!("{query:?} has {kept:?}");
            };
            assert!(Arc::ptr_eq(
                &usage.pods[resource],
                &round.usage.pods[resource]
            ));
            assert_eq!(usage.pods[resource].len(), 1);
        }
        let asked = source.asked.into_inner().unwrap();
        assert_eq!(asked, QUERIES.into_iter().zip(0..).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn two_rounds_at_one_time_ask_each_query_once() {
        let (source, cache) = (Fake::new(|_| Ok(())), cache());
        let rounds = join_all((0..2).map(|_| Round::ask(&source, &cache, second(0)))).await;
        let [one, two] = &rounds[..] else {
            panic!("{rounds:?}");
        };
        assert_eq!(one.as_ref().unwrap().usage, two.as_ref().unwrap().usage);
        assert_eq!(source.asked.lock().unwrap().len(), QUERIES.len());
        Round::ask(&source, &cache, second(15)).await.unwrap();
        assert_eq!(source.asked.lock().unwrap().len(), 2 * QUERIES.len());
    }

    #[tokio::test]
    async fn a_query_that_fails_leaves_its_part_absent_and_its_last_answer_kept() {
        let (source, cache) = (Fake::new(|_| Ok(())), cache());
        Round::ask(&source, &cache, second(0)).await.unwrap();
        let source = Fake::new(|query| match query {
            MEMORY => Err(MetricsError::TooLarge {
                limit: evenkeel_core::units::Bytes(1),
            }),
            _ => Ok(()),
        });
        let round = Round::ask(&source, &cache, second(15)).await.unwrap();
        assert_eq!(reasons(&round), ["", "TooLarge", "", ""]);
        assert_eq!(round.failures().count(), 1);
        let pods = &round.usage.pods;
        assert!(pods[Resource::Memory].is_empty());
        assert!(!pods[Resource::Cpu].is_empty() && !pods[Resource::Disk].is_empty());
        let key = QueryKey {
            source: "fake",
            query: MEMORY,
        };
        assert_eq!(cache.get(&key).await.unwrap().fetched_at, second(0));
    }

    #[tokio::test]
    async fn after_two_queries_in_a_row_that_do_not_reach_the_server_the_rest_is_skipped() {
        let source = Fake::new(|query| match query {
            Query::Pod(Resource::Cpu) => Ok(()),
            _ => Err(MetricsError::Timeout),
        });
        let round = ask(&source).await.unwrap();
        assert_eq!(reasons(&round), ["", "Timeout", "Timeout", "Skipped"]);
        assert_eq!(source.asked.into_inner().unwrap().len(), 3);
    }

    #[tokio::test]
    async fn an_answer_in_between_shows_that_the_server_is_there() {
        let source = Fake::new(|query| match query {
            Query::Pod(Resource::Cpu | Resource::DiskIo) => Err(MetricsError::Timeout),
            _ => Ok(()),
        });
        let round = ask(&source).await.unwrap();
        assert_eq!(reasons(&round), ["Timeout", "", "Timeout", ""]);
    }

    #[tokio::test]
    async fn a_round_without_any_answer_fails_with_the_first_cause() {
        let source = Fake::new(|query| match query {
            Query::Pod(Resource::Cpu) => Err(MetricsError::Aborted),
            _ => Err(MetricsError::Timeout),
        });
        assert_eq!(ask(&source).await.unwrap_err().reason(), "Aborted");
    }

    #[tokio::test]
    async fn a_source_without_queries_has_an_empty_round() {
        let source = crate::metrics::NoMetrics;
        let round = Round::ask(&source, &cache(), second(0)).await.unwrap();
        assert_eq!(*round.usage, UsageSample::default());
    }
}
