//! Prometheus metrics of the measuring itself. Every label value comes from a closed set: queries,
//! reasons, causes, resources, states.

use std::time::Duration;

use jiff::SignedDuration;

use super::error::MetricsError;
use super::round::MetricsRound;
use super::self_check::MetricsFinding;
use crate::telemetry::metric_families::families;

const WHOLE_ROUND: &str = "all";

/// Upper bounds in seconds, from a small query on loopback to the usual timeout.
const BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

families! {
    pub struct QueryMetrics {
        durations: Histogram(BUCKETS)[query] = "metrics_query_duration" in Seconds,
            "Time of a query to the metrics source, until its answer is read";
        failures: Counter[query, reason] = "metrics_query_failures",
            "Queries to the metrics source without a usable answer; query=\"all\": the whole round";
        dropped: Counter[query, cause] = "metrics_values_dropped",
            "Values in answers of the metrics source that were not used";
        waits: FloatGauge[query, lane] = "metrics_signal_wait" in Seconds,
            "The longest wait of queries for single targets, by API and lane; lane=\"trial\": new \
             queries, and queries that were slow recently";
        age: FloatGauge = "metrics_sample_age" in Seconds,
            "Age of the newest measurement of any node in the last round";
        findings: Gauge[reason] = "metrics_self_check_findings",
            "1 for each finding of the last check of names; absent before the first check";
    }
}

impl QueryMetrics {
    /// Counts what a round brought, or that it failed.
    pub(crate) fn observe(&self, outcome: Result<&MetricsRound, &MetricsError>) {
        match outcome {
            Ok(round) => self.observe_round(round),
            Err(error) => {
                self.failures(WHOLE_ROUND, error.reason()).inc();
            }
        }
    }

    fn observe_round(&self, round: &MetricsRound) {
        for report in &round.reports {
            let query = report.query.as_str();
            if report.has_ended() {
                self.durations(query).observe(report.took.as_secs_f64());
            }
            for (cause, count) in report.dropped.iter().filter(|(_, count)| *count > 0) {
                self.dropped(query, cause.as_str()).inc_by(count);
            }
        }
        for (query, error) in round.failures() {
            self.failures(query.as_str(), error.reason()).inc();
        }
    }

    /// Counts one call beside the rounds, for a target or a kubelet, with its duration and the
    /// reason of a failure.
    pub(crate) fn observe_call(
        &self,
        query: &'static str,
        took: Duration,
        failed: Option<&'static str>,
    ) {
        self.durations(query).observe(took.as_secs_f64());
        if let Some(reason) = failed {
            self.failures(query, reason).inc();
        }
    }

    /// Shows how long questions of single targets wait in a lane.
    pub(crate) fn observe_wait(
        &self,
        query: &'static str,
        lane: &'static str,
        wait: SignedDuration,
    ) {
        self.waits(query, lane).set(wait.as_secs_f64());
    }

    /// Shows the age of the newest measurement of any node.
    pub(crate) fn observe_age(&self, age: SignedDuration) {
        self.age.set(age.as_secs_f64());
    }

    /// Shows what the check of names found; what it did not find shows as 0.
    pub(crate) fn observe_findings(&self, findings: &[MetricsFinding]) {
        for reason in MetricsFinding::REASONS {
            let found = findings.iter().any(|finding| finding.reason() == reason);
            self.findings(reason).set(i64::from(found));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use evenkeel_units::Resource;

    use super::*;
    use crate::metrics::{DropCause, QueryReport, RejectedSamples, UsageQuery};
    use crate::telemetry::Registry;

    #[test]
    fn rounds_show_in_the_export() {
        let mut registry = Registry::default();
        let metrics = QueryMetrics::default();
        metrics.register(&mut registry);
        let mut dropped = RejectedSamples::default();
        dropped.add(DropCause::Negative);
        let report = |error| QueryReport {
            query: UsageQuery::Node(Resource::Cpu),
            took: Duration::from_millis(20),
            dropped,
            warning: None,
            error: Some(Arc::new(error)),
        };
        let round = MetricsRound {
            reports: vec![report(MetricsError::Timeout), report(MetricsError::Late)],
            ..MetricsRound::default()
        };
        metrics.observe(Ok(&round));
        metrics.observe(Err(&MetricsError::Skipped));
        metrics.observe_wait("externalMetrics", "soon", SignedDuration::from_secs(3));
        metrics.observe_age(SignedDuration::from_secs(10));
        metrics.observe_findings(&[MetricsFinding::NoSeries]);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "metrics_query_duration_seconds_count{query=\"nodeCpu\"} 1",
            "metrics_query_failures_total{query=\"nodeCpu\",reason=\"Timeout\"} 1",
            "metrics_query_failures_total{query=\"nodeCpu\",reason=\"Late\"} 1",
            "metrics_query_failures_total{query=\"all\",reason=\"Skipped\"} 1",
            "metrics_values_dropped_total{query=\"nodeCpu\",cause=\"Negative\"} 2",
            "metrics_signal_wait_seconds{query=\"externalMetrics\",lane=\"soon\"} 3.0",
            "metrics_sample_age_seconds 10.0",
            "metrics_self_check_findings{reason=\"NoSeries\"} 1",
            "metrics_self_check_findings{reason=\"UseLabel\"} 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
