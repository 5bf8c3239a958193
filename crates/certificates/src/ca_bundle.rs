//! Keeps the CA bundle in the webhook configuration and in the APIService in step with the served
//! certificates. Only with Evenkeel's own certificates: with cert-manager its injector owns the
//! field.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::write::{ObjectChange, WriteOperation};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use serde_json::{Value, json};

use crate::api_service;
use crate::api_service::Holder;

/// The change that makes every webhook of the configuration trust `bundle` (PEM), if one does not.
/// A merge patch replaces lists, so the whole list of webhooks is written back.
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
            operation: WriteOperation::Merge(patch),
        }
    })
}

/// The change that makes the APIService of Evenkeel in the namespace `own` trust `bundle` (PEM), if
/// it does not. Another's APIService is not touched.
pub fn plan_api_service(api_service: &APIService, own: &str, bundle: &str) -> Option<ObjectChange> {
    let trusted = api_service
        .spec
        .as_ref()
        .and_then(|spec| spec.ca_bundle.as_ref());
    let is_trusted = trusted.is_some_and(|trusted| trusted.0 == bundle.as_bytes());
    if is_trusted || api_service::holder(api_service, own) != Holder::Own {
        return None;
    }
    let name = api_service.metadata.name.as_deref()?;
    let patch = json!({
        "metadata": { "resourceVersion": api_service.metadata.resource_version },
        "spec": { "caBundle": STANDARD.encode(bundle) },
    });
    Some(ObjectChange {
        target: ObjectRef::of_cluster(Kind::ApiService, name),
        operation: WriteOperation::Merge(patch),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_service_gets_the_bundle_where_it_is_ours() {
        let found = |namespace: &str, bundle: Option<&str>| {
            let bundle = bundle.map(|bundle| STANDARD.encode(bundle));
            let found = json!({
                "metadata": {"name": api_service::EXTERNAL_METRICS, "resourceVersion": "7"},
                "spec": {"service": {"namespace": namespace, "name": "evenkeel"},
                    "caBundle": bundle, "groupPriorityMinimum": 100, "versionPriority": 100},
            });
            serde_json::from_value::<APIService>(found).unwrap()
        };
        for before in [None, Some("old")] {
            let change = plan_api_service(&found("keel", before), "keel", "new").unwrap();
            assert_eq!(
                change.target,
                ObjectRef::of_cluster(Kind::ApiService, api_service::EXTERNAL_METRICS)
            );
            let WriteOperation::Merge(patch) = change.operation else {
                panic!("a merge patch")
            };
            let expected = json!({"metadata": {"resourceVersion": "7"},
                "spec": {"caBundle": STANDARD.encode("new")}});
            assert_eq!(patch, expected);
            assert_eq!(
                plan_api_service(&found("keda", before), "keel", "new"),
                None
            );
        }
        assert_eq!(
            plan_api_service(&found("keel", Some("new")), "keel", "new"),
            None
        );
    }

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
        let WriteOperation::Merge(patch) = change.operation else {
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
