//! The API in OpenAPI 3, for generated clients and people; the API server serves it at
//! `/openapi/v3/apis/metrics.evenkeel.dev/v1alpha1`.

use evenkeel_objects::kinds::Kind;
use serde_json::{Value, json};

use super::QueryKind;

/// The index of documents, `/openapi/v3`. The hash tells the API server whether to fetch the
/// document again.
pub fn index(hash: &str) -> Value {
    let path = format!("apis/{}", Kind::MetricSeries.api_version());
    let address = format!("/openapi/v3/{path}?hash={hash}");
    json!({"paths": {path: {"serverRelativeURL": address}}})
}

pub fn document() -> Value {
    let group_version = Kind::MetricSeries.api_version();
    let path = format!("/apis/{group_version}/namespaces/{{namespace}}/series/{{query}}");
    let mut parameters = vec![
        json!({"name": "namespace", "in": "path", "required": true, "schema": {"type": "string"},
            "description": "The namespace of the query; the caller needs rights in it."}),
        json!({"name": "query", "in": "path", "required": true,
            "schema": {"type": "string", "enum": QueryKind::ALL.map(QueryKind::as_str)},
            "description": "The kind of query."}),
    ];
    parameters.extend(PARAMETERS.map(|(name, kind, description)| {
        json!({"name": name, "in": "query", "schema": {"type": kind}, "description": description})
    }));
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Evenkeel's metrics provider", "version": Kind::MetricSeries.version()},
        "paths": {path: {"get": {
            "operationId": "readMetricsEvenkeelDevV1alpha1NamespacedSeries",
            "description": "Returns series: the newest values without start, end and step, and \
                history with them.",
            "tags": ["metricsEvenkeelDev_v1alpha1"],
            "parameters": parameters,
            "responses": {
                "200": {"description": "OK", "content": {"application/json": {"schema":
                    {"$ref": "#/components/schemas/dev.evenkeel.metrics.v1alpha1.SeriesList"}}}},
                "401": {"description": "Unauthorized"},
            },
            "x-kubernetes-action": "get",
            "x-kubernetes-group-version-kind": {"group": Kind::MetricSeries.group(),
                "version": Kind::MetricSeries.version(), "kind": Kind::MetricSeries.as_str()},
        }}},
        "components": {"schemas": schemas()},
    })
}

/// Name, type and meaning of each parameter of a question.
const PARAMETERS: [(&str, &str, &str); 12] = [
    ("name", "string", "The Pod, the workload or the object."),
    (
        "selector",
        "string",
        "A label selector of the Pods or objects, instead of a name.",
    ),
    (
        "group",
        "string",
        "The API group of the workload or object; none for the core group.",
    ),
    ("kind", "string", "The kind of the workload or object."),
    (
        "resource",
        "string",
        "cpu, memory, networkIo, diskIo or disk.",
    ),
    ("container", "string", "One container of each Pod."),
    (
        "readyPodsOnly",
        "boolean",
        "Count Pods of the workload only while they are ready.",
    ),
    ("metric", "string", "The name of a metric."),
    (
        "metricSelector",
        "string",
        "A label selector of the metric's series.",
    ),
    (
        "start",
        "string",
        "The first time, in RFC 3339 or in seconds since 1970.",
    ),
    ("end", "string", "The last time."),
    (
        "step",
        "string",
        "The time between two values, such as 60s.",
    ),
];

fn schemas() -> Value {
    let number = |description: &str| json!({"type": "number", "description": description});
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "dev.evenkeel.metrics.v1alpha1.SeriesList": {
            "type": "object",
            "description": "The answer to a query of series.",
            "required": ["query", "unit", "items"],
            "properties": {
                "apiVersion": text("The version of this format."),
                "kind": text("SeriesList."),
                "metadata": {"type": "object"},
                "query": text("The kind of query."),
                "unit": text("The unit of all values: cores, bytes, bytes per second, or the metric's own."),
                "windowSeconds": number("The window that each value is the mean of, if it is a mean."),
                "items": {"type": "array", "items":
                    {"$ref": "#/components/schemas/dev.evenkeel.metrics.v1alpha1.Series"}},
            },
            "x-kubernetes-group-version-kind": [{"group": Kind::MetricSeries.group(),
                "version": Kind::MetricSeries.version(), "kind": Kind::MetricSeries.as_str()}],
        },
        "dev.evenkeel.metrics.v1alpha1.Series": {
            "type": "object",
            "description": "One series, in the order of time.",
            "required": ["labels", "points"],
            "properties": {
                "labels": {"type": "object", "additionalProperties": {"type": "string"},
                    "description": "The labels that identify the series."},
                "points": {"type": "array", "items":
                    {"$ref": "#/components/schemas/dev.evenkeel.metrics.v1alpha1.Point"}},
            },
        },
        "dev.evenkeel.metrics.v1alpha1.Point": {
            "type": "object",
            "required": ["timestamp", "value"],
            "properties": {
                "timestamp": number("Seconds since 1970."),
                "value": number("The value at that time."),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series_query::parameters::ACCEPTED;

    #[test]
    fn the_document_describes_every_parameter_and_refers_to_schemas_that_are_there() {
        let described: Vec<&str> = PARAMETERS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(
            described.join(", "),
            ACCEPTED.split_whitespace().collect::<Vec<_>>().join(" ")
        );
        let document = document();
        let text = document.to_string();
        let mut referred = text.split("#/components/schemas/").skip(1).peekable();
        assert!(referred.peek().is_some());
        for rest in referred {
            let name = rest.split('"').next().unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
        let path = index("abc")["paths"]["apis/metrics.evenkeel.dev/v1alpha1"].clone();
        let address = "/openapi/v3/apis/metrics.evenkeel.dev/v1alpha1?hash=abc";
        assert_eq!(path["serverRelativeURL"], address);
    }
}
