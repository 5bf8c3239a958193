//! Answers: series with their unit, as a list of the API. An answer has up to hundreds of thousands
//! of points, so each is written directly: a tree takes twenty times the memory of its text.

use std::collections::BTreeMap;

use evenkeel_objects::kinds::Kind;
use evenkeel_units::{Resource, words};
use jiff::{SignedDuration, Timestamp};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{QueryKind, SeriesQuery, SeriesSubject};

words! {
    pub enum SeriesUnit {
        Cores = "cores",
        Bytes = "bytes",
        BytesPerSecond = "bytes per second",
        /// Whatever the metric counts.
        Metric = "as the metric has it",
    }
}

impl SeriesUnit {
    pub const fn of(resource: Resource) -> Self {
        match resource {
            Resource::Cpu => Self::Cores,
            Resource::Memory | Resource::Disk => Self::Bytes,
            Resource::NetworkIo | Resource::DiskIo => Self::BytesPerSecond,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    pub at: Timestamp,
    pub value: f64,
}

/// Times are in seconds since 1970, since a range has tens of thousands.
impl Serialize for SeriesPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = self.at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64();
        let mut point = serializer.serialize_struct("SeriesPoint", 2)?;
        point.serialize_field("timestamp", &seconds)?;
        point.serialize_field("value", &self.value)?;
        point.end()
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LabelledSeries {
    pub labels: BTreeMap<String, String>,
    pub points: Vec<SeriesPoint>,
}

/// The answer to a question; of what is newest, each series has one point.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesAnswer {
    /// The span that each value is the mean of, where it is one.
    pub window: Option<SignedDuration>,
    pub series: Vec<LabelledSeries>,
}

impl SeriesQuery {
    pub const fn unit(&self) -> SeriesUnit {
        match &self.subject {
            SeriesSubject::Pods { usage, .. } | SeriesSubject::Workload { usage, .. } => {
                SeriesUnit::of(usage.resource)
            }
            SeriesSubject::Object { .. }
            | SeriesSubject::External(_)
            | SeriesSubject::WorkloadMetric { .. } => SeriesUnit::Metric,
        }
    }
}

impl SeriesAnswer {
    pub fn points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    pub fn list(&self, kind: QueryKind, unit: SeriesUnit) -> impl Serialize + '_ {
        SeriesList {
            api_version: Kind::MetricSeries.api_version(),
            kind: Kind::MetricSeries.as_str(),
            metadata: BTreeMap::new(),
            query: kind.as_str(),
            unit: unit.as_str(),
            window_seconds: self.window.map(|window| window.as_secs_f64()),
            items: &self.series,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeriesList<'a> {
    api_version: String,
    kind: &'static str,
    metadata: BTreeMap<String, String>,
    query: &'static str,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_seconds: Option<f64>,
    items: &'a [LabelledSeries],
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_states_its_unit_and_its_window() {
        let answer = SeriesAnswer {
            window: Some(SignedDuration::from_mins(2)),
            series: vec![LabelledSeries {
                labels: [("pod".to_owned(), "web-0".to_owned())].into(),
                points: vec![SeriesPoint {
                    at: Timestamp::from_millisecond(1_500).unwrap(),
                    value: 0.25,
                }],
            }],
        };
        let list = answer.list(QueryKind::PodResource, SeriesUnit::Cores);
        assert_eq!(
            serde_json::to_value(&list).unwrap(),
            json!({
                "apiVersion": "metrics.evenkeel.dev/v1alpha1", "kind": "SeriesList",
                "metadata": {}, "query": "pod-resource", "unit": "cores", "windowSeconds": 120.0,
                "items": [{"labels": {"pod": "web-0"},
                    "points": [{"timestamp": 1.5, "value": 0.25}]}],
            })
        );
    }
}
