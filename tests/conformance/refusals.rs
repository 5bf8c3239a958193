//! What is refused, and in which words.

use kube::Client;
use serde_json::{Value, json};

use crate::support::dev_api::{ask, create, deployment, namespace, path, pod, refusal};

pub async fn are_worded_alike(client: &Client) {
    let namespace = namespace(client).await;
    let pods = path(&namespace, "v1/pods");
    create(client, &pods, &pod("a")).await;
    let deployments = path(&namespace, "apps/v1/deployments");
    let nothing = Value::Null;
    for (method, path, body, status, reason, message) in [
        (
            "GET",
            format!("{pods}/b"),
            nothing.clone(),
            404,
            "NotFound",
            "pods \"b\" not found".to_owned(),
        ),
        (
            "GET",
            format!("{deployments}/b"),
            nothing.clone(),
            404,
            "NotFound",
            "deployments.apps \"b\" not found".to_owned(),
        ),
        (
            "DELETE",
            format!("{pods}/b"),
            nothing.clone(),
            404,
            "NotFound",
            "pods \"b\" not found".to_owned(),
        ),
        (
            "POST",
            pods.clone(),
            pod("a"),
            409,
            "AlreadyExists",
            "pods \"a\" already exists".to_owned(),
        ),
        (
            "GET",
            "/api/v1/fish".to_owned(),
            nothing.clone(),
            404,
            "",
            String::new(),
        ),
        (
            "GET",
            "/apis/fish.dev/v1/fish".to_owned(),
            nothing.clone(),
            404,
            "",
            String::new(),
        ),
        (
            "POST",
            path("none", "v1/configmaps"),
            json!({"metadata": {"name": "a"}}),
            404,
            "NotFound",
            "namespaces \"none\" not found".to_owned(),
        ),
        (
            "PATCH",
            pods.clone(),
            nothing.clone(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource".to_owned(),
        ),
        (
            "POST",
            pods.clone(),
            json!({"kind": "Pod", "apiVersion": "v2"}),
            400,
            "BadRequest",
            String::new(),
        ),
        (
            "POST",
            pods.clone(),
            json!({"kind": "Node", "apiVersion": "v1"}),
            400,
            "BadRequest",
            String::new(),
        ),
    ] {
        let (is, why, said) = refusal(ask(client, method, &path, &body).await);
        assert_eq!(is, status, "{method} {path}: {said}");
        for (is, expected) in [(&why, reason), (&said, &*message)] {
            assert!(
                expected.is_empty() || is == expected,
                "{method} {path}: {is}"
            );
        }
    }
}

pub async fn invalid_objects_are_refused(client: &Client) {
    let namespace = namespace(client).await;
    let pods = path(&namespace, "v1/pods");
    let deployments = path(&namespace, "apps/v1/deployments");
    let changed = |base: Value, pointer: &str, value: Value| {
        let mut object = base;
        *object.pointer_mut(pointer).expect("it is there") = value;
        object
    };
    let container =
        |part: Value| json!({"metadata": {"name": "a"}, "spec": {"containers": [part]}});
    for (path, object, status, words) in [
        (
            &pods,
            json!({"metadata": {"name": "a"}, "spec": {}}),
            422,
            "Pod \"a\" is invalid: spec.containers: Required value",
        ),
        (&pods, pod("A"), 422, "metadata.name: Invalid value: \"A\""),
        (
            &pods,
            json!({"spec": {"containers": [{"name": "a", "image": "a"}]}}),
            422,
            "name or generateName is required",
        ),
        (
            &pods,
            container(json!({"name": "a"})),
            422,
            "spec.containers[0].image: Required value",
        ),
        (
            &pods,
            container(
                json!({"name": "a", "image": "a", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
            ),
            422,
            "must be less than or equal to cpu limit of 1",
        ),
        (
            &pods,
            container(json!({"name": "a", "image": "a", "resources": {"limits": {"cpu": "x"}}})),
            400,
            "quantities must match the regular expression",
        ),
        (
            &pods,
            container(json!({"name": 1, "image": "a"})),
            400,
            "cannot be handled as a Pod",
        ),
        (
            &pods,
            changed(pod("a"), "/metadata/labels/app", "-".into()),
            422,
            "metadata.labels: Invalid value",
        ),
        (
            &deployments,
            changed(
                deployment("a"),
                "/spec/selector/matchLabels/app",
                "b".into(),
            ),
            422,
            "`selector` does not match template `labels`",
        ),
        (
            &deployments,
            changed(deployment("a"), "/spec/replicas", (-1).into()),
            422,
            "must be greater than or equal to 0",
        ),
    ] {
        let (is, _, said) = refusal(ask(client, "POST", path, &object).await);
        assert_eq!(is, status, "{object}: {said}");
        assert!(said.contains(words), "{object}: {said}");
    }
    let mut unknown = pod("a");
    unknown["spec"]["fish"] = 1.into();
    let strict = format!("{pods}?fieldValidation=Strict");
    let (status, _, said) = refusal(ask(client, "POST", &strict, &unknown).await);
    assert_eq!(status, 400, "{said}");
    assert!(
        said.contains("strict decoding error: unknown field \"spec.fish\""),
        "{said}"
    );
    let made = create(client, &format!("{pods}?fieldValidation=Ignore"), &unknown).await;
    assert_eq!(made["spec"].get("fish"), None);
    let mut moved = made;
    moved["spec"]["schedulerName"] = "other".into();
    let (status, _, said) = refusal(ask(client, "PUT", &format!("{pods}/a"), &moved).await);
    assert_eq!(status, 422);
    assert!(
        said.contains("pod updates may not change fields other than"),
        "{said}"
    );
}
