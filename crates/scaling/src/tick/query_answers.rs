//! The queries of single targets and the newest answers to them, as a tick reads them. Another part sends the
//! queries and keeps the answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::MetricQuery;
use evenkeel_metrics::pod::PodFacts;
use jiff::{SignedDuration, Timestamp};

use crate::external_checks::{ChangeAsked, CheckQuestion, StepCheckAnswer};

/// A query of one target, with the use that the target has for the answer.
#[derive(Debug, Clone)]
pub struct QueryRequest<Q, P> {
    pub question: Q,
    pub purpose: Option<P>,
}

/// The query of a signal. An answer by Pods keeps only the values of the named Pods.
pub type SignalRequest = QueryRequest<MetricQuery, Vec<Arc<PodFacts>>>;

impl SignalRequest {
    /// The query for a target with these Pods.
    pub fn of(query: &MetricQuery, pods: &[Arc<PodFacts>]) -> Self {
        Self {
            question: query.clone(),
            purpose: query.is_by_pod().then(|| pods.to_vec()),
        }
    }
}

/// An external check of a change.
pub(crate) type CheckRequest = QueryRequest<CheckQuestion, ChangeAsked>;

/// The newest answers to the queries of signals.
pub type SignalReadings = HashMap<MetricQuery, CachedAnswer<MetricsApiReading>>;

/// The newest answers of external checks.
pub type CheckAnswers = HashMap<CheckQuestion, CachedAnswer<StepCheckAnswer>>;

/// A value with the time at which it was asked for.
#[derive(Debug)]
pub struct CachedValue<V> {
    pub value: Arc<V>,
    /// The time of the refresh that brought it.
    pub fetched_at: Timestamp,
}

impl<V> Clone for CachedValue<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            fetched_at: self.fetched_at,
        }
    }
}

/// The state of one query.
#[derive(Debug)]
pub struct CachedAnswer<A> {
    /// The newest answer, however old.
    pub answer: Option<CachedValue<A>>,
    /// The last attempt to get a newer one, where it failed.
    pub failed: Option<FailedQuery>,
    /// The span before its time that an answer is made of, where it does not tell.
    pub look_back: SignedDuration,
}

/// An attempt to get an answer that has failed.
#[derive(Clone)]
pub struct FailedQuery {
    pub error: Arc<dyn fmt::Display + Send + Sync>,
    pub attempted_at: Timestamp,
    /// True if the answer was empty. An empty answer is no value to scale by, but it is still an answer.
    pub is_empty: bool,
}

impl fmt::Debug for FailedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.error, self.attempted_at)
    }
}

impl<A> CachedAnswer<A> {
    /// Why the last attempt to get a newer answer failed.
    pub fn error(&self) -> Option<&(dyn fmt::Display + Send + Sync)> {
        self.failed.as_ref().map(|failed| &*failed.error)
    }

    /// When it was last asked, if the answer was empty.
    pub fn empty_at(&self) -> Option<Timestamp> {
        let empty = self.failed.as_ref().filter(|failed| failed.is_empty);
        empty.map(|empty| empty.attempted_at)
    }
}

impl<A> Default for CachedAnswer<A> {
    fn default() -> Self {
        Self {
            answer: None,
            failed: None,
            look_back: SignedDuration::ZERO,
        }
    }
}

impl<A> Clone for CachedAnswer<A> {
    fn clone(&self) -> Self {
        Self {
            answer: self.answer.clone(),
            failed: self.failed.clone(),
            look_back: self.look_back,
        }
    }
}
