//! One round of a source: the queries and their results. A failed query leaves its part absent; for
//! one still under way, the answer before it counts.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_metrics::usage::UsageSample;
use evenkeel_scaling::tick::query_answers::CachedValue;
use evenkeel_units::{Resource, Resources};
use jiff::Timestamp;

use super::answer::{Answers, QueryAnswer};
use super::error::MetricsError;
use super::query::UsageQuery;
use super::rejected_samples::RejectedSamples;

/// Outcome of asking the queries of a source.
#[derive(Debug, Default)]
pub struct MetricsRound {
    pub usage: Arc<UsageSample>,
    /// When the usage of the Pods was asked for, by resource: if older than the nodes' usage, it
    /// holds for no later time.
    pub pods_as_of: Resources<Option<Timestamp>>,
    /// Outcome of each query, in the order of the source.
    pub reports: Vec<QueryReport>,
}

#[derive(Debug)]
pub struct QueryReport {
    pub query: UsageQuery,
    /// Time that it took, reading the answer included.
    pub took: Duration,
    /// Values of the answer that were not taken.
    pub dropped: RejectedSamples,
    /// A warning of the source about its own answer.
    pub warning: Option<String>,
    /// Cause for which there is no new answer.
    pub error: Option<Arc<MetricsError>>,
}

pub(super) type QueryResult = Result<Arc<QueryAnswer>, Arc<MetricsError>>;

#[derive(Debug)]
pub(super) struct FinishedQuery {
    pub(super) query: UsageQuery,
    pub(super) at: Timestamp,
    pub(super) took: Duration,
    pub(super) outcome: QueryResult,
}

/// The way in which a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryCompletion {
    Answered,
    /// The server was not reached, or did not answer in time.
    Unreached,
    /// It answered something else.
    Failed,
}

impl FinishedQuery {
    /// A query that is still under way, or that rests since it was slow.
    pub(super) fn late(query: UsageQuery) -> Self {
        Self::without(query, Timestamp::MIN, MetricsError::Late)
    }

    pub(super) fn skipped(query: UsageQuery, at: Timestamp) -> Self {
        Self::without(query, at, MetricsError::Skipped)
    }

    fn without(query: UsageQuery, at: Timestamp, error: MetricsError) -> Self {
        Self {
            query,
            at,
            took: Duration::ZERO,
            outcome: Err(Arc::new(error)),
        }
    }

    pub(super) fn end(&self) -> QueryCompletion {
        match &self.outcome {
            Ok(_) => QueryCompletion::Answered,
            Err(error) if error.is_unreachable() => QueryCompletion::Unreached,
            Err(_) => QueryCompletion::Failed,
        }
    }
}

impl MetricsRound {
    /// The round of these queries, each with the answer before it where that counts.
    ///
    /// # Errors
    /// There is no answer to any of them; the first cause is given.
    pub(super) fn of(
        queries: Vec<(FinishedQuery, Option<CachedValue<QueryAnswer>>)>,
    ) -> Result<Self, Arc<MetricsError>> {
        let (mut answers, mut reports) = (Answers::default(), Vec::with_capacity(queries.len()));
        let mut pods_as_of = Resources::default();
        for (asked, last) in queries {
            let FinishedQuery {
                query, at, took, ..
            } = asked;
            let answer = match (&asked.outcome, last) {
                (Ok(answer), _) => Some((Arc::clone(answer), at)),
                (Err(_), last) => last.map(|entry| (entry.value, entry.fetched_at)),
            };
            reports.push(QueryReport::new(query, took, &asked.outcome));
            let Some((answer, as_of)) = answer else {
                continue;
            };
            for resource in pods_of(query) {
                pods_as_of[resource] = Some(as_of);
            }
            answers.push(query, answer);
        }
        let first = reports.first().and_then(|report| report.error.clone());
        match first {
            Some(error) if answers.is_empty() => Err(error),
            _ => Ok(Self {
                usage: Arc::new(answers.usage()),
                pods_as_of,
                reports,
            }),
        }
    }

    /// The queries without a new answer.
    pub fn failures(&self) -> impl Iterator<Item = (UsageQuery, &MetricsError)> {
        self.reports
            .iter()
            .filter_map(|report| Some((report.query, report.error.as_deref()?)))
    }
}

fn pods_of(query: UsageQuery) -> Vec<Resource> {
    match query {
        UsageQuery::Pod(resource) => vec![resource],
        UsageQuery::PodMetrics => vec![Resource::Cpu, Resource::Memory],
        UsageQuery::KubeletDisk => vec![Resource::Disk],
        UsageQuery::SampleTime(_)
        | UsageQuery::Node(_)
        | UsageQuery::NetworkCapacity
        | UsageQuery::IoPressure
        | UsageQuery::NodeMetrics => Vec::new(),
    }
}

impl QueryReport {
    /// True for a query that was asked and has ended.
    pub(super) fn has_ended(&self) -> bool {
        let error = self.error.as_deref();
        !matches!(error, Some(MetricsError::Late | MetricsError::Skipped))
    }

    fn new(query: UsageQuery, took: Duration, outcome: &QueryResult) -> Self {
        let (dropped, warning, error) = match outcome {
            Ok(answer) => (answer.dropped, answer.warning.clone(), None),
            Err(error) => (RejectedSamples::default(), None, Some(Arc::clone(error))),
        };
        Self {
            query,
            took,
            dropped,
            warning,
            error,
        }
    }
}
