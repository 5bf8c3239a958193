//! ConfigMaps that kustomize makes from files.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// An entry of `configMapGenerator`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generator {
    pub(crate) name: String,
    namespace: String,
    files: Vec<String>,
    #[serde(default)]
    options: GeneratorOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GeneratorOptions {
    #[serde(default)]
    disable_name_suffix_hash: bool,
    #[serde(default)]
    labels: Map<String, Value>,
}

impl Generator {
    /// `read` finds the texts.
    ///
    /// # Errors
    /// A missing file.
    pub(crate) fn make(
        &self,
        read: impl Fn(&str) -> Result<&'static str, String>,
    ) -> Result<Value, String> {
        let mut data = Map::new();
        for file in &self.files {
            data.insert(file.clone(), Value::from(read(file)?));
        }
        let data = Value::Object(data);
        let name = if self.options.disable_name_suffix_hash {
            self.name.clone()
        } else {
            format!("{}-{}", self.name, suffix(&data))
        };
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": self.options.labels},
            "data": data,
        }))
    }
}

/// kustomize's hash behind the name: SHA-256 of the object in Go's JSON without its name, as ten
/// letters and digits that spell no word.
fn suffix(data: &Value) -> String {
    let encoded = json!({"data": data, "kind": "ConfigMap", "name": ""}).to_string();
    let encoded = encoded
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    let hash = format!("{:x}", Sha256::digest(encoded));
    let letter = |digit| match digit {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    hash.chars().take(10).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first is from kustomize's test of its hash, the second from its output.
    #[test]
    fn the_hash_is_that_of_kustomize() {
        assert_eq!(suffix(&json!({"one": ""})), "9g67k2htb6");
    }
}
