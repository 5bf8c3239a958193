//! Metrics of the provider; every label value comes from a closed set.

use std::time::Duration;

use evenkeel_metrics::series_query::{QueryKind, SeriesRefusal};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds, from one Pod now to weeks of a workload.
const BUCKETS: [f64; 9] = [0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 60.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    query: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueryLabel {
    query: &'static str,
}

#[derive(Debug, Clone)]
pub struct SeriesProviderMetrics {
    questions: Family<OutcomeLabels, Counter>,
    durations: Family<QueryLabel, Histogram, fn() -> Histogram>,
}

impl Default for SeriesProviderMetrics {
    fn default() -> Self {
        Self {
            questions: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
        }
    }
}

impl SeriesProviderMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "metrics_provider_queries",
            "Queries of series by kind and outcome",
            self.questions.clone(),
        );
        registry.register_with_unit(
            "metrics_provider_query_duration",
            "Time from an accepted query to its answer, including its wait",
            Unit::Seconds,
            self.durations.clone(),
        );
    }

    pub(super) fn observe<T>(
        &self,
        kind: QueryKind,
        took: Duration,
        answer: &Result<T, SeriesRefusal>,
    ) {
        let query = kind.as_str();
        let outcome = match answer {
            Ok(_) => "answered",
            Err(refusal) => refusal.answer().1,
        };
        self.questions
            .get_or_create(&OutcomeLabels { query, outcome })
            .inc();
        self.durations
            .get_or_create(&QueryLabel { query })
            .observe(took.as_secs_f64());
    }
}
