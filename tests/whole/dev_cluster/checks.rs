//! An IntelligentHorizontalPodAutoscaler on the embedded cluster with an external check by a server
//! on this machine. The server's answer pauses a change, and lets it go on.

use evenkeel_lab::dev::cluster::DevCluster;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

use super::{await_events, eventually, of, start};
use crate::support::checker::Checker;

const SHOP: &str = "sale";

fn deployments(cluster: &DevCluster) -> Api<Deployment> {
    Api::namespaced(cluster.client.clone(), SHOP)
}

fn autoscalers(cluster: &DevCluster) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(
        "autoscaling.evenkeel.dev",
        "v1alpha1",
        "IntelligentHorizontalPodAutoscaler",
    );
    Api::namespaced_with(cluster.client.clone(), SHOP, &ApiResource::from_gvk(&kind))
}

/// A Deployment of two Pods that is to have six, in steps of two, and is asked about at `url` after each.
async fn scale_in_steps(cluster: &DevCluster, url: &str) {
    let (client, post) = (&cluster.client, PostParams::default());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = of(json!({"metadata": {"name": SHOP,
        "annotations": {"evenkeel.dev/enabled": "true"}}}));
    namespaces.create(&post, &namespace).await.unwrap();
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "web", "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]);
    let deployment = of(json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}}));
    deployments(cluster)
        .create(&post, &deployment)
        .await
        .unwrap();
    let steps = json!({"grayStrategy": {"grayState": "Online", "changeCount": 2,
        "changeIntervalSeconds": 60, "observationSeconds": 0}});
    let checker = json!({"type": "External", "stabilizationAction": "Pause",
        "external": {"name": "smoke", "url": url}});
    let provider = json!({"type": "Static", "priority": 1, "static": {"replicas": 6}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let spec = json!({"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 10,
        "portraitProviders": [provider], "behavior": {"scaleUp": steps},
        "stabilityCheckers": [checker]});
    let autoscaler: DynamicObject = of(json!({"metadata": {"name": "web"}, "spec": spec,
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
        "kind": "IntelligentHorizontalPodAutoscaler"}));
    let created = autoscalers(cluster).create(&post, &autoscaler).await;
    created.unwrap();
}

async fn replicas(cluster: &DevCluster) -> Option<i32> {
    let deployment = deployments(cluster).get("web").await.unwrap();
    deployment.spec?.replicas
}

/// Waits until the status tells that the change is paused.
async fn until_paused(cluster: &DevCluster) -> Value {
    eventually("the change is paused", async || {
        let autoscaler = autoscalers(cluster).get("web").await.unwrap();
        let stability = autoscaler.data["status"]["stability"].clone();
        (stability["holds"][0]["action"] == "Pause").then_some(stability)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_from_this_machine_pauses_a_change_and_lets_it_go_on() {
    let answer = json!({"verdict": "Fail", "message": "5 of 100 orders fail"});
    let checker = Checker::start(answer).await;
    let origin = format!("http://127.0.0.1:{}", checker.port);
    let given = json!({"scaling": {"checks": {"external": true, "allowed": [origin]}}});
    let folder = tempfile::tempdir().unwrap();
    let (cluster, _events) = start(folder.path(), |options| {
        options.scenario.workloads.clear();
        options.configuration = given.as_object().unwrap().clone();
    })
    .await;
    scale_in_steps(&cluster, &format!("{origin}/changes")).await;
    let stability = until_paused(&cluster).await;
    let told = stability["checkers"][0]["message"].as_str();
    assert!(
        told.is_some_and(|told| told.contains("5 of 100 orders fail")),
        "{stability}"
    );
    await_events(&cluster, SHOP, &["StabilityCheckFailed"]).await;
    let (claims, body) = checker.asked();
    assert_eq!(claims["aud"], json!([origin]));
    let account = "system:serviceaccount:evenkeel-system:evenkeel-checks";
    assert_eq!(claims["sub"], account);
    assert_eq!(
        (&body["namespace"], &body["check"]),
        (&json!(SHOP), &json!("smoke"))
    );
    // The next step was due after one minute.
    let end = cluster.now() + SignedDuration::from_mins(2);
    eventually("two minutes have passed", async || {
        (cluster.now() > end).then_some(())
    })
    .await;
    assert_eq!(replicas(&cluster).await, Some(4), "the change is paused");
    checker.answers(json!({"verdict": "Pass"}));
    eventually("the change goes on to its end", async || {
        (replicas(&cluster).await == Some(6)).then_some(())
    })
    .await;
    cluster.stop().await;
}
