//! The four kinds of patch, versions, and managers of fields.

use kube::Client;
use serde_json::{Value, json};

use crate::support::client::{ask, create, deployment, get, namespace, patch, path, refusal};

async fn paused(client: &Client) -> String {
    let collection = path(&namespace(client).await, "apps/v1/deployments");
    let mut given = deployment("web");
    given["spec"]["paused"] = true.into();
    create(client, &collection, &given).await;
    format!("{collection}/web")
}

async fn patched(client: &Client, path: &str, kind: &str, body: &Value) -> Value {
    let (status, object) = patch(client, path, kind, body).await;
    assert_eq!(status, 200, "{kind} {body}: {object}");
    object
}

pub(crate) async fn every_kind_of_patch_does_its_work(client: &Client) {
    let web = paused(client).await;
    let add = json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "1"}}]);
    let object = patched(client, &web, "json", &add).await;
    assert_eq!(object["metadata"]["annotations"]["a"], "1");
    let merge =
        json!({"metadata": {"annotations": {"a": null, "b": "2"}}, "spec": {"replicas": 0}});
    let object = patched(client, &web, "merge", &merge).await;
    assert_eq!(object["metadata"]["annotations"], json!({"b": "2"}));
    let missing = json!([{"op": "remove", "path": "/spec/none"}]);
    assert_eq!(patch(client, &web, "json", &missing).await.0, 422);
    let failing = json!([{"op": "test", "path": "/spec/replicas", "value": 9}]);
    assert_eq!(patch(client, &web, "json", &failing).await.0, 422);
    assert_eq!(patch(client, &web, "strange", &merge).await.0, 415);
    for (path, status) in [
        ("/metadata/annotations/none", 200),
        ("/metadata/annotations/b", 422),
        ("/spec/none", 200),
        ("/spec/none/none", 422),
    ] {
        let absent = json!([{"op": "test", "path": path, "value": null}]);
        let (answered, answer) = patch(client, &web, "json", &absent).await;
        assert_eq!(answered, status, "{path}: {answer}");
        // A patch that does not apply names no field, unlike an invalid object.
        let named = answer["details"].get("causes");
        assert!(status == 200 || named.is_none(), "{path}: {answer}");
    }
    let (status, _) = patch(client, &web.replace("/web", "/none"), "merge", &merge).await;
    assert_eq!(status, 404);
}

pub(crate) async fn strategic_patches_know_the_keys(client: &Client) {
    let web = paused(client).await;
    let container = |change: Value| json!({"spec": {"template": {"spec": {"containers": change}}}});
    let change = json!([{"name": "app", "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80}]}, {"name": "side", "image": "registry.example/side:1"}]);
    let object = patched(client, &web, "strategic-merge", &container(change)).await;
    let containers = &object["spec"]["template"]["spec"]["containers"];
    let names: Vec<&Value> = containers
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(names.len(), 2, "{containers}");
    let app = |object: &Value| {
        let containers = object["spec"]["template"]["spec"]["containers"]
            .as_array()
            .cloned();
        containers
            .into_iter()
            .flatten()
            .find(|c| c["name"] == "app")
            .expect("the app")
    };
    assert_eq!(app(&object)["image"], "registry.example/app:1");
    let change = json!([{"name": "app", "env": [{"name": "B", "value": "2"}]},
        {"name": "side", "$patch": "delete"}]);
    let object = patched(client, &web, "strategic-merge", &container(change)).await;
    let mut variables: Vec<Value> = app(&object)["env"].as_array().cloned().expect("variables");
    variables.sort_by_key(|variable| variable["name"].to_string());
    assert_eq!(
        variables,
        [
            json!({"name": "A", "value": "1"}),
            json!({"name": "B", "value": "2"})
        ]
    );
    let containers = object["spec"]["template"]["spec"]["containers"]
        .as_array()
        .map(Vec::len);
    assert_eq!(containers, Some(1));
    let strategy = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    let object = patched(client, &web, "strategic-merge", &strategy).await;
    assert_eq!(object["spec"]["strategy"], json!({"type": "Recreate"}));
}

pub(crate) async fn versions_are_respected(client: &Client) {
    // No controller writes to ConfigMaps meanwhile.
    let maps = path(&namespace(client).await, "v1/configmaps");
    create(client, &maps, &json!({"metadata": {"name": "m"}})).await;
    let map = format!("{maps}/m");
    let mut old = get(client, &map).await;
    patched(client, &map, "merge", &json!({"data": {"x": "1"}})).await;
    old["data"] = json!({"x": "2"});
    let (status, reason, message) = refusal(ask(client, "PUT", &map, &old).await);
    assert_eq!((status, reason.as_str()), (409, "Conflict"));
    assert_eq!(
        message,
        "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let version = old["metadata"]["resourceVersion"].clone();
    let pinned = json!({"metadata": {"resourceVersion": version}, "data": {"x": "3"}});
    assert_eq!(patch(client, &map, "merge", &pinned).await.0, 409);
    let metadata = old["metadata"].as_object_mut().expect("metadata");
    metadata.remove("resourceVersion");
    let (status, new) = ask(client, "PUT", &map, &old).await;
    assert_eq!((status, &new["data"]["x"]), (200, &json!("2")));
    let (_, same) = ask(client, "PUT", &map, &new).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&same), version(&new), "nothing changed");
    old["metadata"]["uid"] = "other".into();
    assert_eq!(ask(client, "PUT", &map, &old).await.0, 409);
}

pub(crate) async fn managers_own_what_they_apply(client: &Client) {
    let maps = path(&namespace(client).await, "v1/configmaps");
    let wish = |data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "m"}, "data": data})
    };
    let one = |manager: &str| format!("{maps}/m?fieldManager={manager}");
    let (status, made) = patch(
        client,
        &one("a"),
        "apply",
        &wish(json!({"x": "1", "y": "1"})),
    )
    .await;
    assert_eq!(status, 201, "{made}");
    let (status, reason, message) =
        refusal(patch(client, &one("b"), "apply", &wish(json!({"x": "2"}))).await);
    assert_eq!((status, reason.as_str()), (409, "Conflict"));
    assert_eq!(
        message,
        "Apply failed with 1 conflict: conflict with \"a\": .data.x"
    );
    let forced = format!("{}&force=true", one("b"));
    let object = patched(client, &forced, "apply", &wish(json!({"x": "2"}))).await;
    assert_eq!(object["data"], json!({"x": "2", "y": "1"}));
    let object = patched(client, &one("a"), "apply", &wish(json!({}))).await;
    assert_eq!(
        object["data"],
        json!({"x": "2"}),
        "y had one manager, x has another"
    );
    let (status, _) = patch(client, &format!("{maps}/m"), "apply", &wish(json!({}))).await;
    assert!(
        (400..=422).contains(&status),
        "a manager is needed: {status}"
    );
}

/// Fields by manager, without the marks of the maps and lists around them.
fn owned(object: &Value) -> std::collections::BTreeMap<String, Vec<String>> {
    let entries = object["metadata"]["managedFields"].as_array();
    let entries = entries.into_iter().flatten().map(|entry| {
        let word = |field: &str| entry[field].as_str().unwrap_or_default();
        let who = [word("manager"), word("operation"), word("subresource")].join(" ");
        let mut fields = Vec::new();
        leaves(&entry["fieldsV1"], "", &mut fields);
        (who.trim_end().to_owned(), fields)
    });
    entries.collect()
}

fn leaves(node: &Value, path: &str, found: &mut Vec<String>) {
    let children = node.as_object().expect("a set of fields");
    let children: Vec<_> = children.iter().filter(|(step, _)| *step != ".").collect();
    if children.is_empty() {
        found.push(path.to_owned());
    }
    for (step, child) in children {
        let step = step.strip_prefix("f:").unwrap_or(step);
        leaves(child, &format!("{path}.{step}"), found);
    }
}

fn as_manager(path: &str, manager: &str) -> String {
    format!("{path}?fieldManager={manager}")
}

pub(crate) async fn every_write_has_its_manager(client: &Client) {
    let hpas = path(
        &namespace(client).await,
        "autoscaling/v2/horizontalpodautoscalers",
    );
    let given = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {
        "minReplicas": 2, "maxReplicas": 9,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
    let made = create(client, &as_manager(&hpas, "maker"), &given).await;
    let target = ["apiVersion", "kind", "name"].map(|name| format!(".spec.scaleTargetRef.{name}"));
    let and_target = |fields: &[&str]| -> Vec<String> {
        let fields = fields.iter().map(|&field| field.to_owned());
        fields.chain(target.clone()).collect()
    };
    let label = ".metadata.labels.app";
    let spec = [
        label,
        ".spec.maxReplicas",
        ".spec.metrics",
        ".spec.minReplicas",
    ];
    assert_eq!(owned(&made)["maker Update"], and_target(&spec));

    let web = format!("{hpas}/web");
    let raised = json!({"spec": {"minReplicas": 3}});
    patched(client, &as_manager(&web, "patcher"), "merge", &raised).await;
    let status = json!({"status": {"desiredReplicas": 3}});
    let at = as_manager(&format!("{web}/status"), "judge");
    let mut live = patched(client, &at, "merge", &status).await;
    live["spec"]["maxReplicas"] = 20.into();
    let (status, live) = ask(client, "PUT", &as_manager(&web, "replacer"), &live).await;
    assert_eq!(status, 200, "{live}");
    let wish = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": {"minReplicas": 4}});
    let (status, refused) = patch(client, &as_manager(&web, "applier"), "apply", &wish).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert_eq!(status, 409, "{refused}");
    let words = "conflict with \"patcher\" using autoscaling/v2";
    assert!(message.contains(words), "{message}");
    let forced = format!("{}&force=true", as_manager(&web, "applier"));
    let live = patched(client, &forced, "apply", &wish).await;
    let owned = owned(&live);
    assert_eq!(owned["applier Apply"], [".spec.minReplicas"]);
    assert_eq!(owned["replacer Update"], [".spec.maxReplicas"]);
    assert_eq!(owned["judge Update status"], [".status.desiredReplicas"]);
    assert_eq!(owned["maker Update"], and_target(&[label, ".spec.metrics"]));
    assert!(!owned.contains_key("patcher Update"), "{owned:?}");
}

pub(crate) async fn scaling_has_its_manager(client: &Client) {
    let web = paused(client).await;
    let three = json!({"spec": {"replicas": 0}});
    let scale = format!("{web}/scale");
    patched(client, &as_manager(&scale, "idle"), "merge", &three).await;
    let live = get(client, &web).await;
    assert!(
        !owned(&live).keys().any(|who| who.starts_with("idle")),
        "nothing changed"
    );
    let three = json!({"spec": {"replicas": 3}});
    patched(client, &as_manager(&scale, "scaler"), "merge", &three).await;
    let live = get(client, &web).await;
    // A real server may leave the field without an owner; its former owner must not keep it.
    let replicas = ".spec.replicas".to_owned();
    for (who, fields) in owned(&live) {
        let scaler = who == "scaler Update scale";
        assert!(scaler || !fields.contains(&replicas), "{who}: {fields:?}");
    }
}
