//! The values in answers of `custom.metrics.k8s.io` and `external.metrics.k8s.io`. A list without a
//! value is an error, as for the HPA controller, never a zero. A value without a time, or with a
//! future one, counts from the time of the query. An unreadable value leaves its Pod without a
//! value, and makes a sum an error.

use evenkeel_objects::json;
use evenkeel_objects::json::{ParseError, list, null_is_default};
use evenkeel_objects::lenient_object::{LenientObject, UnreadableObject};
use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api_reading::MetricsApiReading;
use crate::sample::{Measurement, PodSample, ValueSample};
use crate::series_sum::summed_series;

/// The window of a value that does not tell one, as the HPA controller has it.
const WINDOW: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    #[error("the answer is not a list of values: {0}")]
    Malformed(#[from] ParseError),
    #[error("{0:?} is not a quantity")]
    NoQuantity(String),
    #[error("the answer has no value")]
    Empty,
    /// Several values for one object, so it is not clear which of them counts.
    #[error("the answer has {0} values for one object")]
    Several(usize),
}

impl ValuesError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::NoQuantity(_) => "Malformed",
            Self::Empty => "NoValues",
            Self::Several(_) => "SeveralValues",
        }
    }
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct List<T> {
    #[serde(default, deserialize_with = "list")]
    items: Vec<LenientObject<T>>,
}

/// A `MetricValue`; `v1beta1` calls its window otherwise.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricValue {
    #[serde(default, deserialize_with = "null_is_default")]
    described_object: DescribedObject,
    timestamp: Option<Timestamp>,
    #[serde(alias = "window")]
    window_seconds: Option<i64>,
    value: YamlText,
}

#[derive(Default, Deserialize)]
struct DescribedObject {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct ExternalMetricValue {
    timestamp: Option<Timestamp>,
    value: YamlText,
}

pub(crate) fn of_pods(body: &[u8], asked: Timestamp) -> Result<MetricsApiReading, ValuesError> {
    let items = items::<MetricValue>(body)?;
    let sample = |item: Result<MetricValue, ValuesError>| {
        let item = item?;
        Ok(PodSample {
            pod: item.described_object.name,
            measurement: Measurement {
                timestamp: time(item.timestamp, asked),
                window: item
                    .window_seconds
                    .map_or(WINDOW, SignedDuration::from_secs),
                value: thousandths(item.value.as_ref())?,
            },
        })
    };
    let samples = items.into_iter().map(sample);
    let (read, unreadable): (Vec<_>, Vec<_>) = samples.partition(Result::is_ok);
    match unreadable.into_iter().find_map(Result::err) {
        Some(error) if read.is_empty() => Err(error),
        _ => Ok(MetricsApiReading::Pods(
            read.into_iter().flatten().collect(),
        )),
    }
}

pub(crate) fn of_object(body: &[u8], asked: Timestamp) -> Result<MetricsApiReading, ValuesError> {
    let mut items = items::<MetricValue>(body)?;
    let (Some(item), true) = (items.pop(), items.is_empty()) else {
        return Err(ValuesError::Several(items.len() + 1));
    };
    let item = item?;
    Ok(MetricsApiReading::Object(ValueSample {
        timestamp: time(item.timestamp, asked),
        value: thousandths(item.value.as_ref())?,
    }))
}

/// The sum of all series of an external metric: an answer may hold tens of thousands.
pub(crate) fn of_series(body: &[u8], asked: Timestamp) -> Result<MetricsApiReading, ValuesError> {
    let items = items::<ExternalMetricValue>(body)?;
    let sample = |item: Result<ExternalMetricValue, ValuesError>| {
        let item = item?;
        Ok(ValueSample {
            timestamp: time(item.timestamp, asked),
            value: thousandths(item.value.as_ref())?,
        })
    };
    let samples: Result<Vec<_>, ValuesError> = items.into_iter().map(sample).collect();
    Ok(MetricsApiReading::Series(summed_series(&samples?)))
}

/// The items of a list, each read by itself.
fn items<T: DeserializeOwned>(body: &[u8]) -> Result<Vec<Result<T, ValuesError>>, ValuesError> {
    let List { items } = json::from_slice::<List<T>>(body)?;
    if items.is_empty() {
        return Err(ValuesError::Empty);
    }
    let unreadable = |(position, item): (usize, LenientObject<T>)| {
        item.0.map_err(|UnreadableObject { error, .. }| {
            ValuesError::Malformed(ParseError {
                path: format!("items[{position}]"),
                message: error,
            })
        })
    };
    Ok(items.into_iter().enumerate().map(unreadable).collect())
}

fn time(told: Option<Timestamp>, asked: Timestamp) -> Timestamp {
    told.map_or(asked, |told| told.min(asked))
}

fn thousandths(text: &str) -> Result<i64, ValuesError> {
    let quantity: Quantity = text
        .parse()
        .map_err(|_| ValuesError::NoQuantity(excerpt(text, OF_VALUE)))?;
    Ok(quantity.milli_value())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ADAPTER: &str =
        include_str!("../../../tests/fixtures/metrics/prometheus-adapter-pods.json");
    const KEDA: &str = include_str!("../../../tests/fixtures/metrics/keda-external.json");

    fn asked() -> Timestamp {
        "2026-03-01T10:00:00Z".parse().unwrap()
    }

    #[test]
    fn recorded_answers_are_read() {
        let MetricsApiReading::Pods(pods) = of_pods(ADAPTER.as_bytes(), asked()).unwrap() else {
            panic!("no Pods");
        };
        let found: Vec<_> = pods
            .iter()
            .map(|one| (&*one.pod, one.measurement.value, one.measurement.window))
            .collect();
        assert_eq!(
            found,
            [
                ("podinfo-6b86c8ccc9-kv5g9", 901, WINDOW),
                ("podinfo-6b86c8ccc9-nm7bl", 898, WINDOW)
            ]
        );
        let first = pods[0].measurement.timestamp;
        assert_eq!(first, "2018-01-10T16:49:07Z".parse().unwrap());
        let keda = of_series(KEDA.as_bytes(), asked()).unwrap();
        let sample = ValueSample {
            timestamp: "2025-04-07T14:31:11Z".parse().unwrap(),
            value: 1,
        };
        assert_eq!(keda, MetricsApiReading::Series(vec![sample]));
    }

    fn body(items: &Value) -> Vec<u8> {
        json!({"kind": "MetricValueList", "apiVersion": "custom.metrics.k8s.io/v1beta2",
            "metadata": {}, "items": items})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn an_answer_without_a_value_is_an_error_and_no_zero() {
        let value = json!({"timestamp": null, "value": "5"});
        for (items, of_pods_is, of_object_is, of_series_is) in [
            (json!([]), "NoValues", "NoValues", "NoValues"),
            (json!(null), "NoValues", "NoValues", "NoValues"),
            (
                json!([{"value": "much"}]),
                "Malformed",
                "Malformed",
                "Malformed",
            ),
            (json!([{"value": 5}]), "", "", ""),
            (
                json!([{"value": true}]),
                "Malformed",
                "Malformed",
                "Malformed",
            ),
            (json!([{}]), "Malformed", "Malformed", "Malformed"),
            (json!(5), "Malformed", "Malformed", "Malformed"),
            // A value that cannot be read leaves its Pod without a value, and a sum incomplete.
            (
                json!([value, {"value": "much"}]),
                "",
                "SeveralValues",
                "Malformed",
            ),
            (
                json!([{"value": []}, value]),
                "",
                "SeveralValues",
                "Malformed",
            ),
            (json!([value, value]), "", "SeveralValues", ""),
            (json!([value]), "", "", ""),
        ] {
            let body = body(&items);
            let reason = |found: Result<MetricsApiReading, ValuesError>| {
                found.map_or_else(|error| error.reason(), |_| "")
            };
            assert_eq!(reason(of_pods(&body, asked())), of_pods_is, "{items}");
            assert_eq!(reason(of_object(&body, asked())), of_object_is, "{items}");
            assert_eq!(reason(of_series(&body, asked())), of_series_is, "{items}");
        }
        assert!(of_pods(b"<html>", asked()).is_err());
    }

    /// The harm: each series of an exporter that has tens of thousands was kept for minutes.
    #[test]
    fn of_endless_series_the_sum_is_kept() {
        let items: Vec<_> = (0..30_000).map(|_| json!({"value": "2"})).collect();
        let reading = of_series(&body(&json!(items)), asked()).unwrap();
        let sample = ValueSample {
            timestamp: asked(),
            value: 60_000_000,
        };
        assert_eq!(reading, MetricsApiReading::Series(vec![sample]));
        assert!(reading.bytes() < 200);
    }

    #[test]
    fn times_are_never_newer_than_the_question_and_both_versions_tell_windows() {
        let older = "2026-03-01T09:59:30Z";
        for (item, at, window) in [
            (json!({"value": "1"}), asked(), WINDOW),
            (
                json!({"value": "1", "timestamp": older}),
                older.parse().unwrap(),
                WINDOW,
            ),
            (
                json!({"value": "1", "timestamp": "2030-01-01T00:00:00Z"}),
                asked(),
                WINDOW,
            ),
            (
                json!({"value": "1", "windowSeconds": 30}),
                asked(),
                SignedDuration::from_secs(30),
            ),
            (
                json!({"value": "1", "window": 45}),
                asked(),
                SignedDuration::from_secs(45),
            ),
        ] {
            let MetricsApiReading::Pods(pods) = of_pods(&body(&json!([item])), asked()).unwrap()
            else {
                panic!("no Pods");
            };
            let Measurement {
                timestamp,
                window: found,
                ..
            } = pods[0].measurement;
            assert_eq!((timestamp, found), (at, window), "{item}");
        }
    }
}
