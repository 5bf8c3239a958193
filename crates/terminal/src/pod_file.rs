//! Pods from manifests: Pods themselves, and the templates of whatever makes Pods.

use std::path::Path;

use evenkeel_objects::pod::Pod;
use evenkeel_objects::serde_message::reworded;
use evenkeel_service::config::yaml;
use serde_json::{Map, Value, json};

use super::output;
use super::output::CliFailure;

/// Path of the Pod template in each kind of workload.
const TEMPLATES: [(&str, &str); 7] = [
    ("Deployment", "/spec/template"),
    ("StatefulSet", "/spec/template"),
    ("DaemonSet", "/spec/template"),
    ("ReplicaSet", "/spec/template"),
    ("ReplicationController", "/spec/template"),
    ("Job", "/spec/template"),
    ("CronJob", "/spec/jobTemplate/spec/template"),
];

const ACCEPTED: &str = "a Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, \
                        ReplicationController, Job or CronJob";

#[derive(Debug)]
pub struct PodManifest {
    /// The kind of the manifest: `Pod`, or that of the workload.
    pub kind: String,
    pub pod: Pod,
    pub manifest: Value,
}

/// Reads the Pods of all documents in the file; `namespace` is for those that name none.
pub fn read(path: &Path, namespace: &str) -> Result<Vec<PodManifest>, CliFailure> {
    let text = output::read_input(path)?;
    let refuse = |message: String| CliFailure::call(format_args!("{}: {message}", path.display()));
    let pods = parse(&text, namespace).map_err(refuse)?;
    if pods.is_empty() {
        return Err(refuse(format!("holds no Pod; accepted: {ACCEPTED}")));
    }
    Ok(pods)
}

fn parse(text: &str, namespace: &str) -> Result<Vec<PodManifest>, String> {
    let documents = yaml::parse_objects(text).map_err(|error| format!("is not YAML: {error}"))?;
    let mut pods = Vec::new();
    for document in documents {
        collect(document, namespace, &mut pods)?;
    }
    Ok(pods)
}

fn collect(mut object: Value, namespace: &str, pods: &mut Vec<PodManifest>) -> Result<(), String> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if kind == "Pod" {
        pods.push(manifest(kind, &object, namespace)?);
    } else if let Some((_, pointer)) = TEMPLATES.iter().find(|(known, _)| *known == kind) {
        let template = object.pointer_mut(pointer).map(Value::take);
        let template =
            template.ok_or_else(|| format!("{kind}: {} is missing", pointer.replace('/', ".")))?;
        pods.push(manifest(kind, &owned(template, &object), namespace)?);
    }
    Ok(())
}

/// A template as its owner's controller would make a Pod of it.
fn owned(mut template: Value, owner: &Value) -> Value {
    if !template["metadata"].is_object() {
        template["metadata"] = Value::Object(Map::new());
    }
    let metadata = &mut template["metadata"];
    metadata["name"] = owner["metadata"]["name"].clone();
    metadata["namespace"] = owner["metadata"]["namespace"].clone();
    metadata["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "controller": true,
    }]);
    template
}

fn manifest(kind: String, object: &Value, namespace: &str) -> Result<PodManifest, String> {
    let text = object.to_string();
    let mut json = serde_json::Deserializer::from_str(&text);
    let mut pod: Pod = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let message = reworded(&error.inner().to_string());
        format!("{kind}: {}: {message}", error.path())
    })?;
    pod.metadata
        .namespace
        .get_or_insert_with(|| namespace.to_owned());
    let mut manifest = object.clone();
    manifest["metadata"]["namespace"] = pod.namespace().into();
    Ok(PodManifest {
        kind,
        pod,
        manifest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_and_templates_are_found_in_all_documents() {
        let text = "
kind: Service
metadata: {name: web}
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-, namespace: shop}
---
kind: List
items:
- kind: DaemonSet
  metadata: {name: agent, namespace: ops}
  spec: {template: {spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}}}
- kind: CronJob
  metadata: {name: nightly}
  spec: {jobTemplate: {spec: {template: {metadata: {annotations: {evenkeel.dev/skip: 'true'}}}}}}
";
        let pods = parse(text, "mine").unwrap();
        let found: Vec<_> = pods
            .iter()
            .map(|pod| (&*pod.kind, pod.pod.name(), pod.pod.namespace()))
            .collect();
        assert_eq!(
            found,
            [
                ("Pod", "web-", "shop"),
                ("DaemonSet", "agent", "ops"),
                ("CronJob", "nightly", "mine"),
            ]
        );
        assert!(pods[1].pod.is_daemon_set() && !pods[0].pod.is_daemon_set());
        assert!(pods[2].pod.is_skipped());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, parts) in [
            ("kind: [", &["is not YAML"][..]),
            (
                "{kind: Deployment, spec: {}}",
                &["Deployment", ".spec.template is missing"],
            ),
            (
                "{kind: Pod, spec: {containers: [{resources: {requests: {cpu: much}}}]}}",
                &["spec.containers[0].resources.requests", "much"],
            ),
        ] {
            let message = parse(text, "default").expect_err(text);
            for part in parts {
                assert!(message.contains(part), "{text}: {message}");
            }
        }
        assert!(parse("", "default").unwrap().is_empty());
    }
}
