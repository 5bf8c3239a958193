//! `metrics.k8s.io/v1beta1`, from measurements of the embedding code.

use serde_json::{Value, json};

use crate::error::{ApiError, StatusReason};
use crate::meta;
use crate::resources::resource;
use crate::selector;
use crate::selector::ListSelector;
use crate::state::{Api, stamp};
use crate::store::ObjectKey;
use crate::usage::{CpuMemoryUsage, UsageMeasurement};
use crate::wire::path::ResourcePath;
use crate::wire::query::QueryParameters;

pub(crate) const GROUP: &str = "metrics.k8s.io";
pub(crate) const VERSION: &str = "v1beta1";

/// A GET below the group's version.
pub(crate) fn answer(
    api: &Api,
    target: &ResourcePath,
    query: &QueryParameters,
) -> Result<Value, ApiError> {
    let source = api.metrics.as_ref().ok_or_else(ApiError::no_such_path)?;
    let (readings, kind, collection) = match target.plural.as_str() {
        "nodes" => (source.nodes(), "NodeMetrics", "nodes"),
        "pods" => (source.pods(), "PodMetrics", "pods"),
        _ => return Err(ApiError::no_such_path()),
    };
    let fields = query.text("fieldSelector");
    selector::check_fields(fields, &[])?;
    let selection = ListSelector::parse(query.text("labelSelector"), fields)?;
    let in_namespace = |reading: &UsageMeasurement| {
        let namespace = target.namespace.as_deref();
        namespace.is_none_or(|asked| reading.namespace == asked)
    };
    let found = readings.iter().filter(|reading| in_namespace(reading));
    let mut objects = found.filter_map(|reading| {
        let key = ObjectKey::new(reading.namespace.as_str(), reading.name.as_str());
        let measured = api.store.get(collection, &key)?;
        Some(object(kind, reading, &measured.value["metadata"]["labels"]))
    });
    if let Some(name) = &target.name {
        return objects
            .find(|object| meta::name(object) == name)
            .ok_or_else(|| {
                let resource = resource::qualify(&target.plural, GROUP);
                ApiError::new(
                    StatusReason::NotFound,
                    format!("{resource} {name:?} not found"),
                )
            });
    }
    let items: Vec<Value> = objects.filter(|object| selection.matches(object)).collect();
    Ok(json!({
        "kind": format!("{kind}List"), "apiVersion": api_version(), "metadata": {}, "items": items,
    }))
}

fn api_version() -> String {
    resource::api_version(GROUP, VERSION)
}

fn object(kind: &str, reading: &UsageMeasurement, labels: &Value) -> Value {
    let usage = |usage: &CpuMemoryUsage| json!({"cpu": format!("{}m", usage.cpu_milli), "memory": format!("{}Ki", usage.memory_bytes / 1024)});
    let time = stamp(reading.timestamp);
    let mut object = json!({
        "kind": kind, "apiVersion": api_version(),
        "metadata": {"name": reading.name, "creationTimestamp": time},
        "timestamp": time, "window": format!("{}s", reading.window.as_secs_f64()),
    });
    if labels.is_object() {
        object["metadata"]["labels"] = labels.clone();
    }
    if kind == "NodeMetrics" {
        object["usage"] = reading.usage.first().map_or_else(|| json!({}), usage);
    } else {
        object["metadata"]["namespace"] = reading.namespace.as_str().into();
        let containers = reading.usage.iter();
        object["containers"] = containers
            .map(|of| json!({"name": of.name, "usage": usage(of)}))
            .collect();
    }
    object
}
