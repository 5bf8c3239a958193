//! Usage from a recorded trace, played against the given clock, for tests, for `score`, and for a
//! cluster on one machine. The newest row of a node or Pod holds until its next one, dated by its
//! own time; so an ended trace grows stale like a dead exporter.

mod trace;

pub use trace::{TraceError, UsageTrace};

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use self::trace::{UsageTraceRow, UsageTraceSubject};
use super::answer::{Answers, QueryAnswer};
use super::error::MetricsError;
use super::query::UsageQuery;
use super::source::MetricsSource;
use evenkeel_core::placement::usage::{NodeSample, UsageSample};
use evenkeel_core::units::Ratio;

/// A trace that stands in for measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub file: PathBuf,
    /// Seconds of the trace for each second of the clock, above 0.
    pub speed: Ratio,
}

pub struct ReplaySource {
    trace: UsageTrace,
    speed: Ratio,
    started_at: Timestamp,
}

impl ReplaySource {
    /// A source that plays `trace` from `started_at`, its second 0, at `speed` trace seconds per
    /// second of the clock.
    #[must_use]
    pub fn new(trace: UsageTrace, speed: Ratio, started_at: Timestamp) -> Self {
        Self {
            trace,
            speed,
            started_at,
        }
    }

    #[must_use]
    pub fn at(&self, now: Timestamp) -> UsageSample {
        let Self {
            trace,
            speed,
            started_at,
        } = self;
        let position = now.duration_since(*started_at).as_secs_f64() * speed.get();
        let mut usage = UsageSample::default();
        for (subject, row) in trace.at(position) {
            let since = SignedDuration::try_from_secs_f64(row.seconds / speed.get()).ok();
            let at = since.and_then(|since| started_at.checked_add(since).ok());
            if let Some(at) = at {
                record(&mut usage, subject, row, at);
            }
        }
        usage
    }
}

fn record(
    usage: &mut UsageSample,
    subject: &UsageTraceSubject,
    row: &UsageTraceRow,
    at: Timestamp,
) {
    match subject {
        UsageTraceSubject::Pod(pod) => {
            usage.insert_pod(pod, &row.amounts);
        }
        UsageTraceSubject::Node(node) => {
            let measured = row.amounts.map(|amount| {
                amount.map(|value| NodeSample {
                    value,
                    at,
                    window: SignedDuration::ZERO,
                })
            });
            usage.insert_node(Arc::clone(node), &measured);
            if let Some(speed) = row.network_capacity {
                usage.insert_speed(Arc::clone(node), speed);
            }
        }
    }
}

#[async_trait]
impl MetricsSource for ReplaySource {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn queries(&self) -> &[UsageQuery] {
        &[UsageQuery::Trace]
    }

    async fn fetch(
        &self,
        query: UsageQuery,
        _before: &Answers,
        now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        Ok(match query {
            UsageQuery::Trace => self.at(now).into(),
            _ => QueryAnswer::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::placement::usage::PodName;
    use evenkeel_core::units::{Amount, Resource};

    const TRACE: &str = include_str!("../../tests/fixtures/metrics/trace.csv");
    const START: i64 = 1_700_000_000;

    fn source(speed: f64) -> ReplaySource {
        let trace = TRACE.parse().unwrap();
        ReplaySource::new(trace, Ratio::new(speed).unwrap(), second(0))
    }

    fn second(offset: i64) -> Timestamp {
        Timestamp::from_second(START + offset).unwrap()
    }

    #[test]
    fn a_row_holds_until_the_next_with_its_own_time() {
        for (speed, now, cpu, at) in [
            (1.0, 0, 1500, 0),
            (1.0, 59, 1500, 0),
            (1.0, 60, 3200, 60),
            (1.0, 9999, 3200, 60),
            (60.0, 1, 3200, 1),
            (0.5, 119, 1500, 0),
            (0.5, 120, 3200, 120),
        ] {
            let usage = source(speed).at(second(now));
            let measured = usage.node("worker-1")[Resource::Cpu].unwrap();
            assert_eq!(measured.value, Amount::new(cpu), "{speed} {now}");
            assert_eq!(measured.at, second(at), "{speed} {now}");
        }
    }

    #[test]
    fn all_columns_are_read_in_their_units() {
        let usage = source(1.0).at(second(0));
        let node = usage
            .node("worker-1")
            .map(|measured| measured.map(|m| m.value.get()));
        assert_eq!(
            node.values(),
            &[
                Some(1500),
                Some(4 << 30),
                Some(12_500_000),
                Some(1 << 20),
                None
            ]
        );
        assert_eq!(
            usage.network_capacity["worker-1"],
            Amount::new(1_250_000_000)
        );
        let pod = usage.pod(&PodName::new("shop", "web-0"));
        assert_eq!(pod[Resource::Cpu], Some(Amount::new(250)));
        assert_eq!(pod[Resource::NetworkIo], None);
    }

    #[test]
    fn an_empty_row_ends_the_measuring_of_a_node() {
        let is_measured = |at| {
            let usage = source(1.0).at(second(at));
            usage.node_names().contains("worker-2")
        };
        assert!(is_measured(59));
        assert!(!is_measured(90));
    }

    #[test]
    fn nothing_is_measured_before_the_trace_begins() {
        assert_eq!(source(1.0).at(second(-1)), UsageSample::default());
    }
}
