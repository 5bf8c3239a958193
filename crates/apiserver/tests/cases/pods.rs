//! Pods between their creation and their end: binding, eviction, resizing.

use kube::Client;
use serde_json::{Value, json};

use crate::cases::objects::assert_has;
use crate::support::client::{ask, create, get, gone, namespace, patch, path, pod, refusal};
use crate::support::control_plane::wait::{eventually, holds};

async fn bind(client: &Client, pods: &str, name: &str) -> (u16, Value) {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "somewhere"}});
    ask(client, "POST", &format!("{pods}/{name}/binding"), &binding).await
}

async fn running(client: &Client, pods: &str, name: &str) {
    let (status, answer) = bind(client, pods, name).await;
    assert_eq!(status, 201, "{answer}");
    eventually("the Pod to run", async || {
        let pod = get(client, &format!("{pods}/{name}")).await;
        let runs = pod["status"]["phase"] == "Running";
        holds(runs, || pod["status"].to_string())
    })
    .await;
}

pub(crate) async fn are_bound_once(client: &Client) {
    let pods = path(&namespace(client).await, "v1/pods");
    create(client, &pods, &pod("a")).await;
    let (status, answer) = bind(client, &pods, "a").await;
    assert_eq!((status, &answer["status"]), (201, &json!("Success")));
    let bound = get(client, &format!("{pods}/a")).await;
    assert_eq!(bound["spec"]["nodeName"], "somewhere");
    let conditions = bound["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let scheduled = conditions
        .iter()
        .find(|c| c["type"] == "PodScheduled")
        .expect("scheduled");
    assert_has(scheduled, &json!({"status": "True"}));
    let (status, reason, message) = refusal(bind(client, &pods, "a").await);
    assert_eq!((status, reason.as_str()), (409, "Conflict"));
    assert!(
        message.contains("pod a is already assigned to node \"somewhere\""),
        "{message}"
    );
    assert_eq!(bind(client, &pods, "none").await.0, 404);
    let mut gated = pod("gated");
    gated["spec"]["schedulingGates"] = json!([{"name": "test.dev/gate"}]);
    create(client, &pods, &gated).await;
    assert_eq!(bind(client, &pods, "gated").await.0, 409);
    let on_node = format!("{pods}?fieldSelector=spec.nodeName%3Dsomewhere");
    assert_eq!(
        get(client, &on_node).await["items"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    ask(client, "DELETE", &format!("{pods}/gated"), &Value::Null).await;
    gone(client, &format!("{pods}/gated")).await;
}

pub(crate) async fn are_evicted_within_budgets(client: &Client) {
    let namespace = namespace(client).await;
    let pods = path(&namespace, "v1/pods");
    create(client, &pods, &pod("a")).await;
    running(client, &pods, "a").await;
    let budgets = path(&namespace, "policy/v1/poddisruptionbudgets");
    let budget = json!({"metadata": {"name": "a"}, "spec": {"minAvailable": 1,
        "selector": {"matchLabels": {"app": "a"}}}});
    create(client, &budgets, &budget).await;
    let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 0,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
    patch(client, &format!("{budgets}/a/status"), "merge", &status).await;
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    let evict = format!("{pods}/a/eviction");
    let (status, reason, message) = refusal(ask(client, "POST", &evict, &eviction).await);
    assert_eq!((status, reason.as_str()), (429, "TooManyRequests"));
    assert_eq!(
        message,
        "Cannot evict pod as it would violate the pod's disruption budget."
    );
    let answer = ask(client, "DELETE", &format!("{budgets}/a"), &Value::Null).await;
    assert_eq!(answer.0, 200);
    let (status, answer) = ask(client, "POST", &evict, &eviction).await;
    assert_eq!((status, &answer["status"]), (201, &json!("Success")));
    gone(client, &format!("{pods}/a")).await;
}

pub(crate) async fn are_resized(client: &Client) {
    // A resize needs the node of the Pod; another test may have created it.
    let amounts = json!({"cpu": "1", "memory": "1Gi"});
    let node = json!({"metadata": {"name": "somewhere"},
        "status": {"capacity": amounts, "allocatable": amounts}});
    ask(client, "POST", "/api/v1/nodes", &node).await;
    let pods = path(&namespace(client).await, "v1/pods");
    let mut given = pod("a");
    given["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "100m"}});
    create(client, &pods, &given).await;
    running(client, &pods, "a").await;
    let cpu = |cpu: &str| {
        json!({"spec": {"containers": [
        {"name": "app", "resources": {"requests": {"cpu": cpu}}}]}})
    };
    let resize = format!("{pods}/a/resize");
    eventually("the kubelet to show resources", async || {
        let pod = get(client, &format!("{pods}/a")).await;
        let shown = pod["status"]["containerStatuses"][0]["resources"].is_object();
        holds(shown, || pod["status"].to_string())
    })
    .await;
    let (status, resized) = patch(client, &resize, "strategic-merge", &cpu("200m")).await;
    assert_eq!(status, 200, "{resized}");
    let requests = &resized["spec"]["containers"][0]["resources"]["requests"];
    assert_eq!(requests, &json!({"cpu": "200m"}));
    let (status, _) = patch(
        client,
        &format!("{pods}/a"),
        "strategic-merge",
        &cpu("300m"),
    )
    .await;
    assert_eq!(status, 422, "only through the subresource");
    let whole = json!({"spec": {"containers": [{"name": "app", "resources": {
        "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}}]}});
    let (status, refused) = patch(client, &resize, "strategic-merge", &whole).await;
    assert_eq!(status, 422, "{refused}");
    let image =
        json!({"spec": {"containers": [{"name": "app", "image": "registry.example/app:2"}]}});
    let (_, unchanged) = patch(client, &resize, "strategic-merge", &image).await;
    let image = unchanged["spec"]["containers"][0]["image"].as_str();
    assert_ne!(image, Some("registry.example/app:2"));
}
