//! Signals in the JSON of an HPA: the source of a metric in its spec, and in its status.

use evenkeel_label_selector::{LabelSelector, LabelSelectorRequirement};
use evenkeel_metrics::signal::{MetricIdentifier, ObjectReference, PromQl, Signal};
use evenkeel_objects::json::{lenient, null_is_default};
use evenkeel_objects::selector::WrittenSelector;
use evenkeel_objects::yaml_values::YamlText;
use serde::Deserialize;
use serde_json::{Value, json};

/// A metric of an HPA: its type, and the one source that belongs to the type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metric {
    #[serde(rename = "type", default, deserialize_with = "null_is_default")]
    pub(super) source_type: String,
    #[serde(default, deserialize_with = "lenient")]
    resource: Option<MetricSourceJson>,
    #[serde(default, deserialize_with = "lenient")]
    container_resource: Option<MetricSourceJson>,
    #[serde(default, deserialize_with = "lenient")]
    pods: Option<MetricSourceJson>,
    #[serde(default, deserialize_with = "lenient")]
    object: Option<MetricSourceJson>,
    #[serde(default, deserialize_with = "lenient")]
    external: Option<MetricSourceJson>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetricSourceJson {
    name: Option<String>,
    container: Option<String>,
    metric: Option<Identifier>,
    described_object: Option<Reference>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) target: Option<MetricValueJson>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) current: Option<MetricValueJson>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetricValueJson {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub(super) target_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) average_utilization: Option<i32>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) average_value: Option<YamlText>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) value: Option<YamlText>,
}

#[derive(Debug, Deserialize)]
struct Identifier {
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    selector: Option<WrittenSelector>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default, deserialize_with = "null_is_default")]
    api_version: String,
    kind: String,
    name: String,
}

impl Metric {
    /// The signal with its source; `None` where the type is not known, or has no source.
    pub(super) fn read(self) -> Option<(Signal, MetricSourceJson)> {
        let mut source = match self.source_type.as_str() {
            "Resource" => self.resource,
            "ContainerResource" => self.container_resource,
            "Pods" => self.pods,
            "Object" => self.object,
            "External" => self.external,
            _ => None,
        }?;
        let signal = source.signal(&self.source_type)?;
        Some((signal, source))
    }
}

impl MetricSourceJson {
    fn signal(&mut self, source_type: &str) -> Option<Signal> {
        let metric = self.metric.take().map(Identifier::read);
        Some(match source_type {
            "Resource" => Signal::Resource(self.name.as_deref()?.into()),
            "ContainerResource" => Signal::ContainerResource {
                resource: self.name.as_deref()?.into(),
                container: self.container.take()?,
            },
            "Pods" => Signal::Pods(metric?),
            "Object" => Signal::Object {
                object: Box::new(self.described_object.take()?.read()),
                metric: metric?,
            },
            _ => Signal::External(metric?),
        })
    }
}

impl Identifier {
    fn read(self) -> MetricIdentifier {
        let Self { name, selector } = self;
        MetricIdentifier {
            name,
            selector: selector.map(LabelSelector::from),
        }
    }
}

impl Reference {
    fn read(self) -> ObjectReference {
        let Self {
            api_version,
            kind,
            name,
        } = self;
        ObjectReference {
            api_version,
            kind,
            name,
        }
    }
}

/// A metric in the status, with `current` as its value. A PromQL query is written as an external
/// metric.
pub(super) fn write(signal: &Signal, current: &Value) -> Value {
    let (source_type, field, source) = match signal {
        Signal::Resource(resource) => (
            "Resource",
            "resource",
            json!({"name": resource.as_str(), "current": current}),
        ),
        Signal::ContainerResource {
            resource,
            container,
        } => (
            "ContainerResource",
            "containerResource",
            json!({"name": resource.as_str(), "container": container, "current": current}),
        ),
        Signal::Pods(metric) => (
            "Pods",
            "pods",
            json!({"metric": identifier(metric), "current": current}),
        ),
        Signal::Object { object, metric } => (
            "Object",
            "object",
            json!({"metric": identifier(metric), "current": current,
                "describedObject": reference(object)}),
        ),
        Signal::External(metric) => (
            "External",
            "external",
            json!({"metric": identifier(metric), "current": current}),
        ),
        Signal::PromQl(PromQl { query, .. }) => (
            "External",
            "external",
            json!({"metric": {"name": query}, "current": current}),
        ),
    };
    json!({"type": source_type, field: source})
}

fn identifier(metric: &MetricIdentifier) -> Value {
    let mut written = json!({"name": metric.name});
    if let Some(selector) = &metric.selector {
        written["selector"] = self::selector(selector);
    }
    written
}

fn selector(selector: &LabelSelector) -> Value {
    let mut written = json!({});
    if !selector.match_labels.is_empty() {
        written["matchLabels"] = json!(selector.match_labels);
    }
    if !selector.match_expressions.is_empty() {
        let requirement = |one: &LabelSelectorRequirement| {
            let mut written = json!({"key": one.key, "operator": one.operator.as_str()});
            if !one.values.is_empty() {
                written["values"] = json!(one.values);
            }
            written
        };
        let requirements = selector.match_expressions.iter().map(requirement);
        written["matchExpressions"] = requirements.collect();
    }
    written
}

fn reference(object: &ObjectReference) -> Value {
    let mut written = json!({"kind": object.kind, "name": object.name});
    if !object.api_version.is_empty() {
        written["apiVersion"] = json!(object.api_version);
    }
    written
}
