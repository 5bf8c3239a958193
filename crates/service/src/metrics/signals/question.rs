//! The question for one target's signal.

use std::sync::Arc;

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::MetricQuery;
use evenkeel_metrics::metrics_api::MetricsApi;
use evenkeel_metrics::pod::PodFacts;

use crate::metrics::error::MetricsError;
use crate::metrics::query_queue::QueueKey;
use crate::metrics::target_queries::{Purpose, TargetQuery, TargetQueryEndpoint};

/// Questions to one API at once: enough for 10,000 in a minute at 100 ms each.
const AT_ONCE: usize = 16;
/// Concurrent queries to Prometheus. By default it answers twenty at a time, for rounds and all
/// other clients together.
const AT_ONCE_PROMETHEUS: usize = 8;

/// The bytes of an answer beside its values and the texts of its question.
const OVERHEAD: usize = 512;

impl Purpose for Vec<Arc<PodFacts>> {
    fn join(&mut self, other: &Self) {
        self.extend(other.iter().map(Arc::clone));
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
    type Purpose = Vec<Arc<PodFacts>>;
    type Answer = MetricsApiReading;
    type Error = MetricsError;

    const RESPONDENTS: &'static [TargetQueryEndpoint] = &[
        respondent("containerMetrics", AT_ONCE),
        respondent("customMetrics", AT_ONCE),
        respondent("externalMetrics", AT_ONCE),
        respondent("targetQuery", AT_ONCE_PROMETHEUS),
    ];

    /// Several answers for each of ten thousand targets with fifteen Pods each, and a tenth of the
    /// Pod's memory limit.
    const MEMORY: u64 = 64 * 1024 * 1024;

    fn cut(answer: &mut MetricsApiReading, purpose: Option<&Self::Purpose>) {
        answer.keep_pods(purpose.map_or(&[], |pods| pods));
    }

    fn bytes(&self, answer: Option<&MetricsApiReading>) -> usize {
        OVERHEAD + self.text_bytes() + answer.map_or(0, MetricsApiReading::bytes)
    }
}
