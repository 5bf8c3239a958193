//! Metrics in the form of an HPA, with a name, an operator, and PromQL as one more type.

use serde_json::{Value, json};

use super::schema::{list, object, quantity, text};

/// A list of at most so many metrics.
pub(super) fn metrics(description: &str, most: usize) -> Value {
    list(description, most, metric())
}

fn metric() -> Value {
    let mut operator = text(
        "How a stability check compares the value with the target: it fails while `value operator \
         target` holds. Default: >.",
        2,
    );
    operator["enum"] = json!(["==", ">", "<", ">=", "<="]);
    object(
        "A metric as in autoscaling/v2, or a PromQL query.",
        &["type"],
        json!({
            "name": text("A name for people, unique among the metrics.", 128),
            "operator": operator,
            "type": text(
                "The type: Resource, ContainerResource, Pods, Object, External, or PromQL. The field of \
                 that name holds the rest.",
                32,
            ),
            "resource": source("Usage of a resource by whole Pods.", json!({"name": resource()})),
            "containerResource": source(
                "Usage of a resource by one container of each Pod.",
                json!({"name": resource(), "container": text("The name of the container.", 63)}),
            ),
            "pods": source("A custom metric of each Pod.", json!({"metric": identifier()})),
            "object": source(
                "A custom metric of one object.",
                json!({"metric": identifier(), "describedObject": described()}),
            ),
            "external": source(
                "A metric from outside the cluster.",
                json!({"metric": identifier()}),
            ),
            "promQL": source(
                "The value of a query for the whole target. $namespace and $pods are replaced by \
                 its namespace and the names of its Pods, and $window by the window of rates.",
                json!({"query": text("The query.", 2048)}),
            ),
        }),
    )
}

fn resource() -> Value {
    text("The name of the resource, such as cpu.", 128)
}

/// The source of a metric: some fields, and the value that it is to have.
fn source(description: &str, mut properties: Value) -> Value {
    properties["target"] = target();
    object(description, &[], properties)
}

fn target() -> Value {
    object(
        "The target value of the metric, or the value for the comparison.",
        &[],
        json!({
            "type": text("Utilization, Value or AverageValue; NA for a metric that is not compared.", 32),
            "averageUtilization": {
                "type": "integer", "format": "int32", "minimum": 1,
                "description": "Percentage of the requests, as a mean over the Pods.",
            },
            "averageValue": quantity("An amount for each Pod."),
            "value": quantity("An amount for all Pods together."),
        }),
    )
}

fn identifier() -> Value {
    object(
        "The name of a metric, and a selector of its series.",
        &["name"],
        json!({
            "name": text("The name of the metric.", 512),
            "selector": object(
                "The labels of the series, as a label selector.",
                &[],
                json!({
                    "matchLabels": labels("The labels that a series must have."),
                    "matchExpressions": list("Requirements on labels.", 16, requirement()),
                }),
            ),
        }),
    )
}

fn requirement() -> Value {
    object(
        "A requirement on a label.",
        &["key", "operator"],
        json!({
            "key": text("The label.", 512),
            "operator": text("In, NotIn, Exists or DoesNotExist.", 16),
            "values": list("The values.", 64, json!({"type": "string", "maxLength": 512})),
        }),
    )
}

fn described() -> Value {
    object(
        "The object that the metric describes.",
        &["kind", "name"],
        json!({
            "apiVersion": text("Group and version.", 128),
            "kind": text("The kind.", 64),
            "name": text("The name.", 253),
        }),
    )
}

/// Texts by name.
pub(super) fn labels(description: &str) -> Value {
    json!({"type": "object", "description": description, "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 1024}})
}
