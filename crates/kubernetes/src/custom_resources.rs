//! The definitions of Evenkeel's own kinds, as `evenkeel crds` prints them and the manifests install them.
//!
//! They are written by hand: a schema that is derived from types would bring a library and its macros
//! into every build, and could say neither what a rule means nor what is accepted instead.

mod columns;
mod cron_hpa;
mod horizontal_portrait;
mod ihpa;
mod metric;
mod portrait;
mod reference;
mod replica_profile;
mod schedule;
mod schema;

use serde_json::{Value, json};

use crate::kinds::Kind;

/// All definitions, in the order in which they are installed.
#[must_use]
pub fn definitions() -> Vec<Value> {
    let all = [
        CustomResource {
            kind: Kind::CronHpa,
            short_name: "chpa",
            schema: cron_hpa::schema(),
            columns: cron_hpa::columns(),
        },
        CustomResource {
            kind: Kind::ReplicaProfile,
            short_name: "rp",
            schema: replica_profile::schema(),
            columns: replica_profile::columns(),
        },
        CustomResource {
            kind: Kind::Ihpa,
            short_name: "ihpa",
            schema: ihpa::schema(),
            columns: ihpa::columns(),
        },
        CustomResource {
            kind: Kind::HorizontalPortrait,
            short_name: "hp",
            schema: horizontal_portrait::schema(),
            columns: horizontal_portrait::columns(),
        },
    ];
    all.iter().map(definition).collect()
}

/// The paths of the fields of a custom resource that its definition does not know, and the API server
/// would drop without a word.
#[must_use]
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
    schema: Value,
    columns: Value,
}

fn definition(resource: &CustomResource) -> Value {
    let CustomResource {
        kind,
        short_name,
        schema,
        columns,
    } = resource;
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::cron_hpa::{CronHpaSpec, CronHpaStatus};
    use crate::horizontal_portrait::{HorizontalPortraitSpec, HorizontalPortraitStatus};
    use crate::ihpa::{IhpaSpec, IhpaStatus};
    use crate::replica_profile::{ReplicaProfileSpec, ReplicaProfileStatus};

    fn properties(schema: &Value) -> BTreeSet<String> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    }

    fn keys(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

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
    fn a_cron_hpa_has_the_fields_that_are_read_and_written() {
        let schema = cron_hpa::schema();
        let whole: CronHpaSpec = serde_json::from_value(json!({
            "scaleTargetRef": {"apiVersion": "a", "kind": "b", "name": "c"},
            "scaleWorkloadRef": {"apiVersion": "a", "kind": "b", "name": "c"},
            "timeZone": "UTC", "excludeDates": ["a"], "suspend": false,
            "startingDeadlineSeconds": 60,
            "crons": [{"name": "a", "schedule": "b", "target": 1, "start": "c", "end": "d",
                "replicas": 2, "timeZone": "e", "excludeDates": ["f"], "runOnce": true,
                "suspend": true}],
        }))
        .unwrap();
        let whole = serde_json::to_value(whole).unwrap();
        let spec = &schema["properties"]["spec"];
        assert_eq!(properties(spec), keys(&whole));
        let crons = &spec["properties"]["crons"]["items"];
        assert_eq!(properties(crons), keys(&whole["crons"][0]));
        for reference in ["scaleTargetRef", "scaleWorkloadRef"] {
            let found = properties(&spec["properties"][reference]);
            assert_eq!(found, keys(&whole[reference]));
        }
        let status = serde_json::to_value(CronHpaStatus::default()).unwrap();
        assert_eq!(properties(&schema["properties"]["status"]), keys(&status));
    }

    /// Holds a schema and what is read of a whole object to each other, to the last field.
    fn same_fields(path: &str, schema: &Value, whole: &Value) {
        if let Some(items) = whole.as_array() {
            let [item] = &items[..] else {
                panic!("{path} has one item of each list");
            };
            return same_fields(&format!("{path}[]"), &schema["items"], item);
        }
        if schema["properties"].is_object() {
            assert_eq!(properties(schema), keys(whole), "{path}");
            for (name, value) in whole.as_object().unwrap() {
                same_fields(
                    &format!("{path}.{name}"),
                    &schema["properties"][name],
                    value,
                );
            }
        }
    }

    fn whole_reference() -> Value {
        json!({"apiVersion": "a", "kind": "b", "name": "c"})
    }

    fn whole_cron() -> Value {
        json!({"crons": [{"name": "a", "description": "b", "timeZone": "c", "start": "d", "end": "e",
            "replicas": 1, "excludeDates": ["f"]}]})
    }

    /// All fields of a portrait's spec that are read into fields.
    fn whole_portrait() -> Value {
        json!({
            "portraitType": "a", "externalGeneratorName": "b", "metrics": ["c"],
            "algorithm": {
                "type": "a", "config": "b",
                "kubeHPA": {"tolerance": "a", "behavior": "b"},
                "forecast": {"model": "a", "risk": "b", "scaleDown": "c", "predictMemory": true,
                    "traffic": ["d"]},
                "externalJob": {
                    "job": {"type": "a", "cronJob": {"template": {"spec": "a",
                        "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}}},
                    "resultSource": {"type": "a", "configMap": "b"},
                },
            },
        })
    }

    /// A whole object as it is written again, without what its type does not know.
    fn rewritten<T: serde::de::DeserializeOwned + serde::Serialize>(whole: Value) -> Value {
        let read: T = serde_json::from_value(whole).unwrap();
        serde_json::to_value(read).unwrap()
    }

    /// A schema in which what is kept as it is has no fields.
    fn cut_off(mut schema: Value, paths: &[&str]) -> Value {
        for path in paths {
            let found = schema.pointer_mut(path).unwrap();
            *found = json!({});
        }
        schema
    }

    #[test]
    fn an_ihpa_has_the_fields_that_are_read_and_written() {
        let strategy = json!({"grayState": "a", "changePercent": 1, "changeCount": 1,
            "changeIntervalSeconds": 1, "observationSeconds": 1});
        let way = json!({"disabled": true, "grayStrategy": strategy});
        let whole = rewritten::<IhpaSpec>(json!({
            "scaleTargetRef": whole_reference(), "paused": true, "minReplicas": 1, "maxReplicas": 2,
            "scaleMode": "a",
            "portraitProviders": [{"type": "a", "priority": 1, "static": {"replicas": 1},
                "cron": whole_cron(), "dynamic": whole_portrait()}],
            "behavior": {"scaleUp": way, "scaleDown": way, "replicaProfile": {
                "podSorter": {"type": "a"}, "podTrafficController": {"type": "b"}, "drainSeconds": 1}},
            "stabilityCheckers": [{
                "name": "a", "type": "b", "stabilizationAction": "c", "coolDownSeconds": 1,
                "metrics": {"metrics": ["a"]},
                "podsReady": {"minPercent": 1, "withinSeconds": 1},
                "errorRate": {"errors": "a", "requests": "b", "maxPercent": "c"},
                "external": {"name": "a", "service": {"name": "a", "port": 1, "path": "b",
                    "caBundle": "c"}, "url": "b", "timeoutSeconds": 1, "config": {"a": "b"}},
            }],
        }));
        let schema = ihpa::schema();
        let dynamic = "/properties/portraitProviders/items/properties/dynamic/properties";
        let kept = [
            format!("{dynamic}/metrics/items"),
            format!("{dynamic}/algorithm/properties/kubeHPA/properties/behavior"),
            "/properties/stabilityCheckers/items/properties/metrics/properties/metrics/items"
                .to_owned(),
        ];
        let kept = kept.each_ref().map(String::as_str);
        let spec = cut_off(schema["properties"]["spec"].clone(), &kept);
        same_fields("spec", &spec, &whole);
        let status = serde_json::to_value(whole_status()).unwrap();
        same_fields("status", &schema["properties"]["status"], &status);
    }

    fn whole_status() -> IhpaStatus {
        let time = "2026-11-22T08:00:00Z";
        let counts = json!({"onlineReplicas": 1, "cutoffReplicas": 1, "standbyReplicas": 1});
        let value = json!({"provider": "a", "replicas": 1, "expireTime": time});
        serde_json::from_value(json!({
            "observedGeneration": 1, "currentReplicas": 1, "desired": counts,
            "previousPortraitValue": value, "currentPortraitValue": value, "lastScaleTime": time,
            "portraits": [{"provider": "a", "priority": 1, "outcome": "b", "replicas": 1,
                "expireTime": time, "reason": "c", "message": "d", "since": time}],
            "gray": {"grayPercent": 1, "lastUpdateTime": time, "oppositeUpdateTime": time,
                "progress": "Made", "from": counts, "toReplicas": 1,
                "onlineReplicas": 1, "phase": "a", "nextTime": time},
            "stability": {
                "holds": [{"action": "a", "direction": "b", "since": time, "checkers": ["c"],
                    "coolDownSeconds": 1, "passesSince": time}],
                "checkers": [{"name": "a", "verdict": "b", "message": "c", "since": time}],
            },
            "conditions": [{"type": "a", "status": "True", "reason": "b", "message": "c",
                "lastTransitionTime": time, "observedGeneration": 1}],
        }))
        .unwrap()
    }

    #[test]
    fn a_horizontal_portrait_has_the_fields_that_are_read_and_written() {
        let mut whole = whole_portrait();
        whole["scaleTargetRef"] = whole_reference();
        let whole = rewritten::<HorizontalPortraitSpec>(whole);
        let schema = horizontal_portrait::schema();
        let kept = [
            "/properties/metrics/items",
            "/properties/algorithm/properties/kubeHPA/properties/behavior",
        ];
        let spec = cut_off(schema["properties"]["spec"].clone(), &kept);
        same_fields("spec", &spec, &whole);
        let time = "2026-11-22T08:00:00Z";
        let status = rewritten::<HorizontalPortraitStatus>(json!({
            "observedGeneration": 1,
            "portraitData": {"type": "a", "static": {"replicas": 1}, "cron": whole_cron(),
                "timeSeries": {"timeSeries": [{"timestamp": 1, "replicas": 1}]}, "expireTime": time},
            "conditions": [{"type": "a", "status": "True", "reason": "b", "message": "c",
                "lastTransitionTime": time, "observedGeneration": 1}],
        }));
        same_fields("status", &schema["properties"]["status"], &status);
    }

    #[test]
    fn a_replica_profile_has_the_fields_that_are_read_and_written() {
        let schema = replica_profile::schema();
        let whole: ReplicaProfileSpec = serde_json::from_value(json!({
            "scaleTargetRef": {"apiVersion": "a", "kind": "b", "name": "c"},
            "onlineReplicas": 1, "cutoffReplicas": 2, "standbyReplicas": 3, "paused": true,
            "allowedScalingDirection": "Up",
            "behavior": {"podSorter": {"type": "a"}, "podTrafficController": {"type": "b"},
                "drainSeconds": 4},
        }))
        .unwrap();
        let whole = serde_json::to_value(whole).unwrap();
        let spec = &schema["properties"]["spec"];
        assert_eq!(properties(spec), keys(&whole));
        for (path, inner) in [
            ("/scaleTargetRef", "/scaleTargetRef"),
            ("/behavior", "/behavior"),
            ("/behavior/properties/podSorter", "/behavior/podSorter"),
            (
                "/behavior/properties/podTrafficController",
                "/behavior/podTrafficController",
            ),
        ] {
            let known = spec["properties"].pointer(path).unwrap();
            assert_eq!(
                properties(known),
                keys(whole.pointer(inner).unwrap()),
                "{path}"
            );
        }
        let status = serde_json::to_value(ReplicaProfileStatus::default()).unwrap();
        assert_eq!(properties(&schema["properties"]["status"]), keys(&status));
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
