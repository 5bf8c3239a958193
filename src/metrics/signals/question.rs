//! The question for one target's signal.

use std::sync::Arc;

use crate::metrics::error::MetricsError;
use crate::metrics::query_queue::QueueKey;
use crate::metrics::target_queries::{
    Purpose, TargetQuery, TargetQueryEndpoint, TargetQueryRequest,
};
use evenkeel_core::scaling::hpa::{MetricsApi, MetricsApiReading};
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_kubernetes::metric_query::MetricQuery;

/// Questions to one API at once: enough for 10,000 in a minute at 100 ms each.
const AT_ONCE: usize = 16;
/// Questions to Prometheus at once. By default it answers twenty at a time, which include those of
/// rounds and of all other clients.
const AT_ONCE_PROMETHEUS: usize = 8;

/// The bytes of an answer beside its values and the texts of its question.
const OVERHEAD: usize = 512;

/// The Pods of targets. An answer by Pods keeps only their values, because a selector may select
/// any number of others.
#[derive(Debug, Clone, Default)]
pub struct TargetPods(pub Vec<Arc<PodFacts>>);

impl Purpose for TargetPods {
    fn join(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(Arc::clone));
    }
}

/// A question of a target with these Pods.
#[must_use]
pub fn wanted(query: &MetricQuery, pods: &[Arc<PodFacts>]) -> TargetQueryRequest<MetricQuery> {
    TargetQueryRequest {
        question: query.clone(),
        purpose: query.is_by_pod().then(|| TargetPods(pods.to_vec())),
    }
}

const fn respondent(name: &'static str, at_once: usize) -> TargetQueryEndpoint {
    TargetQueryEndpoint { name, at_once }
}

impl QueueKey for MetricQuery {
    fn lane(&self) -> usize {
        match self.api() {
            MetricsApi::Resource => 0,
            MetricsApi::Custom => 1,
            MetricsApi::External => 2,
            MetricsApi::Prometheus => 3,
        }
    }

    fn tenant(&self) -> Option<&Arc<str>> {
        Some(&self.namespace)
    }
}

impl TargetQuery for MetricQuery {
    type Purpose = TargetPods;
    type Answer = MetricsApiReading;
    type Error = MetricsError;

    const RESPONDENTS: &'static [TargetQueryEndpoint] = &[
        respondent("containerMetrics", AT_ONCE),
        respondent("customMetrics", AT_ONCE),
        respondent("externalMetrics", AT_ONCE),
        respondent("targetQuery", AT_ONCE_PROMETHEUS),
    ];

    /// Several answers for each of ten thousand targets with fifteen Pods each, and a tenth of what the Pod
    /// may take.
    const MEMORY: u64 = 64 * 1024 * 1024;

    fn cut(answer: &mut MetricsApiReading, purpose: Option<&TargetPods>) {
        answer.keep_pods(purpose.map_or(&[], |pods| &pods.0));
    }

    fn bytes(&self, answer: Option<&MetricsApiReading>) -> usize {
        OVERHEAD + self.text_bytes() + answer.map_or(0, MetricsApiReading::bytes)
    }
}
