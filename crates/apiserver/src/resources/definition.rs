//! From a CustomResourceDefinition to the resources that it defines.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::meta;
use crate::resources::resource::{
    Conversion, Decoder, Generation, Resource, ResourceNames, ScalePaths, Subresource,
};
use crate::schema::Schema;
use crate::table::column::{CustomColumn, TableColumns};
use crate::table::json_path::JsonPath;

pub(crate) const COLLECTION: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The served versions of a definition. One collection stores all, and only `apiVersion` differs,
/// as in `conversion.strategy: None`.
pub(crate) fn resources(definition: &Value) -> Vec<Resource> {
    let versions = meta::list(definition, "/spec/versions").iter();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| resource(&definition["spec"], version))
        .collect()
}

fn resource(spec: &Value, version: &Value) -> Resource {
    let names = &spec["names"];
    let schema = Schema::new(version["schema"]["openAPIV3Schema"].clone());
    let known_as = ResourceNames {
        group: meta::text(spec, "/group"),
        version: meta::text(version, "/name"),
        kind: meta::text(names, "/kind"),
        plural: meta::text(names, "/plural"),
    };
    let mut resource = Resource::new(&known_as, Decoder::Schema(Arc::new(schema)));
    let texts = |pointer: &str| -> Vec<String> {
        let values = meta::list(names, pointer).iter().filter_map(Value::as_str);
        values.map(str::to_owned).collect()
    };
    meta::text(names, "/singular").clone_into(&mut resource.singular);
    resource.short_names = texts("/shortNames");
    resource.categories = texts("/categories");
    resource.namespaced = meta::text(spec, "/scope") == "Namespaced";
    resource.generation = Generation::Desired;
    resource.selectable = meta::list(version, "/selectableFields")
        .iter()
        .map(|field| {
            meta::text(field, "/jsonPath")
                .trim_start_matches('.')
                .to_owned()
        })
        .collect();
    if version["storage"] != true {
        resource.conversion = Some(OTHER_VERSION);
    }
    let subresources = &version["subresources"];
    if subresources["status"].is_object() {
        resource = resource.with(Subresource::Status);
    }
    if subresources["scale"].is_object() {
        resource = resource.scaled(scale_paths(&subresources["scale"]));
    }
    let columns = columns(version);
    resource.columns(columns)
}

/// For objects stored in another version: reading and writing set `apiVersion`, because only there
/// the version is known.
const OTHER_VERSION: Conversion = Conversion {
    renamed: &[],
    to_storage: |object| object,
    from_storage: |object| object,
};

fn scale_paths(scale: &Value) -> ScalePaths {
    let pointer = |field: &str| meta::text(scale, field).replace('.', "/");
    let selector = pointer("/labelSelectorPath");
    ScalePaths {
        spec: pointer("/specReplicasPath"),
        status: pointer("/statusReplicasPath"),
        selector: (!selector.is_empty()).then_some(selector),
    }
}

fn columns(version: &Value) -> TableColumns {
    let own = meta::list(version, "/additionalPrinterColumns");
    let age = json!([{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]);
    let columns = if own.is_empty() {
        meta::list(&age, "")
    } else {
        own
    };
    let columns = columns.iter().filter_map(|column| {
        Some(CustomColumn {
            name: meta::text(column, "/name").to_owned(),
            kind: meta::text(column, "/type").to_owned(),
            priority: meta::number(column, "/priority").unwrap_or_default(),
            path: JsonPath::parse(meta::text(column, "/jsonPath"))?,
        })
    });
    TableColumns::Custom(columns.collect())
}

/// Names the parts of a definition that are not evaluated, for its author.
pub(crate) fn warning(definition: &Value) -> Option<String> {
    let versions = meta::list(definition, "/spec/versions").iter();
    let parts: BTreeSet<String> = versions
        .flat_map(|version| Schema::new(version["schema"].clone()).unevaluated().clone())
        .collect();
    not_evaluated(&parts)
}

/// Names the parts of a schema that are not evaluated.
pub(crate) fn not_evaluated(parts: &BTreeSet<String>) -> Option<String> {
    let list: Vec<&str> = parts.iter().map(String::as_str).collect();
    let list = list.join(" and ");
    (!parts.is_empty()).then(|| format!("this API server does not evaluate {list} of the schema"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_says_what_is_served() {
        let definition = json!({"spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"kind": "Cron", "plural": "crons", "singular": "cron", "shortNames": ["cr"]},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "additionalPrinterColumns": [
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}]},
                {"name": "v0", "served": false, "storage": false}],
        }});
        let found = resources(&definition);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].qualified(), "crons.example.dev");
        assert!(found[0].has_status() && found[0].namespaced);
        let scale = found[0].scale.as_ref().expect("a scale");
        assert_eq!(
            (scale.spec.as_str(), &scale.selector),
            ("/spec/replicas", &None)
        );
        assert_eq!(found[0].columns.definitions()[1]["name"], "Replicas");
    }
}
