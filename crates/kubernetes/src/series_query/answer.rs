//! Answers: series with their unit, as a list of the API.

use std::collections::BTreeMap;

use evenkeel_core::units::Resource;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{QueryKind, SeriesQuery, SeriesSubject};
use crate::kinds::Kind;

/// The unit of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Cores,
    Bytes,
    BytesPerSecond,
    /// Whatever the metric counts.
    Metric,
}

impl Unit {
    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cores => "cores",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::Metric => "as the metric has it",
        }
    }

    /// The unit of the use of a resource.
    #[must_use]
    pub const fn of(resource: Resource) -> Self {
        match resource {
            Resource::Cpu => Self::Cores,
            Resource::Memory | Resource::Disk => Self::Bytes,
            Resource::NetworkIo | Resource::DiskIo => Self::BytesPerSecond,
        }
    }
}

/// A value at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    pub at: Timestamp,
    pub value: f64,
}

/// A series with its labels, in the order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    pub labels: BTreeMap<String, String>,
    pub points: Vec<SeriesPoint>,
}

/// The answer to a question; of what is newest, each series has one point.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesAnswer {
    /// The span that each value is the mean of, where it is one.
    pub window: Option<SignedDuration>,
    pub series: Vec<Series>,
}

impl SeriesQuery {
    /// The unit of the values.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        match &self.subject {
            SeriesSubject::Pods { usage, .. } | SeriesSubject::Workload { usage, .. } => {
                Unit::of(usage.resource)
            }
            SeriesSubject::Object { .. }
            | SeriesSubject::External(_)
            | SeriesSubject::WorkloadMetric { .. } => Unit::Metric,
        }
    }
}

impl SeriesAnswer {
    /// The points of all series.
    #[must_use]
    pub fn points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    /// The list of the API; times are in seconds since 1970, since a range has tens of thousands.
    #[must_use]
    pub fn list(&self, kind: QueryKind, unit: Unit) -> Value {
        let items = self.series.iter().map(|Series { labels, points }| {
            let points = points.iter().map(|SeriesPoint { at, value }| {
                let seconds = at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64();
                json!({"timestamp": seconds, "value": value})
            });
            json!({"labels": labels, "points": points.collect::<Vec<_>>()})
        });
        let items: Vec<_> = items.collect();
        let mut list = json!({
            "apiVersion": Kind::MetricSeries.api_version(),
            "kind": Kind::MetricSeries.as_str(),
            "metadata": {},
            "query": kind.as_str(),
            "unit": unit.as_str(),
            "items": items,
        });
        if let Some(window) = self.window {
            list["windowSeconds"] = json!(window.as_secs_f64());
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_states_its_unit_and_its_window() {
        let answer = SeriesAnswer {
            window: Some(SignedDuration::from_mins(2)),
            series: vec![Series {
                labels: [("pod".to_owned(), "web-0".to_owned())].into(),
                points: vec![SeriesPoint {
                    at: Timestamp::from_millisecond(1_500).unwrap(),
                    value: 0.25,
                }],
            }],
        };
        assert_eq!(
            answer.list(QueryKind::PodResource, Unit::Cores),
            json!({
                "apiVersion": "metrics.evenkeel.dev/v1alpha1", "kind": "SeriesList",
                "metadata": {}, "query": "pod-resource", "unit": "cores", "windowSeconds": 120.0,
                "items": [{"labels": {"pod": "web-0"},
                    "points": [{"timestamp": 1.5, "value": 0.25}]}],
            })
        );
    }
}
