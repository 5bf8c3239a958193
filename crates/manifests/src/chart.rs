//! The Helm chart: the same objects as templates, with components as flags of its values. A test of
//! the program writes `deploy/chart` and fails on differences. Notes, helpers and the test hook
//! exist there only.

mod chart_metadata;
mod template;
mod values;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::{CONFIGURATION, ManifestError, Manifests, sources};
use template::Template;

/// By path in the chart's folder. `configuration` holds the default of each field.
///
/// # Errors
/// An invalid manifest file.
pub fn files(configuration: &Value) -> Result<BTreeMap<String, String>, ManifestError> {
    let manifests = Manifests::read()?;
    let mut files = templates(&manifests).map_err(ManifestError)?;
    files.insert("Chart.yaml".to_owned(), chart_metadata::chart(&manifests));
    files.insert("values.yaml".to_owned(), values::values());
    files.insert(
        "values.schema.json".to_owned(),
        values::schema(configuration),
    );
    let (_, key) = CONFIGURATION;
    let text = sources::text("deploy/base/config.yaml").unwrap_or_default();
    files.insert(format!("files/{key}"), text.to_owned());
    Ok(files)
}

fn templates(manifests: &Manifests) -> Result<BTreeMap<String, String>, String> {
    let template = Template::new(manifests);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for object in &manifests.objects {
        let path = place(&object.file);
        let text = files.entry(path).or_insert_with(|| {
            let file = &object.file;
            format!("{{{{- /* Generated from {file}; run `just chart` to regenerate it. */ -}}}}\n")
        });
        let object = template.object(object)?;
        let _ = write!(text, "{object}");
    }
    Ok(files)
}

/// The path of a manifest file's template.
fn place(file: &str) -> String {
    let steps: Vec<&str> = file.split('/').collect();
    let name = match steps[..] {
        ["deploy", "base", "kustomization.yaml"] => "config-map.yaml".to_owned(),
        ["deploy", "base", name] => name.to_owned(),
        ["deploy", "components", component, "kustomization.yaml"] => {
            format!("{component}-config-map.yaml")
        }
        ["deploy", "components", component, name] => format!("{component}-{name}"),
        _ => steps.join("-"),
    };
    format!("templates/{name}")
}
