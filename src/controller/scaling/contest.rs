//! Who else writes the bounds of a target: its field manager, from `metadata.managedFields`.
//!
//! Watches leave these fields out, since they are large and matter once in a lifetime; they are
//! read by one GET of the metadata when a floor has been undone twice.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Client;
use serde_json::Value;

use crate::controller::writer;
use evenkeel_kubernetes::object_ref::ObjectRef;

/// Longer than this names are not waited for; they are then called another writer. The next tick
/// waits with them, however many floors were undone at once.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many objects are asked for at once.
const AT_ONCE: usize = 16;

/// The fields that hold the least replicas, as managed fields name them.
const LEAST: [&str; 2] = ["f:minReplicas", "f:minReplicaCount"];

/// The field managers that wrote the least replicas of the objects last, but for us, as far as the
/// API server says in time.
pub(super) async fn managers<K>(
    client: &Client,
    objects: impl Iterator<Item = (K, ObjectRef)>,
) -> Vec<(K, String)> {
    let mut found = Vec::new();
    let asked = stream::iter(objects)
        .map(|(key, object)| async move { (key, manager(client, &object).await) });
    let mut answers = asked.buffer_unordered(AT_ONCE);
    let all = async {
        while let Some((key, manager)) = answers.next().await {
            found.extend(manager.map(|manager| (key, manager)));
        }
    };
    if tokio::time::timeout(PATIENCE, all).await.is_err() {
        tracing::warn!("who contests floors could not be learned in time");
    }
    found
}

async fn manager(client: &Client, object: &ObjectRef) -> Option<String> {
    let api = writer::api(client, object);
    match api.get_metadata(&object.name).await {
        Ok(found) => last_writer(found.metadata.managed_fields.as_deref().unwrap_or_default()),
        Err(error) => {
            tracing::warn!(%error, %object, "who contests the floor could not be learned");
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
    use crate::controller::fake_api::{FakeApi, Mood};
    use evenkeel_kubernetes::kinds::Kind;

    fn objects() -> impl Iterator<Item = (usize, ObjectRef)> {
        let target = |number: usize| {
            ObjectRef::in_namespace(
                Kind::HorizontalPodAutoscaler,
                "shop",
                format!("web-{number}"),
            )
        };
        (0..1000).map(move |number| (number, target(number)))
    }

    #[tokio::test(start_paused = true)]
    async fn many_contests_take_no_longer_than_one() {
        let api = FakeApi::default();
        api.mood(Mood::Hangs);
        let client = api.client();
        let waited = tokio::time::timeout(PATIENCE * 2, managers(&client, objects()));
        assert_eq!(waited.await.expect("one patience for all"), []);
    }

    #[tokio::test]
    async fn every_contester_is_named_where_the_api_server_answers() {
        let api = FakeApi::default();
        for (number, _) in objects() {
            let path = format!(
                "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web-{number}"
            );
            let manager = format!("flux-{number}");
            api.set(
                &path,
                json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": format!("web-{number}"), "managedFields": [{
                    "manager": manager, "operation": "Update", "apiVersion": "autoscaling/v2",
                    "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:minReplicas": {}}}}]}}),
            );
        }
        let mut named = managers(&api.client(), objects()).await;
        named.sort_unstable();
        let expected: Vec<_> = objects()
            .map(|(number, _)| (number, format!("flux-{number}")))
            .collect();
        assert_eq!(named, expected);
    }

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
