//! A test of a controller that gets only a client: `cargo run --example controller`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{ApiServer, Settings};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher::Config;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

/// Notes in every ConfigMap how many keys it has.
async fn controller(client: Client) {
    let reconcile = async |map: Arc<ConfigMap>, client: Arc<Client>| {
        let keys = map.data.iter().flatten().count().to_string();
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"annotations": {"example.dev/keys": keys}}});
        let namespace = map.namespace().unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(Client::clone(&client), &namespace);
        let applier = PatchParams::apply("key-counter");
        maps.patch(&map.name_any(), &applier, &Patch::Apply(wanted))
            .await?;
        Ok::<_, kube::Error>(Action::await_change())
    };
    Controller::new(Api::<ConfigMap>::all(client.clone()), Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(client),
        )
        .for_each(async |_| ())
        .await;
}

pub(crate) async fn test() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::start(Settings::default()).await?;
    let client = Client::try_from(kube::Config::new(server.url().parse()?))?;
    let controller = tokio::spawn(controller(client.clone()));

    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let map = serde_json::from_value(json!({"metadata": {"name": "colours"},
        "data": {"sky": "blue", "grass": "green"}}))?;
    maps.create(&PostParams::default(), &map).await?;

    let is_counted = |map: Option<&ConfigMap>| {
        let keys = map.and_then(|map| map.annotations().get("example.dev/keys"));
        keys.is_some_and(|keys| keys == "2")
    };
    let counted = await_condition(maps, "colours", is_counted);
    tokio::time::timeout(Duration::from_mins(1), counted).await??;

    controller.abort();
    server.stop().await;
    Ok(())
}

#[allow(dead_code)] // the tests of this crate run the example as a module
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    test().await
}
