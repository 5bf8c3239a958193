//! CustomResourceDefinitions: derived names, and the status that the resource is served, which is
//! immediate here.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;
use crate::schema::Schema;

pub(super) fn defaults(definition: &mut Value) {
    let spec = meta::child(definition, "spec");
    meta::default(spec, "conversion", json!({"strategy": "None"}));
    let names = meta::child(spec, "names");
    let kind = meta::text(names, "/kind").to_owned();
    meta::default(names, "singular", kind.to_lowercase());
    meta::default(names, "listKind", format!("{kind}List"));
}

pub(super) fn complete(definition: &mut Value) {
    let spec = &definition["spec"];
    let accepted = spec["names"].clone();
    let stored: Vec<Value> = meta::list(spec, "/versions")
        .iter()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let created = definition["metadata"]["creationTimestamp"].clone();
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": created})
    };
    let status = json!({
        "acceptedNames": accepted,
        "storedVersions": stored,
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    });
    definition["status"] = status;
}

pub(super) fn validate(definition: &Value, causes: &mut Vec<Cause>) {
    let spec = &definition["spec"];
    let expected = format!(
        "{}.{}",
        meta::text(spec, "/names/plural"),
        meta::text(spec, "/group")
    );
    if meta::name(definition) != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid(
            "metadata.name",
            &definition["metadata"]["name"],
            why,
        ));
    }
    let versions = meta::list(spec, "/versions");
    let stored = versions.iter().filter(|version| version["storage"] == true);
    if stored.count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], why));
    }
    for (index, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(field, "schemas are required"));
        }
        let schema = Schema::new(version["schema"].clone());
        for pattern in schema.broken_patterns() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            let why = "must be a valid regular expression";
            causes.push(Cause::invalid(field, &pattern.into(), why));
        }
    }
    if spec["conversion"]["strategy"] != "None" {
        let why = "conversion webhooks are not implemented by this API server";
        causes.push(Cause::forbidden("spec.conversion.strategy", why));
    }
}
