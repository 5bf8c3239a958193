//! Parts of an HPA in the specs of other kinds: metrics and `behavior`.
//!
//! They are written by hand. The types that read them from HPAs accept more, because no object is lost for one field.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// `behavior` of an HPA.
pub fn behavior(_: &mut SchemaGenerator) -> Schema {
    let policy = json!({
        "type": {"type": "string", "enum": ["Pods", "Percent"], "description": "The unit of value."},
        "value": {"type": "integer", "format": "int32", "minimum": 1, "description": "The largest change."},
        "periodSeconds": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 1800,
            "description": "The period."},
    });
    let required = ["type", "value", "periodSeconds"];
    let policy = object("The largest change in a period.", &required, policy);
    let rules = json!({
        "stabilizationWindowSeconds": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 3600,
            "description": "How long earlier recommendations count."},
        "selectPolicy": {"type": "string", "enum": ["Max", "Min", "Disabled"],
            "description": "Which of the policies applies."},
        "policies": list("The policies.", 16, policy),
        "tolerance": quantity("How far a metric may be from its target without effect, such as \"0.05\"."),
    });
    let mut schema = Schema::default();
    schema.insert("type".to_owned(), "object".into());
    let properties = json!({
        "scaleUp": object("The rules for scaling up.", &[], rules.clone()),
        "scaleDown": object("The rules for scaling down.", &[], rules),
    });
    schema.insert("properties".to_owned(), properties);
    schema
}

/// A metric in the form of an HPA, with a name, an operator, and PromQL as one more type.
pub fn metric() -> Value {
    let resource = text("The name of the resource, such as cpu.", 128);
    let container = text("The name of the container.", 63);
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
            "resource": source("Usage of a resource by whole Pods.", json!({"name": resource})),
            "containerResource": source(
                "Usage of a resource by one container of each Pod.",
                json!({"name": resource, "container": container}),
            ),
            "pods": source("A custom metric of each Pod.", json!({"metric": identifier()})),
            "object": source(
                "A custom metric of one object.",
                json!({"metric": identifier(), "describedObject": described()}),
            ),
            "external": source("A metric from outside the cluster.", json!({"metric": identifier()})),
            "promQL": source(
                "The value of a query for the whole target. $namespace and $pods are replaced by \
                 its namespace and the names of its Pods, and $window by the window of rates.",
                json!({"query": text("The query.", 2048)}),
            ),
        }),
    )
}

/// The source of a metric: some fields, and the value that it is to have.
fn source(description: &str, mut properties: Value) -> Value {
    let target = json!({
        "type": text("Utilization, Value or AverageValue; NA for a metric that is not compared.", 32),
        "averageUtilization": {"type": "integer", "format": "int32", "minimum": 1,
            "description": "Percentage of the requests, as a mean over the Pods."},
        "averageValue": quantity("An amount for each Pod."),
        "value": quantity("An amount for all Pods together."),
    });
    let of_target = "The target value of the metric, or the value for the comparison.";
    properties["target"] = object(of_target, &[], target);
    object(description, &[], properties)
}

fn identifier() -> Value {
    let requirement = json!({
        "key": text("The label.", 512),
        "operator": text("In, NotIn, Exists or DoesNotExist.", 16),
        "values": list("The values.", 64, json!({"type": "string", "maxLength": 512})),
    });
    let requirement = object(
        "A requirement on a label.",
        &["key", "operator"],
        requirement,
    );
    let selector = json!({
        "matchLabels": {"type": "object", "maxProperties": 64,
            "additionalProperties": {"type": "string", "maxLength": 1024},
            "description": "The labels that a series must have."},
        "matchExpressions": list("Requirements on labels.", 16, requirement),
    });
    let selector = object(
        "The labels of the series, as a label selector.",
        &[],
        selector,
    );
    let properties = json!({"name": text("The name of the metric.", 512), "selector": selector});
    object(
        "The name of a metric, and a selector of its series.",
        &["name"],
        properties,
    )
}

fn described() -> Value {
    let properties = json!({
        "apiVersion": text("Group and version.", 128),
        "kind": text("The kind.", 64),
        "name": text("The name.", 253),
    });
    object(
        "The object that the metric describes.",
        &["kind", "name"],
        properties,
    )
}

fn object(description: &str, required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "description": description, "required": required});
    schema["properties"] = properties;
    schema
}

/// A text of at most so many characters.
fn text(description: &str, longest: u32) -> Value {
    json!({"type": "string", "description": description, "maxLength": longest})
}

/// A list of at most so many items.
fn list(description: &str, most: u32, items: Value) -> Value {
    let mut schema = json!({"type": "array", "description": description, "maxItems": most});
    schema["items"] = items;
    schema
}

/// A quantity as Kubernetes' own objects take it: a text, or any number. `x-kubernetes-int-or-string` refuses
/// fractions such as 0.05, and a schema cannot say "a number or a text" in another way.
fn quantity(description: &str) -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true, "description": description})
}
