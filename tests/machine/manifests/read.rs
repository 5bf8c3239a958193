//! Reads manifests: files as they stand, and folders as kustomize builds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::overlay::{from, moved};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn documents(path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The objects of the base and of the webhook configuration that it includes, without what
/// kustomize generates. A file in the folder that the kustomization does not list is a mistake.
pub(crate) fn base() -> Vec<Value> {
    let kustomization = &documents("deploy/base/kustomization.yaml")[0];
    let listed = strings(&kustomization["resources"]);
    for entry in fs::read_dir(root().join("deploy/base")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = listed.contains(&name) || name == "kustomization.yaml" || name == "config.yaml";
        assert!(known, "deploy/base/{name} is not installed");
    }
    assert!(listed.contains(&"../../webhook-config".to_owned()));
    let mut objects = documents("webhook-config/mutating-webhook.yaml");
    for file in listed.iter().filter(|name| !name.starts_with("..")) {
        objects.extend(documents(&format!("deploy/base/{file}")));
    }
    objects
}

/// The folders of all overlays.
pub(crate) fn overlays() -> Vec<String> {
    let folder = fs::read_dir(root().join("deploy/overlays")).unwrap();
    let names: Vec<_> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| format!("deploy/overlays/{name}"))
        .collect();
    assert!(names.len() >= 4, "{names:?}");
    names
}

/// The objects that `kubectl apply -k` would send for a user's overlay of the base with
/// `components`.
pub(crate) fn combined(components: &[String]) -> Vec<Value> {
    serde_saphyr::from_multiple(&combined_text(components)).unwrap()
}

/// The same as kustomize prints it.
pub(crate) fn combined_text(components: &[String]) -> String {
    let overlay = tempfile::tempdir().unwrap();
    let base = [String::from("deploy/base")];
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
         resources: {:?}\ncomponents: {:?}\n",
        from(overlay.path(), &base),
        from(overlay.path(), components)
    );
    fs::write(overlay.path().join("kustomization.yaml"), text).unwrap();
    kustomized(overlay.path().to_str().unwrap())
}

/// The objects that `kubectl apply -k` would send for a user's overlay that puts `folder` into
/// `namespace`.
pub(crate) fn built_in(folder: &str, namespace: &str) -> Vec<Value> {
    let overlay = tempfile::tempdir().unwrap();
    moved(overlay.path(), folder, namespace);
    built(overlay.path().to_str().unwrap())
}

/// The objects that `kubectl apply -k` would send.
pub(crate) fn built(folder: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&kustomized(folder)).unwrap()
}

/// The output of kustomize for a folder.
pub(crate) fn kustomized(folder: &str) -> String {
    let output = Command::new("kubectl")
        .args(["kustomize", folder])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{folder}: {errors}");
    assert!(!errors.contains("Warning"), "{folder}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one object of that kind and name.
pub(crate) fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects
        .iter()
        .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let object = found.next().unwrap_or_else(|| panic!("no {kind} {name}"));
    assert!(found.next().is_none(), "more than one {kind} {name}");
    object
}

/// The entry of a list with this `name`.
pub(crate) fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let entries = list
        .as_array()
        .unwrap_or_else(|| panic!("no list with {name}"));
    let entry = entries.iter().find(|entry| entry["name"] == name);
    entry.unwrap_or_else(|| panic!("no {name} in {list}"))
}

/// A list of strings; empty where there is none.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry.as_str().unwrap().to_owned())
        .collect()
}

/// The variables of the Deployment's container, with a name where the cluster gives the value.
pub(crate) fn environment(deployment: &Value) -> Vec<(String, String)> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let variables = container["env"].as_array().unwrap();
    variables
        .iter()
        .map(|variable| {
            let value = variable["value"].as_str().unwrap_or("evenkeel-0");
            (
                variable["name"].as_str().unwrap().to_owned(),
                value.to_owned(),
            )
        })
        .collect()
}
