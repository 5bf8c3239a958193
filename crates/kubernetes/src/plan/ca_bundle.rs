//! The CA bundle in the webhook configuration, kept in step with the certificates that are served.
//!
//! Only with certificates of our own: with cert-manager its injector owns the field.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::write::{ObjectChange, Operation};
use crate::kinds::Kind;
use crate::object_ref::ObjectRef;

/// The change that makes every webhook of the configuration trust `bundle` (PEM), if one does not.
///
/// `configuration` is the whole object as read; its list of webhooks is written back with nothing
/// but the bundles changed, since a merge patch replaces lists.
#[must_use]
pub fn plan(configuration: &Value, bundle: &str) -> Option<ObjectChange> {
    let encoded = STANDARD.encode(bundle);
    let name = configuration.pointer("/metadata/name")?.as_str()?;
    let resource_version = configuration.pointer("/metadata/resourceVersion")?;
    let mut webhooks = configuration.get("webhooks")?.as_array()?.clone();
    let mut changed = false;
    for webhook in &mut webhooks {
        let client = webhook.get_mut("clientConfig")?.as_object_mut()?;
        if client.get("caBundle").and_then(Value::as_str) != Some(encoded.as_str()) {
            client.insert("caBundle".to_owned(), Value::from(encoded.clone()));
            changed = true;
        }
    }
    changed.then(|| {
        let patch = json!({
            "metadata": { "resourceVersion": resource_version },
            "webhooks": webhooks,
        });
        ObjectChange {
            target: ObjectRef::of_cluster(Kind::MutatingWebhookConfiguration, name),
            operation: Operation::Merge(patch),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(bundles: &[Option<&str>]) -> Value {
        let webhooks: Vec<Value> = bundles
            .iter()
            .map(|bundle| {
                let mut client = json!({"service": {"name": "evenkeel"}});
                if let Some(bundle) = bundle {
                    client["caBundle"] = Value::from(STANDARD.encode(bundle));
                }
                json!({"name": "pods.evenkeel.dev", "clientConfig": client, "timeoutSeconds": 1})
            })
            .collect();
        json!({"metadata": {"name": "evenkeel", "resourceVersion": "5"}, "webhooks": webhooks})
    }

    #[test]
    fn every_webhook_gets_the_bundle_and_keeps_the_rest() {
        let change = plan(&configuration(&[None, Some("old")]), "new").unwrap();
        let Operation::Merge(patch) = change.operation else {
            panic!("a merge patch")
        };
        let mut expected = configuration(&[Some("new"), Some("new")]);
        expected["metadata"].as_object_mut().unwrap().remove("name");
        assert_eq!(patch, expected);
    }

    #[test]
    fn nothing_is_written_when_nothing_changes_or_nothing_is_there() {
        assert_eq!(plan(&configuration(&[Some("new")]), "new"), None);
        assert_eq!(plan(&configuration(&[]), "new"), None);
        assert_eq!(plan(&json!({}), "new"), None);
    }
}
