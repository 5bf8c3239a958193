//! Metrics of the provider; every label value comes from a closed set.

use std::time::Duration;

use evenkeel_metrics::series_query::{QueryKind, SeriesRefusal};

use crate::telemetry::metric_families::families;

/// Upper bounds in seconds, from one Pod now to weeks of a workload.
const BUCKETS: [f64; 9] = [0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 60.0];

families! {
    pub struct SeriesProviderMetrics {
        questions: Counter[query, outcome] = "metrics_provider_queries",
            "Queries of series by kind and outcome";
        durations: Histogram(BUCKETS)[query] = "metrics_provider_query_duration" in Seconds,
            "Time from an accepted query to its answer, including its wait";
    }
}

impl SeriesProviderMetrics {
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
        self.questions(query, outcome).inc();
        self.durations(query).observe(took.as_secs_f64());
    }
}
