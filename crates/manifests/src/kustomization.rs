//! Kustomizations, with the fields that the manifests use. Any other field is an error.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::condition::ComponentCondition;
use crate::conditional_part::{ConditionalPart, ManifestPart};
use crate::config_map::Generator;
use crate::json_patch::{self, JsonPatchOperation};
use crate::merge::merge;
use crate::sources::{documents, text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Kustomization {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    pub(crate) resources: Vec<String>,
    #[serde(default)]
    pub(crate) components: Vec<String>,
    #[serde(default)]
    patches: Vec<Patch>,
    #[serde(default)]
    images: Vec<Image>,
    #[serde(default)]
    config_map_generator: Vec<Generator>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    target: Option<PatchTarget>,
    #[serde(rename = "patch")]
    inline: Option<String>,
    path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchTarget {
    kind: String,
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Image {
    name: String,
    new_tag: String,
}

#[derive(Debug, Clone)]
pub(crate) struct ManifestObject {
    pub(crate) file: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) choice: ConditionalPart,
}

impl Kustomization {
    pub(crate) fn read(folder: &str) -> Result<Self, String> {
        let text = text_of(&format!("{folder}/kustomization.yaml"))?;
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }
}

fn text_of(path: &str) -> Result<&'static str, String> {
    text(path).ok_or_else(|| format!("there is no file {path}"))
}

/// The path of `relative` from a folder.
pub(crate) fn joined(folder: &str, relative: &str) -> String {
    let mut steps: Vec<&str> = folder.split('/').collect();
    for step in relative.split('/') {
        match step {
            ".." => drop(steps.pop()),
            "." => {}
            name => steps.push(name),
        }
    }
    steps.join("/")
}

/// Adds the objects of a folder, and applies its patches to all objects. `cause` is the folder's
/// component.
pub(crate) fn add(
    objects: &mut Vec<ManifestObject>,
    folder: &str,
    cause: Option<&'static str>,
) -> Result<(), String> {
    let here = |error: String| format!("{folder}: {error}");
    let own = Kustomization::read(folder).map_err(here)?;
    if !own.components.is_empty() {
        return Err(here(
            "components within components are not implemented".to_owned(),
        ));
    }
    for resource in &own.resources {
        let path = joined(folder, resource);
        match text(&path) {
            Some(text) => {
                for document in documents(text).map_err(here)? {
                    objects.push(object(&path, &document, cause).map_err(here)?);
                }
            }
            None => add(objects, &path, cause)?,
        }
    }
    for generator in &own.config_map_generator {
        let made = generator.make(|file| text_of(&joined(folder, file)));
        let path = joined(folder, "kustomization.yaml");
        let made = object(&path, &made.map_err(here)?, cause).map_err(here)?;
        rename(objects, &generator.name, &made.name);
        objects.push(made);
    }
    for patch in &own.patches {
        patch.apply(objects, folder, cause).map_err(here)?;
    }
    for image in &own.images {
        image.apply(objects, cause).map_err(here)?;
    }
    Ok(())
}

fn object(
    file: &str,
    value: &Value,
    cause: Option<&'static str>,
) -> Result<ManifestObject, String> {
    let text = |field: &Value| field.as_str().map(str::to_owned);
    let lacking = || format!("{file} holds an object without kind or name");
    Ok(ManifestObject {
        file: file.to_owned(),
        kind: text(&value["kind"]).ok_or_else(lacking)?,
        name: text(&value["metadata"]["name"]).ok_or_else(lacking)?,
        choice: ConditionalPart::new(value, cause),
    })
}

/// Renames a ConfigMap with its hash in the volumes that mount it.
fn rename(objects: &mut [ManifestObject], from: &str, to: &str) {
    for object in objects {
        object.choice.part.for_each_field(&mut |name, part| {
            let Some(named) = part.field_mut("name").filter(|_| name == "configMap") else {
                return;
            };
            if named.part == ManifestPart::Scalar(Value::from(from)) {
                named.part = ManifestPart::Scalar(Value::from(to));
            }
        });
    }
}

impl Patch {
    fn apply(
        &self,
        objects: &mut [ManifestObject],
        folder: &str,
        cause: Option<&'static str>,
    ) -> Result<(), String> {
        let text = match (&self.inline, &self.path) {
            (Some(text), None) => text,
            (None, Some(path)) => text_of(&joined(folder, path))?,
            _ => return Err("a patch has either a text or a path".to_owned()),
        };
        let [patch] = &documents(text)?[..] else {
            return Err("a patch is one document".to_owned());
        };
        let target = if let Some(PatchTarget { kind, name }) = &self.target {
            (kind.clone(), name.clone())
        } else {
            let patched = object(folder, patch, None)?;
            (patched.kind, patched.name)
        };
        let is_meant =
            |object: &ManifestObject| (&object.kind, &object.name) == (&target.0, &target.1);
        if self.target.is_none() && !objects.iter().any(is_meant) {
            return Err(format!("there is no {} {}", target.0, target.1));
        }
        for object in objects.iter_mut().filter(|object| is_meant(object)) {
            let when = &mut object.choice.when;
            let cause = remaining(when, cause);
            match patch {
                Value::Object(fields) if fields.get("$patch") == Some(&Value::from("delete")) => {
                    let component = cause.ok_or("a deletion is a component's")?;
                    when.require(component, false);
                }
                Value::Object(fields) => merge(&mut object.choice.part, &changed(fields), cause)?,
                list => {
                    let operations: Vec<JsonPatchOperation> =
                        serde_json::from_value(list.clone()).map_err(|error| error.to_string())?;
                    json_patch::apply(&mut object.choice.part, &operations, cause)?;
                }
            }
        }
        Ok(())
    }
}

/// The component of a change within an object; `None` if the whole object depends on it already.
fn remaining(when: &ComponentCondition, cause: Option<&'static str>) -> Option<&'static str> {
    cause.filter(|component| !when.needs(component))
}

/// Without the fields that only name the object.
fn changed(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = patch.clone();
    patch.remove("apiVersion");
    patch.remove("kind");
    patch
}

impl Image {
    fn apply(
        &self,
        objects: &mut [ManifestObject],
        cause: Option<&'static str>,
    ) -> Result<(), String> {
        let mut failure = Ok(());
        for object in objects {
            let cause = remaining(&object.choice.when, cause);
            object.choice.part.for_each_field(&mut |field, part| {
                let ManifestPart::Scalar(Value::String(image)) = part else {
                    return;
                };
                let is_meant = field == "image" && *image == self.name;
                if is_meant && cause.is_some() {
                    failure = Err(format!("{image} of another component"));
                } else if is_meant {
                    *image = format!("{image}:{}", self.new_tag);
                }
            });
        }
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_up_and_down() {
        assert_eq!(joined("deploy/base", "rbac.yaml"), "deploy/base/rbac.yaml");
        assert_eq!(joined("deploy/components/x", "../../../certs"), "certs");
    }

    #[test]
    fn a_field_that_is_not_implemented_is_an_error() {
        let text = "apiVersion: a\nkind: Kustomization\nnamePrefix: x-\n";
        assert!(serde_saphyr::from_str::<Kustomization>(text).is_err());
        let text = "apiVersion: a\nkind: Component\npatches: [{path: a, options: {}}]\n";
        assert!(serde_saphyr::from_str::<Kustomization>(text).is_err());
    }
}
