//! Resources that a CustomResourceDefinition defines.

use kube::Client;
use serde_json::{Value, json};

use crate::cases::objects::assert_has;
use crate::support::client::{ask, create, get, get_as, gone, namespace, patch, path};
use crate::support::control_plane::wait::{eventually, holds};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition() -> Value {
    json!({"metadata": {"name": "boats.test.dev"}, "spec": {
    "group": "test.dev", "scope": "Namespaced",
    "names": {"kind": "Boat", "plural": "boats", "shortNames": ["bo"]},
    "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "required": ["sail"], "properties": {
                "sail": {"type": "string", "enum": ["main", "jib"]},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "launched": {"type": "string", "format": "date-time"},
                "crew": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 2,
                    "items": {"type": "string"}},
                "replicas": {"type": "integer", "minimum": 0, "default": 1}}},
            "status": {"type": "object", "properties": {
                "replicas": {"type": "integer"}, "knots": {"type": "integer"}}}}}},
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        "additionalPrinterColumns": [{"name": "Sail", "type": "string", "jsonPath": ".spec.sail"}],
    }]}})
}

pub(crate) async fn resources_follow_their_definition(client: &Client) {
    let made = create(client, DEFINITIONS, &definition()).await;
    assert_eq!(made["spec"]["names"]["singular"], "boat");
    let boats = path(&namespace(client).await, "test.dev/v1/boats");
    eventually("the resource to be served", async || {
        let (status, answer) = ask(client, "GET", &boats, &Value::Null).await;
        holds(status == 200, || answer.to_string())
    })
    .await;
    schemas_are_kept(client, &boats).await;
    parts_have_their_paths(client, &boats).await;
    let table = get_as(
        client,
        &boats,
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    .await;
    assert_eq!(table["columnDefinitions"][1]["name"], "Sail");
    assert_eq!(table["rows"][0]["cells"], json!(["a", "jib"]));
    let one = format!("{DEFINITIONS}/boats.test.dev");
    ask(client, "DELETE", &one, &Value::Null).await;
    gone(client, &format!("{boats}/a")).await;
    gone(client, &one).await;
}

fn boat(spec: &Value) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Boat", "metadata": {"name": "a"}, "spec": spec})
}

async fn schemas_are_kept(client: &Client, boats: &str) {
    for wrong in [
        json!({}),
        json!({"sail": "none"}),
        json!({"sail": 1}),
        json!({"sail": "jib", "replicas": -1}),
        json!({"sail": "jib", "name": "A1"}),
        json!({"sail": "jib", "name": "toolong"}),
        json!({"sail": "jib", "launched": "yesterday"}),
        json!({"sail": "jib", "crew": ["a", "a"]}),
        json!({"sail": "jib", "crew": ["a", "b", "c"]}),
    ] {
        let (status, answer) = ask(client, "POST", boats, &boat(&wrong)).await;
        assert_eq!(status, 422, "{wrong}: {answer}");
    }
    let mut given = boat(&json!({"sail": "jib", "oars": 2}));
    given["status"] = json!({"knots": 5});
    let made = create(client, boats, &given).await;
    assert_eq!(made["spec"], json!({"sail": "jib", "replicas": 1}));
    let generation = &made["metadata"]["generation"];
    assert_eq!((made.get("status"), generation), (None, &json!(1)));
}

async fn parts_have_their_paths(client: &Client, boats: &str) {
    let status = json!({"spec": {"sail": "main"}, "status": {"knots": 5, "replicas": 1}});
    let (_, changed) = patch(client, &format!("{boats}/a/status"), "merge", &status).await;
    assert_has(
        &changed,
        &json!({"spec": {"sail": "jib"}, "status": {"knots": 5}}),
    );
    let scale_path = format!("{boats}/a/scale");
    let scale = get(client, &scale_path).await;
    assert_has(
        &scale,
        &json!({"spec": {"replicas": 1}, "status": {"replicas": 1}}),
    );
    let three = json!({"spec": {"replicas": 3}});
    let (_, scaled) = patch(client, &scale_path, "merge", &three).await;
    assert_eq!(scaled["spec"]["replicas"], 3);
    let (status, _) = patch(client, &format!("{boats}/a"), "strategic-merge", &json!({})).await;
    assert_eq!(status, 415);
}
