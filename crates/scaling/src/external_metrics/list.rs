//! Values of the metric: an `ExternalMetricValueList` of the loads that a selector selects.

use std::collections::BTreeMap;

use evenkeel_label_selector::Selector;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::truncate::excerpt;
use evenkeel_quantity::Quantity;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{EXPECTED_LOAD, ExternalMetricsRefusal, label_value};
use crate::recommend::expected_load::LoadBasis;

const KIND: &str = "kind";
const NAME: &str = "name";
const SIGNAL: &str = "signal";
const BASIS: &str = "basis";

/// Characters of what is asked that an answer repeats.
const REPEATED: usize = 100;

/// The expected load of one target in one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedLoad {
    labels: BTreeMap<String, String>,
    known: Option<KnownLoad>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLoad {
    pub value: Quantity,
    pub basis: LoadBasis,
    /// The time at which what it rests on was measured.
    pub measured: Timestamp,
}

impl ServedLoad {
    pub fn new(kind: &str, name: &str, signal: &str, known: Option<KnownLoad>) -> Self {
        let mut labels: BTreeMap<String, String> = [(KIND, kind), (NAME, name), (SIGNAL, signal)]
            .into_iter()
            .map(|(label, value)| (label.to_owned(), label_value(value)))
            .collect();
        if let Some(known) = known {
            labels.insert(BASIS.to_owned(), known.basis.as_str().to_owned());
        }
        Self { labels, known }
    }

    /// The load at `now`, unless it was measured longer than `max_age` ago.
    fn fresh(&self, now: Timestamp, max_age: SignedDuration) -> Option<KnownLoad> {
        let is_fresh = |known: &KnownLoad| now.duration_since(known.measured) <= max_age;
        self.known.filter(is_fresh)
    }

    fn unknown(&self) -> ExternalMetricsRefusal {
        let label = |name: &str| self.labels.get(name).cloned().unwrap_or_default();
        ExternalMetricsRefusal::LoadUnknown {
            kind: label(KIND),
            name: label(NAME),
            signal: label(SIGNAL),
        }
    }
}

/// The values of `metric` that a selector selects, of the `loads` of one namespace.
///
/// # Errors
/// A metric that is not served, an invalid selector, or a selected load that is unknown: the sum of
/// the others would be taken for that of all.
pub fn list(
    metric: &str,
    selector: &str,
    loads: &[ServedLoad],
    (now, max_age): (Timestamp, SignedDuration),
) -> Result<Value, ExternalMetricsRefusal> {
    if !metric.eq_ignore_ascii_case(EXPECTED_LOAD) {
        return Err(ExternalMetricsRefusal::NoSuchMetric(excerpt(
            metric, REPEATED,
        )));
    }
    let selector = Selector::parse(selector);
    let selector = selector
        .map_err(|error| ExternalMetricsRefusal::Selector(excerpt(&error.to_string(), REPEATED)))?;
    let selected = loads.iter().filter(|load| selector.matches(&load.labels));
    let items = selected.map(|load| {
        let known = load.fresh(now, max_age).ok_or_else(|| load.unknown())?;
        Ok(json!({
            "metricName": EXPECTED_LOAD,
            "metricLabels": load.labels,
            "timestamp": known.measured.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "value": known.value.to_string(),
        }))
    });
    let items = items.collect::<Result<Vec<_>, ExternalMetricsRefusal>>()?;
    Ok(json!({
        "apiVersion": Kind::ExternalMetrics.api_version(),
        "kind": Kind::ExternalMetrics.as_str(),
        "metadata": {},
        "items": items,
    }))
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::load_unit::LoadUnit;

    use super::*;

    const MAX_AGE: SignedDuration = SignedDuration::from_mins(3);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn web(signal: &str, load: f64, basis: LoadBasis, second: i64) -> ServedLoad {
        let known = KnownLoad {
            value: LoadUnit::Millicores.quantity(load),
            basis,
            measured: at(second),
        };
        ServedLoad::new("Deployment", "web", signal, Some(known))
    }

    fn loads() -> Vec<ServedLoad> {
        vec![
            web("cpu", 4100.0, LoadBasis::Forecast, 990),
            web("pods/rps", 5500.0, LoadBasis::Measured, 995),
            ServedLoad::new("StatefulSet", "db", "cpu", None),
        ]
    }

    fn values(selector: &str, now: i64) -> Result<Vec<(String, String)>, ExternalMetricsRefusal> {
        let list = list(EXPECTED_LOAD, selector, &loads(), (at(now), MAX_AGE))?;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let items = list["items"].as_array().unwrap().iter();
        Ok(items
            .map(|item| (text(&item["metricLabels"]["signal"]), text(&item["value"])))
            .collect())
    }

    #[test]
    fn a_value_is_written_as_the_api_says() {
        let list = list(
            "Evenkeel-Expected-Load",
            "name=web,signal=cpu",
            &loads(),
            (at(1000), MAX_AGE),
        );
        assert_eq!(
            list.unwrap(),
            json!({
                "apiVersion": "external.metrics.k8s.io/v1beta1",
                "kind": "ExternalMetricValueList",
                "metadata": {},
                "items": [{
                    "metricName": "evenkeel-expected-load",
                    "metricLabels": {"kind": "Deployment", "name": "web", "signal": "cpu",
                        "basis": "forecast"},
                    "timestamp": "1970-01-01T00:16:30Z",
                    "value": "4100m",
                }],
            })
        );
    }

    #[test]
    fn a_selector_chooses_targets_and_signals() {
        let found = |selector: &str| values(selector, 1000).unwrap();
        let pair = |signal: &str, value: &str| (signal.to_owned(), value.to_owned());
        let (cpu, rps) = (pair("cpu", "4100m"), pair("pods.rps", "5500m"));
        for (selector, expected) in [
            ("name=web", vec![cpu.clone(), rps.clone()]),
            (
                "kind=Deployment,name=web,signal=pods.rps",
                vec![rps.clone()],
            ),
            ("basis in (measured)", vec![rps]),
            ("basis=forecast", vec![cpu]),
            ("name=nobody", vec![]),
        ] {
            assert_eq!(found(selector), expected, "{selector}");
        }
    }

    #[test]
    fn a_load_that_is_not_known_is_an_error_and_no_smaller_sum() {
        let unknown = |kind: &str, name: &str, signal: &str| ExternalMetricsRefusal::LoadUnknown {
            kind: kind.to_owned(),
            name: name.to_owned(),
            signal: signal.to_owned(),
        };
        for selector in ["", "signal=cpu", "name=db"] {
            let refused = values(selector, 1000).unwrap_err();
            assert_eq!(refused, unknown("StatefulSet", "db", "cpu"), "{selector}");
            assert_eq!(refused.code(), 503);
        }
        // Where nothing has been told any more.
        assert_eq!(values("name=web", 1170).unwrap().len(), 2);
        let old = values("name=web", 1171).unwrap_err();
        assert_eq!(old, unknown("Deployment", "web", "cpu"));
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_what_can() {
        let metric = list("queue", "", &loads(), (at(1000), MAX_AGE)).unwrap_err();
        assert_eq!(metric.code(), 404);
        assert!(metric.to_string().contains(EXPECTED_LOAD), "{metric}");
        let selector = values("signal in", 1000).unwrap_err();
        assert_eq!(selector.code(), 400, "{selector}");
    }
}
