//! The service of `dev` runs by the configuration that it is given, and follows its ConfigMap.

use evenkeel_lab::dev::cluster::DevCluster;
use evenkeel_service::metrics::exposition::Exposition;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{await_events, eventually, start};
use crate::support::control_plane::page;

const NAMESPACE: &str = "evenkeel-system";

/// Waits until the service shows these two figures.
async fn shows(cluster: &DevCluster, writes_enabled: bool, refused: bool) {
    let url = format!("http://{}/metrics", cluster.metrics_address());
    let what = format!("writes enabled {writes_enabled}, configuration refused {refused}");
    eventually(what, async || {
        let page = Exposition::parse(&page::text(&url).await.ok()?);
        let shown = |name| page.sum(name, &[]);
        let found = [
            shown("evenkeel_writes_enabled")?,
            shown("evenkeel_configuration_refused")?,
        ];
        (found.map(|shown| shown > 0.0) == [writes_enabled, refused]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_takes_its_fields_and_follows_its_config_map() {
    let folder = tempfile::tempdir().unwrap();
    let given = json!({"writes": "disabled", "scheduling": {"headroom": 0.7}});
    let (cluster, _events) = start(folder.path(), |options| {
        options.scenario.workloads.clear();
        options.configuration = given.as_object().unwrap().clone();
    })
    .await;
    shows(&cluster, false, false).await;

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let map = maps.get("evenkeel").await.unwrap();
    let written = map.data.unwrap()["config.yaml"].clone();
    let mut file: Value = serde_saphyr::from_str(&written).unwrap();
    assert_eq!(file["scheduling"]["headroom"], 0.7);
    let put = async |file: &Value| {
        let text = serde_saphyr::to_string(file).unwrap();
        let patch = Patch::Merge(json!({"data": {"config.yaml": text}}));
        let params = PatchParams::default();
        maps.patch("evenkeel", &params, &patch).await.unwrap();
    };
    file["writes"] = json!("enabled");
    put(&file).await;
    shows(&cluster, true, false).await;

    // A refused file changes nothing, and is reported once writes are allowed.
    file["scheduling"]["headroom"] = json!(7);
    put(&file).await;
    shows(&cluster, true, true).await;
    await_events(&cluster, NAMESPACE, &["ConfigurationRefused"]).await;
    // The kill switch is obeyed all the same.
    file["writes"] = json!("disabled");
    put(&file).await;
    shows(&cluster, false, true).await;
    // Without its file the configuration in force stays, as with a ConfigMap that is gone.
    let patch = Patch::Merge(json!({"data": {"config.yaml": null}}));
    let params = PatchParams::default();
    maps.patch("evenkeel", &params, &patch).await.unwrap();
    shows(&cluster, false, true).await;
    maps.delete("evenkeel", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    shows(&cluster, false, true).await;
    cluster.stop().await;
}
