//! The definitions of Evenkeel's own kinds, as `evenkeel crds` prints them and the manifests install them.

mod columns;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::schema;
use serde_json::{Value, json};

use crate::cron_hpa::spec::CronHpaSpec;
use crate::cron_hpa::status::CronHpaStatus;
use crate::horizontal_portrait::spec::HorizontalPortraitSpec;
use crate::horizontal_portrait::status::HorizontalPortraitStatus;
use crate::ihpa::spec::IhpaSpec;
use crate::ihpa::status::IhpaStatus;
use crate::replica_profile::{ReplicaProfileSpec, ReplicaProfileStatus};

/// All definitions, in the order in which they are installed.
pub fn definitions() -> Vec<Value> {
    let all = [
        CustomResource {
            kind: Kind::CronHpa,
            short_name: "chpa",
            description: "CronHPA scales a workload by the calendar: at the times of schedules, and during windows. \
                 If the workload has a HorizontalPodAutoscaler, it raises and lowers the bounds of that. \
                 For a workload in mode direct, it changes the bounds of that mode. For any other \
                 Deployment, StatefulSet or ReplicaSet, it sets the replicas. The original values are put \
                 back at the end.",
            spec: schema::of::<CronHpaSpec>(),
            status: schema::of::<CronHpaStatus>(),
            columns: columns::cron_hpa(),
        },
        CustomResource {
            kind: Kind::ReplicaProfile,
            short_name: "rp",
            description: "ReplicaProfile sets how many Pods of a workload take traffic, how many run without \
                 traffic, and how many are on standby with less resources. The sum is the replicas of the \
                 workload. Pods that are cut off can take traffic again within a second or two. A Pod is \
                 deleted only after it has been out of traffic for drainSeconds. If the ReplicaProfile is \
                 deleted, every Pod takes traffic.",
            spec: schema::of::<ReplicaProfileSpec>(),
            status: schema::of::<ReplicaProfileStatus>(),
            columns: columns::replica_profile(),
        },
        CustomResource {
            kind: Kind::Ihpa,
            short_name: "ihpa",
            description: "IntelligentHorizontalPodAutoscaler scales a workload by portraits: replica counts from \
                 several providers, by the calendar, by the present load, by a forecast, or by a job of \
                 your own. Of the providers that have a value, the highest priority applies; with equal \
                 priority, the larger value. Changes can be made in steps, with Pods that wait without \
                 traffic before they are deleted, and with stability checks between the steps.",
            spec: schema::of::<IhpaSpec>(),
            status: schema::of::<IhpaStatus>(),
            columns: columns::ihpa(),
        },
        CustomResource {
            kind: Kind::HorizontalPortrait,
            short_name: "hp",
            description: "HorizontalPortrait holds a portrait for an IntelligentHorizontalPodAutoscaler that \
                 Evenkeel does not compute itself: how many replicas a workload should have, now and over \
                 time. Its name is that of the autoscaler and the type of the portrait, in lower case with \
                 a hyphen between them. Its generator writes status.portraitData. The job of an external \
                 algorithm writes it to a ConfigMap, and Evenkeel copies it. With algorithm Forecast and any \
                 name, Evenkeel writes the load of the next hours to status.hoursAhead. Nothing is scaled by it.",
            spec: schema::of::<HorizontalPortraitSpec>(),
            status: schema::of::<HorizontalPortraitStatus>(),
            columns: columns::horizontal_portrait(),
        },
    ];
    all.map(definition).into()
}

/// The paths of the fields of a custom resource that its definition does not know, and the API server
/// would drop without a word.
pub fn unknown_fields(kind: Kind, object: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let is_its = |definition: &&Value| definition["spec"]["names"]["kind"] == kind.as_str();
    if let Some(definition) = definitions().iter().find(is_its) {
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        collect_unknown(schema, object, "", &mut unknown);
    }
    unknown
}

fn collect_unknown(schema: &Value, value: &Value, path: &str, unknown: &mut Vec<String>) {
    // A schema without properties accepts any field, as the one of metadata does.
    if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object())
    {
        for (name, value) in fields {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            match properties.get(name) {
                Some(schema) => collect_unknown(schema, value, &path, unknown),
                None => unknown.push(path),
            }
        }
    }
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        collect_unknown(&schema["items"], item, &format!("{path}[{place}]"), unknown);
    }
}

/// A kind of Evenkeel's own, with a status.
struct CustomResource {
    kind: Kind,
    short_name: &'static str,
    description: &'static str,
    spec: Value,
    status: Value,
    columns: Value,
}

fn definition(resource: CustomResource) -> Value {
    let CustomResource {
        kind,
        short_name,
        description,
        spec,
        status,
        columns,
    } = resource;
    let schema = json!({
        "type": "object",
        "description": description,
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of the schema of this object."},
            "kind": {"type": "string", "description": "The kind of this object."},
            // The API server knows it, and takes no other word on it.
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "required": ["spec"],
    });
    json!({
        "apiVersion": Kind::CustomResourceDefinition.api_version(),
        "kind": Kind::CustomResourceDefinition.as_str(),
        "metadata": {
            "name": kind.qualified(),
            "labels": {"app.kubernetes.io/name": "evenkeel"},
        },
        "spec": {
            "group": kind.group(),
            "scope": "Namespaced",
            "names": {
                "kind": kind.as_str(),
                "listKind": format!("{}List", kind.as_str()),
                "plural": kind.plural(),
                "singular": kind.singular(),
                "shortNames": [short_name],
                "categories": ["evenkeel"],
            },
            "versions": [{
                "name": kind.version(),
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema below, with its path.
    fn all<'a>(path: &str, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
        found.push((path.to_owned(), schema));
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            all(&format!("{path}.{name}"), inner, found);
        }
        if schema["items"].is_object() {
            all(&format!("{path}[]"), &schema["items"], found);
        }
    }

    #[test]
    fn fields_that_would_be_dropped_are_found() {
        let object = json!({
            "apiVersion": "a", "kind": "CronHPA", "metadata": {"name": "a", "labels": {"b": "c"}},
            "spec": {"timezone": "UTC", "crons": [{"schedule": "x", "targetSize": 1}],
                "scaleTargetRef": {"kind": "a", "name": "b"}},
        });
        let unknown = unknown_fields(Kind::CronHpa, &object);
        assert_eq!(unknown, ["spec.crons[0].targetSize", "spec.timezone"]);
    }

    #[test]
    fn schemas_are_structural_and_take_no_null() {
        for definition in definitions() {
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let mut found = Vec::new();
            all("", schema, &mut found);
            for (path, schema) in found {
                let is_free = schema["x-kubernetes-preserve-unknown-fields"] == true;
                assert!(schema["type"].is_string() || is_free, "{path}: {schema}");
                let words = schema["enum"].as_array().into_iter().flatten();
                assert!(words.clone().all(Value::is_string), "{path}: {schema}");
                let default = &schema["default"];
                let is_word =
                    words.clone().next().is_none() || words.clone().any(|one| one == default);
                assert!(default.is_null() || is_word, "{path}: {default}");
                for key in ["$ref", "allOf", "anyOf", "nullable", "oneOf", "title"] {
                    assert!(schema[key].is_null(), "{path} has {key}");
                }
            }
        }
    }

    #[test]
    fn every_field_is_explained_and_every_text_and_list_has_an_end() {
        for definition in definitions() {
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let mut found = Vec::new();
            all("", schema, &mut found);
            for (path, schema) in found {
                let is_item = path.ends_with("[]") && schema["type"] != "object";
                if path == ".metadata" {
                    continue;
                }
                let explained = schema["description"]
                    .as_str()
                    .is_some_and(|text| text.ends_with('.'));
                assert!(explained || is_item, "{path} is not explained");
                let bound = match schema["type"].as_str() {
                    Some("array") => "maxItems",
                    Some("string") if schema["format"].is_null() && schema["enum"].is_null() => {
                        "maxLength"
                    }
                    _ => continue,
                };
                let bounded = schema[bound].is_u64() || !path.starts_with(".spec");
                assert!(bounded, "{path} has no {bound}");
                for rule in schema["x-kubernetes-validations"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    assert!(rule["message"].is_string(), "{path}: {rule}");
                }
            }
        }
    }
}
