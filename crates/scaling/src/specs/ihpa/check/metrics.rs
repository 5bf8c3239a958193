//! Metrics as an HPA has them, and PromQL beside them, held to what can be followed.

use evenkeel_api::portrait_spec::MOST_METRICS;
use evenkeel_hpa::MetricSpec;
use evenkeel_hpa::autoscaler::{HpaMetrics, ObservedMetric};
use evenkeel_metrics::signal::{MetricTarget, PromQl, Signal};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::error::{IhpaError, IhpaSpecFault, at};
use crate::specs::load_query::promql;

/// The metrics that are accepted, for messages.
const ACCEPTED: &str = "a metric of autoscaling/v2 (Resource, ContainerResource, Pods, Object or External) \
    with a target above zero, or type PromQL with promQL.query and promQL.target.averageValue or value";

/// The metrics of a portrait that Evenkeel makes, at a path.
pub(super) fn all(path: &str, written: &[Value]) -> Result<HpaMetrics, IhpaError> {
    at(path, IhpaSpecFault::within(written.len(), 0, MOST_METRICS))?;
    let mut metrics: Vec<MetricSpec> = Vec::new();
    for (place, one) in written.iter().enumerate() {
        let path = format!("{path}[{place}]");
        let ObservedMetric { signal, target } = one_of(&path, one)?;
        let is_there =
            |known: &MetricSpec| matches!(known, MetricSpec::Known(of, _) if *of == signal);
        if metrics.iter().any(is_there) {
            return at(path, Err(IhpaSpecFault::Twice(signal.to_string())));
        }
        metrics.push(MetricSpec::new(signal, target));
    }
    Ok(HpaMetrics(metrics))
}

/// One metric with its target.
pub(super) fn one_of(path: &str, written: &Value) -> Result<ObservedMetric, IhpaError> {
    let mut written = written.clone();
    write_amounts_as_text(&mut written);
    let found = if written["type"] == "PromQL" {
        query(&written["promQL"])
    } else {
        observed(&written)
    };
    at(path, found.ok_or(IhpaSpecFault::Metric(ACCEPTED)))
}

/// Writes amounts that are numbers as text, as the API server does with those of an HPA.
fn write_amounts_as_text(metric: &mut Value) {
    let sources = metric.as_object_mut().into_iter().flatten();
    for (_, source) in sources.filter(|(_, source)| source["target"].is_object()) {
        for field in ["averageValue", "value"] {
            if let Ok(YamlText(text)) = YamlText::deserialize(&source["target"][field]) {
                source["target"][field] = json!(text);
            }
        }
    }
}

fn observed(written: &Value) -> Option<ObservedMetric> {
    let metrics: HpaMetrics = serde_json::from_value(json!([written])).ok()?;
    metrics.observed().next()
}

fn query(written: &Value) -> Option<ObservedMetric> {
    let query = promql(written["query"].as_str()?)?;
    let amount = |field: &str| {
        let text = written["target"][field].as_str()?;
        let milli = text.parse::<Quantity>().ok()?.milli_value();
        (milli > 0).then_some(milli)
    };
    let target = amount("averageValue")
        .map(MetricTarget::AverageValue)
        .or_else(|| amount("value").map(MetricTarget::Value))?;
    Some(ObservedMetric {
        signal: Signal::PromQl(PromQl::own(query)),
        target,
    })
}
