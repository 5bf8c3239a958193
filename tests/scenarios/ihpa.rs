//! IHPAs on a real control plane: the refusals of the schema and their words, and a Deployment that
//! is scaled by portraits with the shipped rights. A check takes back a bad change of its replicas.

use kube::Client;
use serde_json::{Value, json};

use super::world::{OPTED_IN, Patience, World};
use crate::support::control_plane::kubelet::MISSING;
use crate::support::control_plane::manifests;
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get, patch};

const NAMESPACE: &str = "portraits";
const IHPAS: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/portraits/intelligenthorizontalpodautoscalers";
const IHPA: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/portraits/intelligenthorizontalpodautoscalers/web";
const PORTRAITS: &str =
    "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/portraits/horizontalportraits";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/portraits/deployments/web";
/// The namespace in which nothing is scaled.
const DRAFTS: &str = "portrait-drafts";
const DRAFT_IHPAS: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/portrait-drafts/intelligenthorizontalpodautoscalers";

fn ihpa(spec: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
        "kind": "IntelligentHorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": spec,
    })
}

/// A spec that is accepted, and this on top.
fn but(change: &Value) -> Value {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1, "maxReplicas": 10,
        "portraitProviders": [{"type": "Static", "priority": 1, "static": {"replicas": 2}}],
    });
    json_patch::merge(&mut spec, change);
    spec
}

/// Specs that are refused, each with a part of what is said.
fn refused() -> [(Value, &'static str); 5] {
    let reactive = json!({"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Reactive",
        "algorithm": {"type": "KubeHPA"}, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}]}});
    [
        (
            json!({"minReplicas": 11}),
            "minReplicas must be at most maxReplicas",
        ),
        (json!({"portraitProviders": []}), "at least 1 items"),
        (
            json!({"portraitProviders": [{"type": "Cron", "priority": 1, "static": {"replicas": 2}}]}),
            "type Cron goes with cron alone",
        ),
        (
            json!({"portraitProviders": [reactive, reactive]}),
            "each dynamic provider needs a unique portraitType",
        ),
        (json!({"scaleMode": "Never"}), "supported values"),
    ]
}

fn what_is_no_ihpa_is_refused_by_the_api_server_with_what_is_accepted() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        manifests::install(plane, 443, None).await;
        objects::create_namespace(client, DRAFTS, &[]).await;
        served(client, DRAFT_IHPAS).await;
        for (change, told) in refused() {
            let spec = but(&change);
            let (status, answer) = ask(client, "POST", DRAFT_IHPAS, &ihpa(&spec)).await;
            let message = answer["message"].as_str().unwrap_or_default();
            let refused = status == 422 && message.contains(told);
            assert!(refused, "{spec}: {status} {message}");
        }
        create(client, DRAFT_IHPAS, &ihpa(&but(&json!({})))).await;
    });
}

fn a_deployment_is_scaled_in_steps_by_the_rights_of_the_service_and_a_bad_change_is_taken_back() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        served(client, IHPAS).await;
        deployment(client).await;
        let evenkeel = world.serve_scaling("http://127.0.0.1:9").await;
        portraits_of_hours(client).await;
        let steps = json!({"grayStrategy": {"grayState": "Online", "changeCount": 2,
            "changeIntervalSeconds": 15}});
        let spec = but(&json!({
            "portraitProviders": [{"type": "Static", "priority": 1, "static": {"replicas": 6}}],
            "behavior": {"scaleUp": steps},
        }));
        create(client, IHPAS, &ihpa(&spec)).await;
        until_replicas(client, "all steps are made", 6).await;
        let deployment = get(client, DEPLOYMENT).await;
        let fields = deployment["metadata"]["managedFields"].to_string();
        assert!(fields.contains(r#""subresource":"scale""#), "{fields}");
        until_told(client, "the change is finished", |status| {
            status["gray"].is_null() && status["desired"]["onlineReplicas"] == 6
        })
        .await;

        // The image is missing: no Pod becomes ready.
        let bad = json!({"spec": {
            "portraitProviders": [{"type": "Static", "priority": 1, "static": {"replicas": 10}}],
            "stabilityCheckers": [{"name": "ready", "type": "PodsReady",
                "stabilizationAction": "Rollback", "coolDownSeconds": 600,
                "podsReady": {"minPercent": 90, "withinSeconds": 5}}]}});
        let (status, answer) = patch(client, IHPA, "merge", &bad).await;
        assert_eq!(status, 200, "{answer}");
        until_replicas(client, "the first step is made", 8).await;
        until_replicas(client, "and taken back", 6).await;
        until_told(client, "the check is told", |status| {
            status["stability"]["holds"][0]["action"] == "Rollback"
                && status["gray"]["phase"] == "RolledBack"
        })
        .await;
        ask(client, "DELETE", IHPA, &Value::Null).await;
        until_hours_are_told(client).await;
        evenkeel.assert_within_rights();
        let background = json!({"propagationPolicy": "Background"});
        ask(client, "DELETE", DEPLOYMENT, &background).await;
    });
}

/// Portraits of the hours ahead, for the Deployment and for one that is not there.
async fn portraits_of_hours(client: &Client) {
    served(client, PORTRAITS).await;
    for workload in ["web", "none"] {
        let portrait = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "HorizontalPortrait",
            "metadata": {"name": workload}, "spec": {"portraitType": "Predictive",
                "scaleTargetRef": {"kind": "Deployment", "name": workload}, "algorithm": {"type": "Forecast"}}});
        create(client, PORTRAITS, &portrait).await;
    }
}

/// The service says why there are no hours ahead, and the schema takes a whole day of them and no more.
async fn until_hours_are_told(client: &Client) {
    for (name, reasons) in [
        ("web", ["NoTarget", "NothingForecast", "NotReady"]),
        ("none", ["NoTarget"; 3]),
    ] {
        eventually("the hours ahead are told", async || {
            let status = get(client, &format!("{PORTRAITS}/{name}")).await["status"].clone();
            let reason = status["conditions"][0]["reason"].as_str();
            holds(
                reason.is_some_and(|reason| reasons.contains(&reason)),
                || status.to_string(),
            )
        })
        .await;
    }
    let point = |step: i64| {
        json!({"timestamp": 1_800_000_000 + 600 * step, "value": "1500m", "lower": "1", "upper": "2",
            "replicas": 6, "upperReplicas": 8})
    };
    for (points, code) in [(145, 422), (144, 200)] {
        let metric = json!({"name": "cpu", "model": "auto", "points": (0..points).map(point).collect::<Vec<_>>()});
        let hours = json!({"time": "2027-01-15T08:00:00Z", "stepSeconds": 600, "intervalPercent": 80,
            "metrics": [metric]});
        let path = format!("{PORTRAITS}/none/status");
        let change = json!({"status": {"hoursAhead": hours}});
        let (status, answer) = patch(client, &path, "merge", &change).await;
        assert_eq!(status, code, "{answer}");
    }
}

async fn served(client: &Client, path: &str) {
    eventually("IHPAs are served", async || {
        let (status, _) = ask(client, "GET", path, &Value::Null).await;
        holds(status == 200, || status.to_string())
    })
    .await;
}

async fn until_replicas(client: &Client, what: &str, wanted: i64) {
    eventually(what, async || {
        let deployment = get(client, DEPLOYMENT).await;
        let replicas = &deployment["spec"]["replicas"];
        holds(*replicas == wanted, || replicas.to_string())
    })
    .await;
}

async fn until_told(client: &Client, what: &str, wanted: impl Fn(&Value) -> bool) {
    eventually(what, async || {
        let status = get(client, IHPA).await["status"].clone();
        holds(wanted(&status), || status.to_string())
    })
    .await;
}

/// A Deployment of two replicas with Pods that wait for their image for ever, wherever they are bound.
async fn deployment(client: &Client) {
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
            "name": "app", "image": MISSING, "resources": {"requests": {"cpu": "10m"}}}]}}}});
    let deployments = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
    create(client, &deployments, &deployment).await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    what_is_no_ihpa_is_refused_by_the_api_server_with_what_is_accepted,
    a_deployment_is_scaled_in_steps_by_the_rights_of_the_service_and_a_bad_change_is_taken_back,
]);
