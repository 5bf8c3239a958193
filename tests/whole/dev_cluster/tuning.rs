//! A workload that is scaled and tuned at once, and one that has its requests tuned too, until that is off.

use evenkeel_quantity::Quantity;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_units::Ratio;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{await_events, eventually, start};

const NAMESPACE: &str = "shop";
const SCENARIO: &str = include_str!("../../../examples/scenarios/tuning.yaml");

/// The Pods of a workload that run.
async fn pods(client: &Client, app: &str) -> Vec<Value> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let list = pods.list(&ListParams::default()).await.unwrap();
    let all = list.items.iter().map(|pod| json!(pod));
    let is_own = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        name.rsplitn(3, '-').last() == Some(app) && pod["status"]["phase"] == "Running"
    };
    all.filter(is_own).collect()
}

fn resources(pod: &Value) -> &Value {
    &pod["spec"]["containers"][0]["resources"]
}

/// The cpu limit in millicores.
fn limit(pod: &Value) -> u64 {
    let text = resources(pod)["limits"]["cpu"].as_str().unwrap_or("0");
    text.parse::<Quantity>().unwrap().milli_ceil()
}

fn is_marked(pod: &Value) -> bool {
    pod["metadata"]["annotations"]["evenkeel.dev/resized"].is_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_follow_use_requests_that_an_hpa_counts_by_stay_and_all_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let shop = include_str!("../../../examples/traces/shop.csv");
    let traces = |_: &std::path::Path| Ok(shop.to_owned());
    let scenario = Scenario::read(SCENARIO, &traces).unwrap();
    let (cluster, _events) = start(folder.path(), |options| {
        options.scenario = scenario;
        options.speed = Ratio::new(60.0).unwrap();
    })
    .await;
    let client = cluster.client.clone();
    let resized = |pod: &Value, before: u64| is_marked(pod) && limit(pod) != before;
    eventually("a Pod of each is resized".to_owned(), async || {
        let (web, worker) = (pods(&client, "web").await, pods(&client, "worker").await);
        let web = web.iter().any(|pod| resized(pod, 2000));
        let worker = worker.iter().any(|pod| resized(pod, 1000));
        (web && worker).then_some(())
    })
    .await;
    await_events(&cluster, NAMESPACE, &["Resized"]).await;
    for pod in pods(&client, "web").await {
        assert_eq!(resources(&pod)["requests"]["cpu"], "500m", "{pod}");
    }
    for pod in pods(&client, "worker").await {
        for resource in ["cpu", "memory"] {
            let [requested, limit] =
                ["requests", "limits"].map(|part| &resources(&pod)[part][resource]);
            assert_eq!(requested, limit, "{pod}");
        }
        assert_eq!(pod["status"]["qosClass"], "Guaranteed");
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    eventually("the status says why".to_owned(), async || {
        let worker = json!(deployments.get("worker").await.unwrap());
        let status = worker["metadata"]["annotations"]["evenkeel.dev/tuning-status"].as_str()?;
        let status: Value = serde_json::from_str(status).unwrap();
        status["containers"]["main"]["reasons"]["cpu"]
            .is_string()
            .then_some(())
    })
    .await;
    let off = Patch::Merge(json!({"metadata": {"annotations": {"evenkeel.dev/tuning": "off"}}}));
    let params = PatchParams::default();
    deployments.patch("worker", &params, &off).await.unwrap();
    eventually("it is put back".to_owned(), async || {
        let worker = pods(&client, "worker").await;
        let is_back = |pod: &Value| limit(pod) == 1000 && !is_marked(pod);
        (!worker.is_empty() && worker.iter().all(is_back)).then_some(())
    })
    .await;
    let worker = json!(deployments.get("worker").await.unwrap());
    assert!(worker["metadata"]["annotations"]["evenkeel.dev/tuning"] == "off");
    cluster.stop().await;
}
