//! Who else writes the bounds of a target: its field manager, from `metadata.managedFields`.
//!
//! Watches leave these fields out, since they are large and matter once in a lifetime; they are
//! read by one GET of the metadata when a floor has been undone twice.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Client;
use serde_json::Value;

use crate::controller::writer;
use crate::plan::Target;

/// Longer than this a name is not waited for; it is then called another writer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The fields that hold the least replicas, as managed fields name them.
const LEAST: [&str; 2] = ["f:minReplicas", "f:minReplicaCount"];

/// The field manager that wrote the least replicas of an object last, but for us; `None` where the
/// API server does not say.
pub(super) async fn manager(client: &Client, object: &Target) -> Option<String> {
    let (api, name) = writer::api(client, object);
    let asked = tokio::time::timeout(PATIENCE, api.get_metadata(&name)).await;
    match asked {
        Ok(Ok(found)) => last_writer(found.metadata.managed_fields.as_deref().unwrap_or_default()),
        Ok(Err(error)) => {
            tracing::warn!(%error, ?object, "who contests the floor could not be learned");
            None
        }
        Err(_) => {
            tracing::warn!(
                ?object,
                "who contests the floor could not be learned in time"
            );
            None
        }
    }
}

fn last_writer(entries: &[ManagedFieldsEntry]) -> Option<String> {
    let owns = |entry: &&ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        let spec = fields.and_then(|fields| fields.get("f:spec"));
        spec.and_then(Value::as_object)
            .is_some_and(|spec| LEAST.iter().any(|field| spec.contains_key(*field)))
    };
    let others = entries.iter().filter(owns).filter(|entry| {
        let manager = entry.manager.as_deref();
        manager.is_some_and(|manager| manager != writer::MANAGER)
    });
    others
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))
        .and_then(|entry| entry.manager.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(list: Value) -> Vec<ManagedFieldsEntry> {
        serde_json::from_value(list).unwrap()
    }

    #[test]
    fn the_newest_other_writer_of_the_least_is_named() {
        let entry = |manager: &str, time: &str, field: &str| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "autoscaling/v2",
                "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {field: {}}}})
        };
        let all = entries(json!([
            entry("kubectl", "2026-01-01T00:00:00Z", "f:minReplicas"),
            entry("evenkeel", "2026-01-03T00:00:00Z", "f:minReplicas"),
            entry("argocd-controller", "2026-01-02T00:00:00Z", "f:minReplicas"),
            entry(
                "kube-controller-manager",
                "2026-01-04T00:00:00Z",
                "f:replicas"
            ),
        ]));
        assert_eq!(last_writer(&all).as_deref(), Some("argocd-controller"));
        let keda = entries(json!([entry(
            "flux",
            "2026-01-01T00:00:00Z",
            "f:minReplicaCount"
        )]));
        assert_eq!(last_writer(&keda).as_deref(), Some("flux"));
        let ours = entries(json!([
            entry("evenkeel", "2026-01-03T00:00:00Z", "f:minReplicas"),
            {"manager": "bare"},
        ]));
        assert_eq!(last_writer(&ours), None);
    }
}
