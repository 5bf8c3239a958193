//! `metrics.k8s.io/v1beta1`, from what the embedding code measures or makes up.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::ApiError;
use super::meta;
use super::path::Target;
use super::query::Query;
use super::selector::{self, Selection};
use super::state::{Api, stamp};
use super::store::Key;

/// The group's name.
pub(crate) const GROUP: &str = "metrics.k8s.io";
/// The group's version.
pub(crate) const VERSION: &str = "v1beta1";

/// What a container or node used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The container; empty for a node.
    pub name: String,
    /// Processor time in millicores, the mean over the window.
    pub cpu_milli: u64,
    /// Working set in bytes at the end of the window.
    pub memory_bytes: u64,
}

/// One measurement of a node or of a Pod's containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The Pod's namespace; empty for a node.
    pub namespace: String,
    /// The Pod's or node's name.
    pub name: String,
    /// The end of the window.
    pub timestamp: Timestamp,
    /// Its length.
    pub window: Duration,
    /// One for a node, one per container for a Pod.
    pub usage: Vec<Usage>,
}

/// Where the numbers come from.
pub trait ResourceMetrics: Send + Sync {
    /// All nodes that there are measurements of.
    fn nodes(&self) -> Vec<Reading>;
    /// All Pods that there are measurements of.
    fn pods(&self) -> Vec<Reading>;
}

/// Answers a GET below the group's version.
pub(crate) fn answer(api: &Api, target: &Target, query: &Query) -> Result<Value, ApiError> {
    let source = api.metrics.as_ref().ok_or_else(ApiError::no_such_path)?;
    let (readings, kind, collection) = match target.plural.as_str() {
        "nodes" => (source.nodes(), "NodeMetrics", "nodes"),
        "pods" => (source.pods(), "PodMetrics", "pods"),
        _ => return Err(ApiError::no_such_path()),
    };
    let fields = query.text("fieldSelector");
    selector::check_fields(fields, &[])?;
    let selection = Selection::parse(query.text("labelSelector"), fields)?;
    let in_namespace = |reading: &Reading| {
        let namespace = target.namespace.as_deref();
        namespace.is_none_or(|asked| reading.namespace == asked)
    };
    let found = readings.iter().filter(|reading| in_namespace(reading));
    let mut objects = found.filter_map(|reading| {
        let key = Key::new(reading.namespace.as_str(), reading.name.as_str());
        let measured = api.store.get(collection, &key)?;
        Some(object(kind, reading, &measured.value["metadata"]["labels"]))
    });
    if let Some(name) = &target.name {
        return objects
            .find(|object| meta::name(object) == name)
            .ok_or_else(|| {
                let resource = super::resource::qualify(&target.plural, GROUP);
                ApiError::new(
                    super::error::Reason::NotFound,
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
    super::resource::api_version(GROUP, VERSION)
}

fn object(kind: &str, reading: &Reading, labels: &Value) -> Value {
    let usage = |usage: &Usage| json!({"cpu": format!("{}m", usage.cpu_milli), "memory": format!("{}Ki", usage.memory_bytes / 1024)});
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
