//! Mode direct for a custom resource: the service sets the replicas of a Rollout through its `scale`.

use serde_json::{Value, json};

use jiff::SignedDuration;

use super::controllers::{Controllers, PODS, STABLE, replica_set};
use super::world::{
    DEPLOYMENT, HPA, MAX, MIN, MODE, STATUS, World, annotation, condition, least, number,
    with_world,
};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, get};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROLLOUTS: &str = "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts";
const ROLLOUT: &str = "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web";
const ARGO: (&str, &str) = ("argoproj.io/v1alpha1", "Rollout");
const KINDS: (&str, &str) = (
    "scaling.kinds",
    "[{apiVersion: argoproj.io/v1alpha1, kind: Rollout}]",
);

/// The definition of Rollouts, as far as scaling needs it: the names and paths are those of Argo.
fn definition(subresources: &Value) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"metadata": {"name": "rollouts.argoproj.io"}, "spec": {
        "group": "argoproj.io", "scope": "Namespaced",
        "names": {"kind": "Rollout", "plural": "rollouts"},
        "versions": [{"name": "v1alpha1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}, "subresources": subresources}],
    }})
}

fn scale() -> Value {
    json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.HPAReplicas", "labelSelectorPath": ".status.selector"}})
}

/// A Rollout in the place of the Deployment and of its HPA.
async fn rollout(world: &World<'_>, subresources: &Value) {
    for path in [HPA, DEPLOYMENT] {
        let (status, answer) = ask(world.client, "DELETE", path, &Value::Null).await;
        assert_eq!(status, 200, "{answer}");
    }
    create(world.client, DEFINITIONS, &definition(subresources)).await;
    let rules = json!({
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]},
        "scaleDown": {"stabilizationWindowSeconds": 30,
            "policies": [{"type": "Pods", "value": 3, "periodSeconds": 15}]}});
    let annotations = json!({MODE: "direct", "evenkeel.dev/min-replicas": MIN.to_string(),
        "evenkeel.dev/max-replicas": MAX.to_string(), "evenkeel.dev/behavior": rules.to_string()});
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "annotations": annotations},
        "spec": {"replicas": MIN, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"canary": {}}}});
    eventually("the kind is served", async || {
        let (status, answer) = ask(world.client, "POST", ROLLOUTS, &rollout).await;
        holds(status == 201, || answer.to_string())
    })
    .await;
}

fn replicas(rollout: &Value) -> i64 {
    number(rollout, "/spec/replicas").unwrap_or(0)
}

#[test]
fn a_custom_resource_rises_and_falls_with_its_load_through_scale() {
    with_world(async |world| {
        rollout(world, &scale()).await;
        let _controllers = Controllers::following(world, ROLLOUT, ARGO).await;
        let before = replicas(&get(world.client, ROLLOUT).await);
        let _service = world.serve(&[KINDS]).await;
        let risen = |rollout: &Value| replicas(rollout) >= before + 5;
        world.until(ROLLOUT, "it rises by some", risen).await;
        let told = world
            .until(ROLLOUT, "it is told on it", |rollout| {
                let active = condition(rollout, "ScalingActive");
                active.is_some_and(|active| active["status"] == "True")
            })
            .await;
        let status = annotation(&told, STATUS).unwrap_or_default();
        assert!(status.contains(r#""mode":"direct""#), "{status}");
        assert_eq!(told["spec"]["strategy"], json!({"canary": {}}));
        let writers = told["metadata"]["managedFields"].to_string();
        assert!(writers.contains(r#""subresource":"scale""#), "{writers}");
        let note = world.until_event("SuccessfulRescale").await;
        assert!(note.starts_with("New size: "), "{note}");
        let events = "/apis/events.k8s.io/v1/namespaces/shop/events";
        let (_, events) = ask(world.client, "GET", events, &Value::Null).await;
        let regarding = &events["items"][0]["regarding"];
        assert_eq!(regarding["kind"], "Rollout", "{events}");
        assert_eq!(regarding["apiVersion"], "argoproj.io/v1alpha1");

        world.prometheus.handle.set_load(|_| 0.8);
        world
            .until(ROLLOUT, "it falls to its least", |rollout| {
                replicas(rollout) == MIN
            })
            .await;
    });
}

/// A Rollout of four Pods in the place of the Deployment, below the HPA, which is at rest.
async fn floored_rollout(world: &World<'_>) {
    let (status, answer) = ask(world.client, "DELETE", DEPLOYMENT, &Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    create(world.client, DEFINITIONS, &definition(&scale())).await;
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"canary": {}}}});
    eventually("the kind is served", async || {
        let (status, answer) = ask(world.client, "POST", ROLLOUTS, &rollout).await;
        holds(status == 201, || answer.to_string())
    })
    .await;
    let (version, kind) = ARGO;
    let target = json!({"apiVersion": version, "kind": kind, "name": "web"});
    // Without a past of the load this model acts at once.
    let hpa = json!({"metadata": {"annotations": {"evenkeel.dev/predict": "ds-hpa"}},
        "spec": {"scaleTargetRef": target}});
    world.change(HPA, &hpa).await;
    let status = json!({"status": {"currentReplicas": 4, "desiredReplicas": 4,
        "conditions": [{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    world.change(&format!("{HPA}/status"), &status).await;
}

/// The harm: while a canary runs beside the version that serves, the sum over the Pods of both is twice the load where
/// traffic is mirrored, and the floor doubled.
#[test]
fn a_canary_doubles_no_floor_and_a_load_that_doubles_raises_it() {
    with_world(async |world| {
        floored_rollout(world).await;
        let stable = replica_set(world, ROLLOUT, ARGO, (STABLE, 4)).await;
        let prometheus = &world.prometheus.handle;
        prometheus.set_pods(&stable);
        prometheus.set_load(|_| 3.0);
        let _service = world.serve(&[KINDS]).await;
        let known = |shown: &Value| shown["loads"][0]["now"].as_f64();
        let is_known = |shown: &Value| known(shown).is_some_and(|now| (now - 3000.0).abs() < 1.0);
        world.until_shown("the load is known", is_known).await;

        let canary = replica_set(world, ROLLOUT, ARGO, ("web-5f6d7c8b9", 4)).await;
        prometheus.set_pods(&[stable.clone(), canary.clone()].concat());
        // Mirrored, and then shared.
        for cores in [6.0, 3.0] {
            prometheus.set_load(move |_| cores);
            for _ in 0..10 {
                world.pass(SignedDuration::from_secs(15)).await;
                assert_eq!(least(&world.autoscaler().await), MIN, "{cores}");
                let shown = world.shown().await.expect("the target is shown");
                assert!(known(&shown).is_none_or(|now| now < 3300.0), "{shown}");
            }
        }

        for pod in &canary {
            let now = json!({"gracePeriodSeconds": 0});
            let (status, answer) =
                ask(world.client, "DELETE", &format!("{PODS}/{pod}"), &now).await;
            assert_eq!(status, 200, "{answer}");
        }
        prometheus.set_pods(&stable);
        world.until_shown("the canary has gone", is_known).await;
        prometheus.set_load(|_| 6.0);
        world
            .until_autoscaler("the floor rises with the load", |hpa| least(hpa) > MIN)
            .await;
    });
}

#[test]
fn pods_that_are_another_controllers_are_told_and_nothing_is_decided_on_them() {
    with_world(async |world| {
        rollout(world, &scale()).await;
        let status = json!({"status": {"HPAReplicas": 2, "selector": "app=web"}});
        world.change(&format!("{ROLLOUT}/status"), &status).await;
        let _service = world.serve(&[KINDS]).await;
        world
            .until(ROLLOUT, "its Pods are not known", |rollout| {
                condition(rollout, "PodsUnknown").is_some()
            })
            .await;
        world.until_event("PodsUnknown").await;
        assert_eq!(replicas(&get(world.client, ROLLOUT).await), MIN);
    });
}

#[test]
fn a_kind_without_scale_is_refused_and_tells_it() {
    with_world(async |world| {
        rollout(world, &json!({"status": {}})).await;
        let _service = world.serve(&[KINDS]).await;
        let line = "evenkeel_scaling_kinds{kind=\"rollout.argoproj.io\",state=\"unscalable\"} 1";
        eventually("the metrics tell it", async || {
            let page = world.metrics().await;
            holds(page.contains(line), || page.clone())
        })
        .await;
        let rollout = get(world.client, ROLLOUT).await;
        assert_eq!(annotation(&rollout, STATUS), None);
    });
}
