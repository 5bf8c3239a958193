//! Asks the API server for the other writers of contested bounds.

use std::time::Duration;

use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_scaling::bounds_record::contest_inquiry::last_writer;
use futures::{StreamExt as _, stream};
use kube::Client;

use crate::controller::writer;

/// The next tick waits this long for the names of other writers, whatever the number of undone
/// floors; missing names stay unknown.
const PATIENCE: Duration = Duration::from_secs(3);

/// The number of requests at a time.
const AT_ONCE: usize = 16;

/// The other field managers that last wrote the objects' least replicas, as far as the API server
/// answers in time.
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
        tracing::warn!("the controller that contests floors could not be found in time");
    }
    found
}

async fn manager(client: &Client, object: &ObjectRef) -> Option<String> {
    let api = writer::api(client, object);
    match api.get_metadata(&object.name).await {
        Ok(found) => {
            let entries = found.metadata.managed_fields.unwrap_or_default();
            last_writer(&entries, MANAGER)
        }
        Err(error) => {
            tracing::warn!(%error, %object, "the controller that contests the floor could not be found");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, FakeApiBehavior};

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
        api.mood(FakeApiBehavior::Hangs);
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
}
