//! `custom.metrics.k8s.io/v1beta2` and `external.metrics.k8s.io/v1beta1`, from values of the
//! embedding code, in the words of prometheus-adapter.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::error::{ApiError, StatusReason};
use crate::resources::resource;
use crate::selector::ListSelector;
use crate::state::{Api, stamp};
use crate::store::ObjectKey;
use crate::usage::{DescribedObject, MetricReading};
use crate::wire::path::ResourcePath;
use crate::wire::query::QueryParameters;

const CUSTOM: &str = "custom.metrics.k8s.io";
const CUSTOM_VERSION: &str = "v1beta2";
const EXTERNAL: &str = "external.metrics.k8s.io";
const EXTERNAL_VERSION: &str = "v1beta1";

/// Stands for all objects of a resource.
const ALL: &str = "*";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsApiKind {
    Custom,
    External,
}

impl MetricsApiKind {
    pub(crate) fn of(target: &ResourcePath) -> Option<Self> {
        match (&*target.group, &*target.version) {
            (CUSTOM, CUSTOM_VERSION) => Some(Self::Custom),
            (EXTERNAL, EXTERNAL_VERSION) => Some(Self::External),
            _ => None,
        }
    }
}

/// Group, version, resource and kind.
pub(crate) fn resources(
    api: &Api,
) -> impl Iterator<Item = (&'static str, &'static str, String, &'static str)> {
    let values = api.custom_metrics.iter().flat_map(|source| source.values());
    let named = values.map(|reading| match reading.object {
        Some(object) => (
            CUSTOM,
            CUSTOM_VERSION,
            format!("{}/{}", object.resource, reading.metric),
            "MetricValueList",
        ),
        None => (
            EXTERNAL,
            EXTERNAL_VERSION,
            reading.metric,
            "ExternalMetricValueList",
        ),
    });
    named.collect::<BTreeSet<_>>().into_iter()
}

/// A GET below a version of one of the groups.
pub(crate) fn answer(
    api: &Api,
    kind: MetricsApiKind,
    target: &ResourcePath,
    query: &QueryParameters,
) -> Result<Value, ApiError> {
    let source = api.custom_metrics.as_ref();
    let values = source.ok_or_else(ApiError::no_such_path)?.values();
    match kind {
        MetricsApiKind::Custom => custom(api, &values, target, query),
        MetricsApiKind::External => external(&values, target, query),
    }
}

fn custom(
    api: &Api,
    values: &[MetricReading],
    target: &ResourcePath,
    query: &QueryParameters,
) -> Result<Value, ApiError> {
    let (Some(name), Some(metric)) = (&target.name, &target.subresource) else {
        return Err(ApiError::no_such_path());
    };
    let objects = ListSelector::parse(query.text("labelSelector"), "")?;
    let series = ListSelector::parse(query.text("metricLabelSelector"), "")?;
    let is_asked = |reading: &MetricReading, object: &DescribedObject| {
        let here = target.namespace.as_deref() == Some(&reading.namespace);
        let of_it = *name == ALL || object.name == *name;
        here && of_it && reading.metric == *metric && object.resource == target.plural
    };
    let labels = |reading: &MetricReading, object: &DescribedObject| {
        let key = ObjectKey::new(reading.namespace.as_str(), object.name.as_str());
        let stored = api.store.get(&object.resource, &key);
        stored.map(|stored| stored.value["metadata"]["labels"].clone())
    };
    let items = values.iter().filter_map(|reading| {
        let object = reading.object.as_ref()?;
        if !is_asked(reading, object) || !series.matches_labels(Some(&written(reading))) {
            return None;
        }
        let labels = labels(reading, object)?;
        objects
            .matches_labels(labels.as_object())
            .then(|| value(reading, object))
    });
    let items: Vec<Value> = items.collect();
    if items.is_empty() {
        let subject = if name == ALL {
            target.plural.clone()
        } else {
            format!("{} {name}", target.plural)
        };
        return Err(not_found(metric, &subject));
    }
    Ok(list("MetricValueList", CUSTOM, CUSTOM_VERSION, &items))
}

fn external(
    values: &[MetricReading],
    target: &ResourcePath,
    query: &QueryParameters,
) -> Result<Value, ApiError> {
    if target.name.is_some() {
        return Err(ApiError::no_such_path());
    }
    let series = ListSelector::parse(query.text("labelSelector"), "")?;
    let of_name = values.iter().filter(|reading| {
        let here = target.namespace.as_deref() == Some(&reading.namespace);
        reading.object.is_none() && here && reading.metric == target.plural
    });
    let of_name: Vec<&MetricReading> = of_name.collect();
    if of_name.is_empty() {
        return Err(not_found(&target.plural, "external metrics"));
    }
    // Without a matching series the answer is empty.
    let matching = of_name
        .into_iter()
        .filter(|reading| series.matches_labels(Some(&written(reading))));
    let items = matching.map(|reading| {
        let mut item = json!({
            "metricName": reading.metric, "metricLabels": reading.labels,
            "timestamp": stamp(reading.timestamp), "value": format!("{}m", reading.milli),
        });
        if let Some(window) = reading.window {
            item["window"] = window.as_secs().into();
        }
        item
    });
    let items: Vec<Value> = items.collect();
    Ok(list(
        "ExternalMetricValueList",
        EXTERNAL,
        EXTERNAL_VERSION,
        &items,
    ))
}

fn not_found(metric: &str, subject: &str) -> ApiError {
    let message = format!("the server could not find the metric {metric} for {subject}");
    ApiError::new(StatusReason::NotFound, message)
}

fn written(reading: &MetricReading) -> Map<String, Value> {
    let labels = reading.labels.iter();
    labels
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

fn value(reading: &MetricReading, object: &DescribedObject) -> Value {
    let mut value = json!({
        "describedObject": {"kind": object.kind, "namespace": reading.namespace,
            "name": object.name, "apiVersion": object.api_version},
        "metric": {"name": reading.metric, "selector": null},
        "timestamp": stamp(reading.timestamp), "value": format!("{}m", reading.milli),
    });
    if let Some(window) = reading.window {
        value["windowSeconds"] = window.as_secs().into();
    }
    value
}

fn list(kind: &str, group: &str, version: &str, items: &[Value]) -> Value {
    let api_version = resource::api_version(group, version);
    json!({"kind": kind, "apiVersion": api_version, "metadata": {}, "items": items})
}
