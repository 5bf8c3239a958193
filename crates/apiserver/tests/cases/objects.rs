//! Objects as the server stores them: defaults, names, generations, status, scale.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kube::Client;
use serde_json::{Value, json};

use crate::support::client::{ask, create, deployment, get, namespace, patch, path, pod};

/// Everything in `expected` must be in `object`.
pub(crate) fn assert_has(object: &Value, expected: &Value) {
    fn has(object: &Value, expected: &Value) -> bool {
        match (object, expected) {
            (Value::Object(object), Value::Object(expected)) => expected
                .iter()
                .all(|(key, value)| object.get(key).is_some_and(|found| has(found, value))),
            (object, expected) => object == expected,
        }
    }
    assert!(has(object, expected), "{expected:#} is not in {object:#}");
}

pub(crate) async fn pods_are_completed(client: &Client) {
    let namespace = namespace(client).await;
    let mut given = pod("a");
    given["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": 1.5, "memory": "0.5Gi"}});
    let made = create(client, &path(&namespace, "v1/pods"), &given).await;
    let resources = json!({"cpu": "1500m", "memory": "512Mi"});
    assert_has(
        &made["spec"],
        &json!({"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "priority": 0,
            "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
            "serviceAccountName": "default", "serviceAccount": "default", "securityContext": {},
            "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority"}),
    );
    let container = &made["spec"]["containers"][0];
    assert_has(
        container,
        &json!({"imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File",
            "resources": {"limits": resources, "requests": resources}}),
    );
    let tolerations = made["spec"]["tolerations"].as_array().expect("tolerations");
    assert_eq!(tolerations.len(), 2);
    assert_has(
        &tolerations[0],
        &json!({"effect": "NoExecute", "tolerationSeconds": 300}),
    );
    assert_has(
        &made["status"],
        &json!({"phase": "Pending", "qosClass": "Guaranteed"}),
    );
}

pub(crate) async fn workloads_are_completed(client: &Client) {
    let namespace = namespace(client).await;
    let mut given = deployment("web");
    // A Pod of it would come back whenever the next test clears the cluster.
    given["spec"]["paused"] = true.into();
    given["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("replicas");
    let made = create(client, &path(&namespace, "apps/v1/deployments"), &given).await;
    assert_has(
        &made["spec"],
        &json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}}),
    );
    let hpa = json!({"metadata": {"name": "web"}, "spec": {"maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "behavior": {"scaleUp": {"stabilizationWindowSeconds": 30}}}});
    let hpas = path(&namespace, "autoscaling/v2/horizontalpodautoscalers");
    let made = create(client, &hpas, &hpa).await;
    assert_has(
        &made["spec"],
        &json!({"minReplicas": 1, "behavior": {
            "scaleUp": {"stabilizationWindowSeconds": 30, "selectPolicy": "Max"},
            "scaleDown": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}}}),
    );
    assert_eq!(made["spec"]["metrics"][0]["resource"]["name"], "cpu");
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    let made = create(client, &path(&namespace, "v1/services"), &service).await;
    assert_has(
        &made["spec"],
        &json!({"type": "ClusterIP", "sessionAffinity": "None"}),
    );
    let port = json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]);
    assert_eq!(made["spec"]["ports"], port);
    assert!(
        made["spec"]["clusterIP"]
            .as_str()
            .is_some_and(|address| !address.is_empty())
    );
}

pub(crate) async fn names_are_generated(client: &Client) {
    let pods = path(&namespace(client).await, "v1/pods");
    let mut given = pod("x");
    given["metadata"] = json!({"generateName": "web-"});
    let [one, other] = [
        create(client, &pods, &given).await,
        create(client, &pods, &given).await,
    ];
    let name = |made: &Value| {
        made["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        name(&one).starts_with("web-") && name(&one).len() == 9,
        "{}",
        name(&one)
    );
    assert_ne!(name(&one), name(&other));
    assert_ne!(one["metadata"]["uid"], other["metadata"]["uid"]);
}

pub(crate) async fn generations_count_what_is_desired(client: &Client) {
    let collection = path(&namespace(client).await, "apps/v1/deployments");
    let one = format!("{collection}/web");
    let mut given = deployment("web");
    given["spec"]["paused"] = true.into();
    create(client, &collection, &given).await;
    let mut generations = Vec::new();
    for change in [
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"metadata": {"annotations": {"a": "b"}}}),
        json!({"spec": {"minReadySeconds": 5}}),
        json!({"spec": {"minReadySeconds": 5}}),
    ] {
        let (status, changed) = patch(client, &one, "merge", &change).await;
        assert_eq!(status, 200, "{changed}");
        generations.push(changed["metadata"]["generation"].as_i64());
    }
    assert_eq!(generations, [Some(1), Some(2), Some(3), Some(3)]);
    let maps = path(&namespace(client).await, "v1/configmaps");
    let map = create(client, &maps, &json!({"metadata": {"name": "m"}})).await;
    assert_eq!(map["metadata"].get("generation"), None);
}

pub(crate) async fn status_has_a_path_of_its_own(client: &Client) {
    let collection = path(&namespace(client).await, "apps/v1/replicasets");
    let mut given = deployment("web");
    given["status"] = json!({"replicas": 7});
    let made = create(client, &collection, &given).await;
    assert_eq!(made["status"], json!({"replicas": 0}));
    let one = format!("{collection}/web");
    let both =
        json!({"spec": {"minReadySeconds": 3}, "status": {"replicas": 7, "availableReplicas": 7}});
    let (_, main) = patch(client, &one, "merge", &both).await;
    assert_eq!(main["spec"]["minReadySeconds"], 3);
    assert_eq!(main["status"]["replicas"], 0);
    let both = json!({"spec": {"minReadySeconds": 9}, "status": {"observedGeneration": 99}});
    let (status, changed) = patch(client, &format!("{one}/status"), "merge", &both).await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["spec"]["minReadySeconds"], 3);
    assert_eq!(changed["status"]["observedGeneration"], 99);
}

pub(crate) async fn dry_runs_leave_nothing(client: &Client) {
    let pods = path(&namespace(client).await, "v1/pods");
    let (status, made) = ask(client, "POST", &format!("{pods}?dryRun=All"), &pod("a")).await;
    assert_eq!((status, &made["metadata"]["name"]), (201, &json!("a")));
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(
        ask(client, "GET", &format!("{pods}/a"), &Value::Null)
            .await
            .0,
        404
    );
    create(client, &pods, &pod("a")).await;
    let change = json!({"metadata": {"labels": {"x": "y"}}});
    let (_, changed) = patch(client, &format!("{pods}/a?dryRun=All"), "merge", &change).await;
    assert_eq!(changed["metadata"]["labels"]["x"], "y");
    ask(
        client,
        "DELETE",
        &format!("{pods}/a?dryRun=All"),
        &Value::Null,
    )
    .await;
    let kept = get(client, &format!("{pods}/a")).await;
    assert_eq!(kept["metadata"]["labels"].get("x"), None);
    let (status, _) = ask(client, "POST", &format!("{pods}?dryRun=Some"), &pod("b")).await;
    assert!((400..=422).contains(&status), "{status}");
}

pub(crate) async fn events_have_two_groups(client: &Client) {
    let namespace = namespace(client).await;
    let event = json!({"metadata": {"name": "e"}, "reason": "Tested", "type": "Normal",
        "note": "as it should", "action": "Test", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "test", "reportingInstance": "test-1",
        "regarding": {"kind": "Pod", "name": "p", "namespace": namespace}});
    create(client, &path(&namespace, "events.k8s.io/v1/events"), &event).await;
    let core = get(client, &format!("{}/e", path(&namespace, "v1/events"))).await;
    assert_has(
        &core,
        &json!({"message": "as it should", "reason": "Tested", "apiVersion": "v1",
        "reportingComponent": "test", "involvedObject": {"kind": "Pod", "name": "p"}}),
    );
    let about = "fieldSelector=involvedObject.name=p,involvedObject.kind=Pod";
    let found = get(
        client,
        &format!("{}?{about}", path(&namespace, "v1/events")),
    )
    .await;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

pub(crate) async fn scale_is_read_and_written(client: &Client) {
    let collection = path(&namespace(client).await, "apps/v1/deployments");
    let mut given = deployment("web");
    given["spec"]["paused"] = true.into();
    given["spec"]["replicas"] = 2.into();
    create(client, &collection, &given).await;
    let one = format!("{collection}/web/scale");
    let mut scale = get(client, &one).await;
    assert_has(
        &scale,
        &json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
        "spec": {"replicas": 2}, "status": {"selector": "app=web"}}),
    );
    let (_, changed) = patch(client, &one, "merge", &json!({"spec": {"replicas": 3}})).await;
    assert_eq!(changed["spec"]["replicas"], 3);
    scale["spec"]["replicas"] = 4.into();
    let (status, refused) = ask(client, "PUT", &one, &scale).await;
    assert_eq!(
        (status, &refused["reason"]),
        (409, &json!("Conflict")),
        "an old version"
    );
    scale["metadata"]
        .as_object_mut()
        .expect("metadata")
        .remove("resourceVersion");
    let (status, changed) = ask(client, "PUT", &one, &scale).await;
    assert_eq!(
        (status, &changed["spec"]["replicas"]),
        (200, &json!(4)),
        "{changed}"
    );
    let (status, _) = patch(client, &one, "merge", &json!({"spec": {"replicas": -1}})).await;
    assert_eq!(status, 422);
    let whole = get(client, &format!("{collection}/web")).await;
    assert_eq!(
        (&whole["spec"]["replicas"], &whole["metadata"]["generation"]),
        (&json!(4), &json!(3))
    );
}

pub(crate) async fn accounts_give_tokens_for_audiences(client: &Client) {
    let accounts = path(&namespace(client).await, "v1/serviceaccounts");
    create(client, &accounts, &json!({"metadata": {"name": "a"}})).await;
    let tokens = format!("{accounts}/a/token");
    let asked = json!({"spec": {"audiences": ["https://b.example"], "expirationSeconds": 600}});
    let made = create(client, &tokens, &asked).await;
    assert_has(
        &made,
        &json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "spec": {"audiences": ["https://b.example"], "expirationSeconds": 600}}),
    );
    let token = made["status"]["token"].as_str().expect("a token");
    let claims = token.split('.').nth(1).expect("three parts");
    let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!(claims["aud"], json!(["https://b.example"]));
    let subject = claims["sub"].as_str().expect("a subject");
    assert!(subject.starts_with("system:serviceaccount:") && subject.ends_with(":a"));
    for (path, spec, refused) in [
        (&tokens, json!({"expirationSeconds": 599}), 422),
        (&format!("{accounts}/b/token"), json!({}), 404),
    ] {
        let (status, answer) = ask(client, "POST", path, &json!({"spec": spec})).await;
        assert_eq!(status, refused, "{answer}");
    }
}
