//! Mode floor: ahead of the HPA, by its rules, under the user's hand, and gone without a trace.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::world::{
    BOUNDS, HPA, MAX, MIN, MODE, STATUS, World, annotation, condition, least, number, with_world,
};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, get, patch};

/// Waits until the floor is above the user's least.
async fn raised(world: &World<'_>) -> Value {
    world
        .until_autoscaler("the floor rises", |hpa| least(hpa) > MIN)
        .await
}

/// Waits until the HPA is as the user made it, but for the status that is told.
async fn put_back(world: &World<'_>, why: &str) {
    world
        .until_autoscaler(why, |hpa| {
            least(hpa) == MIN
                && number(hpa, "/spec/maxReplicas") == Some(MAX)
                && annotation(hpa, BOUNDS).is_none()
        })
        .await;
}

#[test]
fn the_floor_rises_before_the_hpa_and_no_faster_than_its_rules() {
    with_world(async |world| {
        let controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        let ahead = eventually("the HPA's own rule follows the floor", async || {
            let diary = controllers.diary();
            let ahead = diary
                .iter()
                .find(|moment| moment.min > moment.plain && moment.min > MIN);
            let ahead = *ahead.ok_or_else(|| controllers.told())?;
            let later = diary
                .iter()
                .any(|moment| moment.at > ahead.at && moment.plain >= ahead.min);
            holds(later, || controllers.told()).map(|()| ahead)
        })
        .await;
        assert!(ahead.min > ahead.plain, "{ahead:?}");
        // Two Pods in fifteen seconds, from the count that there was.
        for pair in controllers.diary().windows(2) {
            let step = pair[1].min - pair[0].before.max(pair[0].min);
            assert!(step <= 2, "{step}\n{}", controllers.told());
        }
        let note = world.until_event("FloorRaised").await;
        assert!(
            note.starts_with("floor ") && note.contains(": forecast "),
            "{note}"
        );
        let hpa = world.autoscaler().await;
        assert!(annotation(&hpa, BOUNDS).is_some_and(|record| record.contains("prediction")));
        shows_what_it_did(world).await;
    });
}

/// The API and the metrics tell the same as the object.
async fn shows_what_it_did(world: &World<'_>) {
    let shown = world
        .until_shown("a trusted forecast", |shown| shown["grounds"] == "forecast")
        .await;
    assert_eq!(
        shown["object"],
        json!({"kind": "HorizontalPodAutoscaler", "name": "web"})
    );
    assert_eq!(
        shown["workload"],
        json!({"kind": "Deployment", "name": "web"})
    );
    assert_eq!(shown["mode"], "floor");
    assert_eq!(shown["refill"], "done");
    let load = &shown["loads"][0];
    assert_eq!(load["resource"], "cpu");
    assert_eq!(load["request"], 1000.0);
    assert_eq!(load["trust"]["trusted"], true);
    assert!(
        // The covered load is a high quantile of the largest load to come.
        load["forecast"]["upper80"].as_f64() > load["now"].as_f64(),
        "{load}"
    );
    let labels = r#"namespace="shop",kind="HorizontalPodAutoscaler",name="web""#;
    let metrics = world.metrics().await;
    for series in [
        "load",
        "forecast",
        "forecast_ratio",
        "replicas",
        "decisions_total",
    ] {
        let line = format!("evenkeel_scaling_target_{series}{{{labels}");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    let both = |point: &Value| point[1].is_f64() && point[2].is_f64();
    eventually("a load and its forecast at one time", async || {
        let history = world.history().await;
        assert_eq!(history["step"], 15);
        let points = history["points"].as_array().expect("points");
        holds(points.iter().any(both), || history.to_string())
    })
    .await;
}

#[test]
fn what_the_user_sets_wins_and_is_what_is_put_back() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        raised(world).await;
        // A least above the floor stands at once, and is the user's from then on.
        world
            .change(HPA, &json!({"spec": {"minReplicas": 15}}))
            .await;
        world
            .until_autoscaler("the edit is taken for the user's", |hpa| {
                annotation(hpa, BOUNDS).is_none_or(|record| record.contains(r#""user":{"min":15"#))
            })
            .await;
        assert_eq!(least(&world.autoscaler().await), 15);
        // A most below the floor takes the floor along.
        world
            .change(HPA, &json!({"spec": {"minReplicas": 3, "maxReplicas": 4}}))
            .await;
        world
            .until_autoscaler("the floor keeps to the new most", |hpa| {
                least(hpa) <= 4
                    && number(hpa, "/spec/maxReplicas") == Some(4)
                    && annotation(hpa, BOUNDS)
                        .is_none_or(|record| record.contains(r#""min":3,"max":4"#))
            })
            .await;
        world.set_mode("off").await;
        world
            .until_autoscaler("the user's own are put back", |hpa| {
                least(hpa) == 3
                    && number(hpa, "/spec/maxReplicas") == Some(4)
                    && annotation(hpa, BOUNDS).is_none()
            })
            .await;
    });
}

#[test]
fn everything_is_put_back_whatever_ends_it() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let service = world.serve(&[("scaling.mode", "recommend")]).await;
        let namespace = "/api/v1/namespaces/shop";
        let enabled = "evenkeel.dev/enabled";
        raised(world).await;
        world.set_mode("off").await;
        put_back(world, "mode off").await;
        world.set_mode("floor").await;
        raised(world).await;
        world.annotate(HPA, json!({MODE: null})).await;
        put_back(world, "the annotation is gone").await;
        world.set_mode("floor").await;
        raised(world).await;
        world.annotate(namespace, json!({enabled: "false"})).await;
        put_back(world, "the namespace opts out").await;
        let gone = |hpa: &Value| annotation(hpa, STATUS).is_none();
        world
            .until_autoscaler("the status goes with it", gone)
            .await;
        world.annotate(namespace, json!({enabled: "true"})).await;
        raised(world).await;
        world
            .annotate(HPA, json!({"evenkeel.dev/predict": "off"}))
            .await;
        put_back(world, "nothing is predicted").await;
        service.stop().await;
    });
}

#[test]
fn restoring_puts_everything_back_and_then_nothing_is_written_any_more() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let service = world.serve(&[]).await;
        raised(world).await;
        service.stop().await;
        assert!(
            least(&world.autoscaler().await) > MIN,
            "the next replica takes it over"
        );
        let _service = world.serve(&[("writes", "restore")]).await;
        put_back(world, "the bounds are restored").await;
        let gone = |hpa: &Value| annotation(hpa, STATUS).is_none();
        world
            .until_autoscaler("the status goes with it", gone)
            .await;
        let (before, events) = (world.autoscaler().await, world.events().await.len());
        let told = "evenkeel_scaling_restoring 0";
        eventually("nothing is left", async || {
            let metrics = world.metrics().await;
            holds(
                metrics.contains(told) && metrics.contains("evenkeel_leader 1"),
                || metrics,
            )
        })
        .await;
        world.pass(SignedDuration::from_mins(3)).await;
        let after = world.autoscaler().await;
        assert_eq!(
            after["metadata"]["annotations"],
            before["metadata"]["annotations"]
        );
        assert_eq!(after["spec"], before["spec"]);
        assert_eq!(world.events().await.len(), events);
    });
}

#[test]
fn a_least_that_was_not_set_is_not_set_again() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        world
            .change(HPA, &json!({"spec": {"minReplicas": null}}))
            .await;
        // The API server fills in its default; a client that removes it is left with 1.
        let before = world.autoscaler().await["spec"]["minReplicas"].clone();
        let _service = world.serve(&[]).await;
        world
            .until_autoscaler("the floor rises", |hpa| least(hpa) > 1)
            .await;
        world.set_mode("off").await;
        world
            .until_autoscaler("it is as it was", |hpa| {
                hpa["spec"]["minReplicas"] == before && annotation(hpa, BOUNDS).is_none()
            })
            .await;
    });
}

#[test]
fn another_writer_is_named_and_left_the_field() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        let contested = eventually("the floor is contested", async || {
            let hpa = world.autoscaler().await;
            let contested = condition(&hpa, "FloorContested");
            if let Some(found) = contested.filter(|found| found["status"] == "True") {
                return Ok(found);
            }
            if least(&hpa) > MIN {
                undo(world).await;
            }
            Err(hpa["metadata"]["annotations"].to_string())
        })
        .await;
        let message = contested["message"].as_str().unwrap_or_default();
        assert!(message.contains("gitops-controller"), "{message}");
        let note = world.until_event("FloorContested").await;
        assert!(note.contains("gitops-controller"), "{note}");
        world.pass(SignedDuration::from_mins(2)).await;
        assert_eq!(
            least(&world.autoscaler().await),
            MIN,
            "nothing is raised any more"
        );
        // A value that is neither is the user's word, and ends it.
        world
            .change(HPA, &json!({"spec": {"minReplicas": 3}}))
            .await;
        world
            .until_autoscaler("the floor rises again", |hpa| least(hpa) > 3)
            .await;
    });
}

/// The change of a GitOps controller that is not told to leave the field alone.
async fn undo(world: &World<'_>) {
    let path = format!("{HPA}?fieldManager=gitops-controller&force=true");
    let wanted = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": {"minReplicas": MIN, "maxReplicas": MAX,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let (status, answer) = patch(world.client, &path, "apply", &wanted).await;
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn recommending_changes_no_spec_and_says_what_it_would_do() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        world.set_mode("recommend").await;
        let before = world.autoscaler().await["spec"].clone();
        let _service = world.serve(&[]).await;
        let note = world.until_event("ReplicasRecommended").await;
        assert!(note.contains("replicas "), "{note}");
        world
            .until_autoscaler("the status is told", |hpa| {
                annotation(hpa, STATUS)
                    .is_some_and(|status| status.contains(r#""mode":"recommend""#))
            })
            .await;
        world.pass(SignedDuration::from_mins(3)).await;
        let hpa = world.autoscaler().await;
        assert_eq!(hpa["spec"], before);
        assert_eq!(annotation(&hpa, BOUNDS), None);
        let raised = world
            .events()
            .await
            .into_iter()
            .any(|(reason, _)| reason == "FloorRaised");
        assert!(!raised);
    });
}

const SCALED_OBJECTS: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects";

#[test]
fn an_hpa_of_keda_is_floored_through_its_scaled_object() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let scaled_object = keda(world).await;
        let path = format!("{SCALED_OBJECTS}/web");
        let owner = json!({"metadata": {"ownerReferences": [{
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
            "uid": scaled_object["metadata"]["uid"], "controller": true}]}});
        world.change(HPA, &owner).await;
        let before = world.autoscaler().await["spec"].clone();
        let _service = world.serve(&[]).await;
        world
            .until(&path, "the floor rises", |object| {
                number(object, "/spec/minReplicaCount").is_some_and(|min| min > MIN)
            })
            .await;
        assert_eq!(
            world.autoscaler().await["spec"],
            before,
            "KEDA would undo it"
        );
        world.annotate(&path, json!({MODE: "off"})).await;
        world
            .until(&path, "it is put back", |object| {
                number(object, "/spec/minReplicaCount") == Some(MIN)
                    && annotation(object, BOUNDS).is_none()
            })
            .await;
    });
}

/// KEDA's kind, as far as it matters, and one object of it.
async fn keda(world: &World<'_>) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {"group": "keda.sh", "scope": "Namespaced",
            "names": {"kind": "ScaledObject", "plural": "scaledobjects", "singular": "scaledobject",
                "listKind": "ScaledObjectList"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": any.clone(), "status": any}}}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(world.client, definitions, &definition).await;
    eventually("the kind is served", async || {
        let (status, _) = ask(world.client, "GET", SCALED_OBJECTS, &Value::Null).await;
        holds(status == 200, || status.to_string())
    })
    .await;
    let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "annotations": {MODE: "floor"}},
        "spec": {"scaleTargetRef": {"name": "web"}, "minReplicaCount": MIN, "maxReplicaCount": MAX,
            "triggers": [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}}]}});
    create(world.client, SCALED_OBJECTS, &object).await;
    get(world.client, &format!("{SCALED_OBJECTS}/web")).await
}

/// A server-side apply of the HPA by its user.
async fn apply(world: &World<'_>, annotations: Value, least: Option<i64>, force: bool) -> u16 {
    let path = format!("{HPA}?fieldManager=kubectl&force={force}");
    let mut wanted = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": annotations}, "spec": {"maxReplicas": MAX,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    if let Some(least) = least {
        wanted["spec"]["minReplicas"] = json!(least);
    }
    let (status, answer) = patch(world.client, &path, "apply", &wanted).await;
    if status == 409 {
        assert!(answer.to_string().contains("evenkeel"), "{answer}");
    }
    status
}

#[test]
fn a_server_side_apply_under_a_floor_conflicts_unless_the_least_stands_in_the_annotation() {
    with_world(async |world| {
        const LEAST: &str = "evenkeel.dev/min-replicas";
        let _controllers = world.controllers().await;
        let floor = || json!({MODE: "floor"});
        assert_eq!(apply(world, floor(), Some(MIN), true).await, 200);
        let _service = world.serve(&[]).await;
        raised(world).await;
        assert_eq!(apply(world, floor(), Some(MIN), false).await, 409);
        raised(world).await;
        // As the README says: the field is left out, and the least stands in the annotation.
        let mut annotations = floor();
        annotations[LEAST] = json!((MIN + 1).to_string());
        assert_eq!(apply(world, annotations.clone(), None, false).await, 200);
        raised(world).await;
        assert_eq!(apply(world, annotations.clone(), None, false).await, 200);
        let low = |_| 0.8;
        world.prometheus.handle.set_load(low);
        world
            .until_autoscaler("the floor goes, to the least of the annotation", |hpa| {
                least(hpa) == MIN + 1 && annotation(hpa, BOUNDS).is_none()
            })
            .await;
        annotations[LEAST] = json!((MIN + 2).to_string());
        assert_eq!(apply(world, annotations, None, false).await, 200);
        world
            .until_autoscaler("a changed annotation counts", |hpa| least(hpa) == MIN + 2)
            .await;
    });
}
