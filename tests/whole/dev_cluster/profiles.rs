//! A ReplicaProfile on the embedded cluster: Pods leave the endpoints of their Service and come back, a sale is
//! served by them, and what goes has been out of traffic before.

use std::collections::BTreeSet;

use evenkeel_lab::dev::cluster::DevCluster;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{eventually, of, start};

const SHOP: &str = "sale";

fn profiles(cluster: &DevCluster) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("autoscaling.evenkeel.dev", "v1alpha1", "ReplicaProfile");
    Api::namespaced_with(cluster.client.clone(), SHOP, &ApiResource::from_gvk(&kind))
}

fn pods(cluster: &DevCluster) -> Api<Pod> {
    Api::namespaced(cluster.client.clone(), SHOP)
}

async fn names(cluster: &DevCluster) -> BTreeSet<String> {
    let list = pods(cluster).list(&ListParams::default()).await.unwrap();
    list.iter().map(ResourceExt::name_any).collect()
}

/// The Pods that the Service leads to.
async fn serving(cluster: &DevCluster) -> BTreeSet<String> {
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client.clone(), SHOP);
    let slice = slices.get_opt("web-pods").await.unwrap();
    let endpoints = slice.map(|slice| slice.endpoints).unwrap_or_default();
    let ready = endpoints.into_iter().filter(|one| {
        let conditions = one.conditions.as_ref();
        conditions.is_some_and(|conditions| conditions.ready == Some(true))
    });
    ready.filter_map(|one| one.target_ref?.name).collect()
}

async fn until_serving(cluster: &DevCluster, count: usize) -> BTreeSet<String> {
    eventually(("Pods that serve", count), async || {
        let found = serving(cluster).await;
        (found.len() == count).then_some(found)
    })
    .await
}

async fn want(cluster: &DevCluster, online: u32, cutoff: u32) {
    let spec = json!({"spec": {"onlineReplicas": online, "cutoffReplicas": cutoff}});
    let patch = Patch::Merge(spec);
    let patched = profiles(cluster)
        .patch("web", &PatchParams::default(), &patch)
        .await;
    patched.unwrap();
}

async fn until_ensured(cluster: &DevCluster) -> Value {
    eventually("the Pods are as wanted", async || {
        let profile = profiles(cluster).get("web").await.unwrap();
        let (status, generation) = (profile.data["status"].clone(), profile.metadata.generation);
        let conditions = status["conditions"].as_array()?;
        let ensured = conditions.iter().find(|one| one["type"] == "Ensured")?;
        let is_current = status["observedGeneration"].as_i64() == generation;
        (ensured["status"] == "True" && is_current).then_some(status)
    })
    .await
}

/// A Deployment behind a Service, with Pods that can be taken out of traffic.
async fn install(cluster: &DevCluster) {
    let (client, post) = (&cluster.client, PostParams::default());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = of(json!({"metadata": {"name": SHOP,
        "annotations": {"evenkeel.dev/enabled": "true"}}}));
    namespaces.create(&post, &namespace).await.unwrap();
    let profile: DynamicObject = of(json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "ReplicaProfile",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "onlineReplicas": 4,
            "behavior": {"drainSeconds": 10}}}));
    profiles(cluster).create(&post, &profile).await.unwrap();
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "web", "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]);
    let deployment = of(json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 4, "selector": {"matchLabels": labels},
        "strategy": {"rollingUpdate": {"maxUnavailable": "50%"}},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}}));
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SHOP);
    deployments.create(&post, &deployment).await.unwrap();
    let service = of(json!({"metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"name": "web", "port": 80}]}}));
    let services: Api<Service> = Api::namespaced(client.clone(), SHOP);
    services.create(&post, &service).await.unwrap();
}

/// Pods made before any replica could open their gates have none, and are made anew.
async fn until_gated(cluster: &DevCluster) {
    eventually("four Pods with the gate", async || {
        let list = pods(cluster).list(&ListParams::default()).await.unwrap();
        let is_gated = |pod: &&Pod| {
            let gates = pod
                .spec
                .as_ref()
                .and_then(|spec| spec.readiness_gates.as_ref());
            gates.is_some_and(|gates| {
                gates
                    .iter()
                    .any(|one| one.condition_type == "evenkeel.dev/online")
            })
        };
        for pod in list.iter().filter(|pod| !is_gated(pod)) {
            let _ = pods(cluster)
                .delete(&pod.name_any(), &DeleteParams::default())
                .await;
        }
        let gated = list.iter().filter(is_gated).count();
        (gated == 4 && list.items.len() == 4).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_is_served_by_cut_off_pods_before_new_ones_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, _events) = start(folder.path(), |options| {
        options.scenario.workloads.clear();
    })
    .await;
    install(&cluster).await;
    until_gated(&cluster).await;
    until_serving(&cluster, 4).await;
    // Half of them leave the Service, and nothing is made or deleted for it.
    let before = names(&cluster).await;
    want(&cluster, 2, 2).await;
    until_serving(&cluster, 2).await;
    let status = until_ensured(&cluster).await;
    assert_eq!(
        (&status["readyReplicas"], &status["cutoffReplicas"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(names(&cluster).await, before);
    // The sale begins: first on those that are there, then on new ones.
    want(&cluster, 4, 0).await;
    let found = until_serving(&cluster, 4).await;
    assert_eq!(found, before, "the same Pods serve again");
    want(&cluster, 6, 0).await;
    let found = until_serving(&cluster, 6).await;
    assert!(found.is_superset(&before));
    // It is over: what goes has been out of traffic before.
    want(&cluster, 3, 0).await;
    let mut out = BTreeSet::new();
    eventually("three Pods are left", async || {
        let list = pods(&cluster).list(&ListParams::default()).await.unwrap();
        let off = list
            .iter()
            .filter(|pod| pod.labels().contains_key("evenkeel.dev/pod-state"));
        out.extend(off.map(ResourceExt::name_any));
        (list.items.len() == 3).then_some(())
    })
    .await;
    let left = names(&cluster).await;
    let gone: BTreeSet<String> = found.difference(&left).cloned().collect();
    assert!(
        gone.is_subset(&out),
        "{gone:?} went, {out:?} were out of traffic"
    );
    // Without the profile every Pod takes traffic.
    want(&cluster, 2, 1).await;
    until_serving(&cluster, 2).await;
    until_ensured(&cluster).await;
    profiles(&cluster)
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    let found = until_serving(&cluster, 3).await;
    assert_eq!(found, left);
    cluster.stop().await;
}
