//! What the shipped ServiceAccount may write: RBAC and the admission policy together, against a
//! real API server.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{ControlPlane, manifests, with_control_plane};

const NAMESPACE: &str = "guarded";

#[test]
fn evenkeel_may_write_bounds_and_its_annotations_and_nothing_else() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let evenkeel = Client::try_from(config.expect("it is whole")).expect("a client");
        objects::create_namespace(&plane.client, NAMESPACE, &[]).await;
        for case in cases() {
            case.hold(plane, &evenkeel).await;
        }
    });
}

/// An object with changes of it that are let through, and others that are not.
struct Case {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    spec: Value,
    allowed: Vec<Value>,
    refused: Vec<Value>,
}

fn annotated(key: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {key: value}}})
}

/// Changes of metadata that nobody's object may suffer.
fn foreign() -> Vec<Value> {
    vec![
        annotated("example.com/owner", &json!("me")),
        annotated("evenkeel.dev/scaling", &json!("floor")),
        annotated("kept", &Value::Null),
        json!({"metadata": {"labels": {"app": "other"}}}),
        json!({"metadata": {"finalizers": ["example.com/held"]}}),
    ]
}

fn cases() -> [Case; 4] {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "app", "image": "registry.example/app:1"}]}});
    let deployment = json!({"replicas": 0, "template": template,
        "selector": {"matchLabels": {"app": "web"}}});
    let mut stateful_set = deployment.clone();
    stateful_set["serviceName"] = json!("web");
    [
        autoscaler(),
        scaled_object(),
        workload("Deployment", deployment),
        workload("StatefulSet", stateful_set),
    ]
}

/// Other bounds, with both annotations.
fn written(bounds: &Value) -> Value {
    json!({"spec": bounds, "metadata": {"annotations": {
        "evenkeel.dev/bounds": "{}", "evenkeel.dev/scaling-status": "{}"}}})
}

fn autoscaler() -> Case {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    Case {
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        spec: json!({"scaleTargetRef": target, "maxReplicas": 5}),
        allowed: vec![
            written(&json!({"minReplicas": 3})),
            written(&json!({"minReplicas": 4, "maxReplicas": 6})),
            annotated("evenkeel.dev/bounds", &Value::Null),
        ],
        refused: vec![
            json!({"spec": {"scaleTargetRef": {"name": "other"}}}),
            json!({"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 1}}}]}}),
            json!({"spec": {"minReplicas": 2, "behavior": {"scaleUp": {
                "stabilizationWindowSeconds": 60}}}}),
        ],
    }
}

fn scaled_object() -> Case {
    Case {
        group: "keda.sh",
        version: "v1alpha1",
        kind: "ScaledObject",
        spec: json!({"scaleTargetRef": {"name": "web"}, "triggers": []}),
        allowed: vec![
            written(&json!({"minReplicaCount": 3})),
            written(&json!({"minReplicaCount": null, "maxReplicaCount": 7})),
        ],
        refused: vec![
            json!({"spec": {"triggers": [{"type": "cron"}]}}),
            json!({"spec": {"triggers": null}}),
            json!({"spec": {"pollingInterval": 5}}),
        ],
    }
}

fn workload(kind: &'static str, spec: Value) -> Case {
    let status = |value| annotated("evenkeel.dev/scaling-status", &value);
    let image = json!([{"name": "app", "image": "registry.example/other:1"}]);
    Case {
        group: "apps",
        version: "v1",
        kind,
        spec,
        allowed: vec![status(json!("{}")), status(Value::Null)],
        refused: vec![
            json!({"spec": {"replicas": 3}}),
            json!({"spec": {"template": {"spec": {"containers": image}}}}),
        ],
    }
}

impl Case {
    async fn hold(&self, plane: &ControlPlane, evenkeel: &Client) {
        let kind = self.kind;
        if kind == "ScaledObject" {
            define_scaled_objects(&plane.client).await;
        }
        let gvk = GroupVersionKind::gvk(self.group, self.version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api = |client: &Client| -> Api<DynamicObject> {
            Api::namespaced_with(client.clone(), NAMESPACE, &resource)
        };
        let object = json!({
            "apiVersion": gvk.api_version(), "kind": kind,
            "metadata": {"name": "web", "annotations": {"kept": "yes"}, "labels": {"app": "web"}},
            "spec": self.spec,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        eventually("the object is made", async || {
            let made = api(&plane.client)
                .create(&PostParams::default(), &object)
                .await;
            made.map(drop).map_err(|error| error.to_string())
        })
        .await;
        let ours = api(evenkeel);
        let send = async |change: &Value| {
            let params = PatchParams::default();
            ours.patch("web", &params, &Patch::Merge(change)).await
        };
        let refused = async |change: &Value| match send(change).await {
            Err(kube::Error::Api(status)) => {
                let told = status.message.contains("Evenkeel may");
                holds(told, || format!("{kind} {change}: {status:?}"))
            }
            other => Err(format!("{kind} {change}: {other:?}")),
        };
        // The API server obeys a new policy a moment after it has stored it; each probe is another
        // change, since one that has been let through would change nothing any more.
        let mut probes = 0;
        eventually("the policy is obeyed", async || {
            probes += 1;
            refused(&annotated("example.com/probe", &json!(probes.to_string()))).await
        })
        .await;
        for change in self.refused.iter().chain(&foreign()) {
            refused(change).await.expect("a refusal");
        }
        for change in &self.allowed {
            let answer = send(change).await;
            assert!(answer.is_ok(), "{kind} {change}: {answer:?}");
        }
    }
}

async fn define_scaled_objects(client: &Client) {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {
            "group": "keda.sh", "scope": "Namespaced",
            "names": {"kind": "ScaledObject", "plural": "scaledobjects"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let definition = serde_json::from_value(definition).expect("a definition");
    let made = definitions
        .create(&PostParams::default(), &definition)
        .await;
    made.expect("the definition is made");
}
