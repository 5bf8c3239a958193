//! Deletion: finalizers, owners, collections, namespaces.

use kube::Client;
use serde_json::{Value, json};

use crate::support::client::{ask, create, get, gone, namespace, patch, path};
use crate::support::control_plane::wait::{eventually, holds};

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"l": "x"}}})
}

async fn delete(client: &Client, path: &str, options: Value) -> (u16, Value) {
    ask(client, "DELETE", path, &options).await
}

pub(crate) async fn finalizers_hold(client: &Client) {
    let maps = path(&namespace(client).await, "v1/configmaps");
    let mut held = map("a");
    held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
    create(client, &maps, &held).await;
    let one = format!("{maps}/a");
    assert_eq!(delete(client, &one, json!({})).await.0, 200);
    let waiting = get(client, &one).await;
    assert!(waiting["metadata"]["deletionTimestamp"].is_string());
    let more = json!({"metadata": {"finalizers": ["test.dev/hold", "test.dev/more"]}});
    assert_eq!(patch(client, &one, "merge", &more).await.0, 422);
    let none = json!({"metadata": {"finalizers": null}});
    assert_eq!(patch(client, &one, "merge", &none).await.0, 200);
    assert_eq!(ask(client, "GET", &one, &Value::Null).await.0, 404);
    create(client, &maps, &map("a")).await;
    let wrong = json!({"preconditions": {"uid": "other"}});
    assert_eq!(delete(client, &one, wrong).await.0, 409);
}

/// An owner and an object that it owns.
async fn family(client: &Client) -> (String, String) {
    let namespace = namespace(client).await;
    let maps = path(&namespace, "v1/configmaps");
    let owner = create(client, &maps, &map("owner")).await;
    let mut dependent = map("owned");
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "name": "owner", "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true}]);
    create(client, &maps, &dependent).await;
    (format!("{maps}/owner"), format!("{maps}/owned"))
}

pub(crate) async fn dependents_follow_their_owner(client: &Client) {
    for policy in ["Background", "Foreground"] {
        let (owner, dependent) = family(client).await;
        let options = json!({"propagationPolicy": policy});
        assert_eq!(delete(client, &owner, options).await.0, 200);
        gone(client, &dependent).await;
        gone(client, &owner).await;
    }
}

pub(crate) async fn orphans_stay(client: &Client) {
    let (owner, dependent) = family(client).await;
    delete(client, &owner, json!({"propagationPolicy": "Orphan"})).await;
    gone(client, &owner).await;
    let orphan = get(client, &dependent).await;
    assert_eq!(orphan["metadata"].get("ownerReferences"), None);
}

pub(crate) async fn collections_are_deleted_by_label(client: &Client) {
    let maps = path(&namespace(client).await, "v1/configmaps");
    for name in ["a", "b"] {
        create(client, &maps, &map(name)).await;
    }
    let other = json!({"metadata": {"name": "c"}});
    create(client, &maps, &other).await;
    let (status, _) = delete(client, &format!("{maps}?labelSelector=l%3Dx"), json!({})).await;
    assert_eq!(status, 200);
    gone(client, &format!("{maps}/a")).await;
    gone(client, &format!("{maps}/b")).await;
    get(client, &format!("{maps}/c")).await;
}

pub(crate) async fn namespaces_take_everything_along(client: &Client) {
    let name = namespace(client).await;
    let maps = path(&name, "v1/configmaps");
    let mut held = map("a");
    held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
    create(client, &maps, &held).await;
    let one = format!("/api/v1/namespaces/{name}");
    assert_eq!(delete(client, &one, json!({})).await.0, 200);
    eventually("the namespace to be on its way", async || {
        let (status, refused) = ask(client, "POST", &maps, &map("b")).await;
        let said = refused["message"].as_str().unwrap_or_default().to_owned();
        holds(
            status == 403 && said.contains("because it is being terminated"),
            || said,
        )
    })
    .await;
    assert_eq!(get(client, &one).await["status"]["phase"], "Terminating");
    eventually("what is in it to be deleted", async || {
        let inside = get(client, &format!("{maps}/a")).await;
        let going = inside["metadata"]["deletionTimestamp"].is_string();
        holds(going, || inside.to_string())
    })
    .await;
    patch(
        client,
        &format!("{maps}/a"),
        "merge",
        &json!({"metadata": {"finalizers": null}}),
    )
    .await;
    gone(client, &one).await;
}
