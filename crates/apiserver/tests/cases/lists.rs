//! Lists, watches and their forms.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::client::{ask, create, get, get_as, namespace, patch, path, pod};
use crate::support::control_plane::wait::{eventually, holds};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const COLUMNS: &str = include_str!("../fixtures/columns.json");

fn map(name: &str, label: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"l": label}}})
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
        .collect()
}

pub(crate) async fn pages_agree_with_each_other(client: &Client) {
    let maps = path(&namespace(client).await, "v1/configmaps");
    let mine = "labelSelector=l%3Dpage";
    for name in ["a", "b", "c", "d", "e"] {
        create(client, &maps, &map(name, "page")).await;
    }
    let first = get(client, &format!("{maps}?limit=2")).await;
    let all = get(client, &format!("{maps}?{mine}&limit=2")).await;
    assert_eq!(names(&all), ["a", "b"]);
    assert!(
        first["metadata"]["remainingItemCount"]
            .as_u64()
            .is_some_and(|rest| rest >= 3)
    );
    // Changes between two pages are not in the second page.
    create(client, &maps, &map("bb", "page")).await;
    ask(client, "DELETE", &format!("{maps}/d"), &Value::Null).await;
    let token = all["metadata"]["continue"].as_str().expect("a token");
    let next = get(client, &format!("{maps}?{mine}&limit=9&continue={token}")).await;
    assert_eq!(names(&next), ["c", "d", "e"]);
    let [first, second] = [&all, &next].map(|page| &page["metadata"]["resourceVersion"]);
    assert_eq!(first, second);
    assert_eq!(next["metadata"].get("continue"), None);
    let (status, refused) = ask(
        client,
        "GET",
        &format!("{maps}?limit=1&continue=x"),
        &Value::Null,
    )
    .await;
    assert_eq!((status, &refused["reason"]), (400, &json!("BadRequest")));
}

pub(crate) async fn selectors_select(client: &Client) {
    let maps = path(&namespace(client).await, "v1/configmaps");
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "z")] {
        create(client, &maps, &map(name, label)).await;
    }
    for (selector, expected) in [
        ("labelSelector=l%3Dx", &["a"][..]),
        ("labelSelector=l+in+(x,y)", &["a", "b"]),
        ("labelSelector=l+notin+(x),l", &["b", "c"]),
        ("labelSelector=l,l!%3Dx,!none", &["b", "c"]),
        ("fieldSelector=metadata.name%3Db", &["b"]),
        (
            "fieldSelector=metadata.name!%3Db&labelSelector=l",
            &["a", "c"],
        ),
    ] {
        let found = get(client, &format!("{maps}?{selector}")).await;
        assert_eq!(names(&found), expected, "{selector}");
    }
    for wrong in ["labelSelector=l+in+x", "fieldSelector=spec.x%3Dy"] {
        let (status, _) = ask(client, "GET", &format!("{maps}?{wrong}"), &Value::Null).await;
        assert_eq!(status, 400, "{wrong}");
    }
}

pub(crate) async fn watches_see_objects_come_and_go(client: &Client) {
    let namespace = namespace(client).await;
    let maps = path(&namespace, "v1/configmaps");
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let from = api
        .list(&ListParams::default())
        .await
        .expect("a list")
        .metadata
        .resource_version;
    let from = from.expect("a version");
    create(client, &maps, &map("a", "x")).await;
    patch(
        client,
        &format!("{maps}/a"),
        "merge",
        &json!({"data": {"k": "v"}}),
    )
    .await;
    patch(
        client,
        &format!("{maps}/a"),
        "merge",
        &json!({"metadata": {"labels": {"l": "y"}}}),
    )
    .await;
    patch(
        client,
        &format!("{maps}/a"),
        "merge",
        &json!({"metadata": {"labels": {"l": "x"}}}),
    )
    .await;
    ask(client, "DELETE", &format!("{maps}/a"), &Value::Null).await;
    let only = WatchParams::default().labels("l=x").timeout(60);
    let events = api.watch(&only, &from).await.expect("a watch");
    let seen = events.try_filter_map(async |event| {
        Ok(match event {
            WatchEvent::Added(_) => Some("added"),
            WatchEvent::Modified(_) => Some("modified"),
            WatchEvent::Deleted(_) => Some("deleted"),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
        })
    });
    let seen: Vec<&str> = seen.take(5).try_collect().await.expect("events");
    assert_eq!(seen, ["added", "modified", "deleted", "added", "deleted"]);
}

pub(crate) async fn reflectors_follow(client: &Client) {
    follow(client, false).await;
}

/// A reflector collects all objects, from a list or from a watch alone.
pub(crate) async fn follow(client: &Client, streaming: bool) {
    let namespace = namespace(client).await;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let config = watcher::Config::default().labels("l=reflected");
    let config = if streaming {
        config.streaming_lists()
    } else {
        config.page_size(1)
    };
    let (reader, writer) = reflector::store();
    let follow = watcher(api.clone(), config)
        .reflect(writer)
        .touched_objects();
    let follow = tokio::spawn(follow.for_each(async |_| ()));
    for name in ["a", "b", "c"] {
        let new = serde_json::from_value(map(name, "reflected")).expect("a ConfigMap");
        let made = api.create(&PostParams::default(), &new).await;
        made.expect("it is made");
    }
    let deleted = api.delete("a", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    eventually("the reflector to hold what there is", async || {
        let held: BTreeSet<String> = reader.state().iter().map(|m| m.name_any()).collect();
        let expected = BTreeSet::from(["b", "c"].map(str::to_owned));
        holds(held == expected, || format!("{held:?}"))
    })
    .await;
    follow.abort();
}

pub(crate) async fn tables_have_the_columns_of_kubectl(client: &Client) {
    let namespace = namespace(client).await;
    let tables: Vec<Value> = serde_json::from_str(COLUMNS).expect("the tables are JSON");
    for expected in tables {
        let path = expected["path"].as_str().expect("a path");
        let table = get_as(client, &path.replace("NAMESPACE", &namespace), TABLE).await;
        let columns = table["columnDefinitions"].as_array().into_iter().flatten();
        let names: Value = columns.map(|column| column["name"].clone()).collect();
        assert_eq!(names, expected["columns"], "{path}");
    }
}

pub(crate) async fn rows_come_with_metadata(client: &Client) {
    const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let pods = path(&namespace(client).await, "v1/pods");
    create(client, &pods, &pod("a")).await;
    let table = get_as(client, &pods, TABLE).await;
    assert_eq!(table["kind"], "Table");
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(cells[..3], [json!("a"), json!("0/1"), json!("Pending")]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let list = get_as(client, &pods, METADATA).await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    let item = &list["items"][0];
    assert_eq!(
        (&item["metadata"]["name"], item.get("spec")),
        (&json!("a"), None)
    );
}
