//! Mode direct: the service sets the replicas of a Deployment that no HPA scales.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::world::{
    DEPLOYMENT, HPA, MAX, MIN, MODE, STATUS, World, annotation, condition, number, with_world,
};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, get, patch};
use crate::support::load::Fault;

const RULES: &str = r#"{
    "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]},
    "scaleDown": {"stabilizationWindowSeconds": 30,
        "policies": [{"type": "Pods", "value": 3, "periodSeconds": 15}]}}"#;

/// Gives the Deployment to the service alone.
pub(super) async fn directly(world: &World<'_>) {
    let (status, answer) = ask(world.client, "DELETE", HPA, &Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    annotate(world).await;
}

async fn annotate(world: &World<'_>) {
    let annotations = json!({MODE: "direct", "evenkeel.dev/min-replicas": MIN.to_string(),
        "evenkeel.dev/max-replicas": MAX.to_string(), "evenkeel.dev/behavior": RULES});
    world.annotate(DEPLOYMENT, annotations).await;
}

fn replicas(deployment: &Value) -> i64 {
    number(deployment, "/spec/replicas").unwrap_or(1)
}

async fn until_replicas(world: &World<'_>, what: &str, wanted: impl Fn(i64) -> bool) -> i64 {
    let found = world
        .until(DEPLOYMENT, what, |deployment| wanted(replicas(deployment)))
        .await;
    replicas(&found)
}

async fn until_condition(world: &World<'_>, kind: &str, status: &str) -> Value {
    let told = world
        .until(DEPLOYMENT, &format!("{kind} is {status}"), |deployment| {
            condition(deployment, kind).is_some_and(|found| found["status"] == status)
        })
        .await;
    condition(&told, kind).expect("it was there")
}

/// The counts that the Events tell of, in the order in which they were set.
async fn sizes(world: &World<'_>) -> Vec<i64> {
    let path = "/apis/events.k8s.io/v1/namespaces/shop/events";
    let (_, list) = ask(world.client, "GET", path, &Value::Null).await;
    let mut events: Vec<Value> = list["items"].as_array().cloned().unwrap_or_default();
    events.retain(|event| event["reason"] == "SuccessfulRescale");
    events.sort_by_key(|event| event["eventTime"].as_str().map(str::to_owned));
    let size = |event: &Value| {
        let note = event["note"].as_str()?.strip_prefix("New size: ")?;
        note.split(';').next()?.parse().ok()
    };
    events.iter().filter_map(size).collect()
}

#[test]
fn the_count_rises_and_falls_by_the_rules_of_the_annotations() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        directly(world).await;
        let before = replicas(&get(world.client, DEPLOYMENT).await);
        let _service = world.serve(&[]).await;
        until_replicas(world, "it rises by some", |count| count >= before + 5).await;
        until_condition(world, "ScalingActive", "True").await;
        let deployment = get(world.client, DEPLOYMENT).await;
        assert!(
            annotation(&deployment, STATUS).is_some_and(|told| told.contains(r#""mode":"direct""#))
        );
        let writers = deployment["metadata"]["managedFields"].to_string();
        assert!(writers.contains(r#""subresource":"scale""#), "{writers}");

        world.prometheus.handle.set_load(|_| 0.8);
        until_replicas(world, "it falls to its least", |count| count == MIN).await;
        let told = eventually("the last step is told", async || {
            let sizes = sizes(world).await;
            holds(sizes.last() == Some(&MIN), || format!("{sizes:?}")).map(|()| sizes)
        })
        .await;
        let steps = told.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(
            steps.clone().all(|step| (-3..=2).contains(&step)),
            "{told:?}"
        );
        assert!(steps.min() < Some(0) && told.len() > 4, "{told:?}");
    });
}

#[test]
fn an_outage_of_the_metrics_freezes_the_count_and_a_restart_takes_nothing_away() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        directly(world).await;
        let service = world.serve(&[]).await;
        until_replicas(world, "it rises", |count| count > MIN + 2).await;
        world.prometheus.handle.set_fault(Fault::Down);
        let told = until_condition(world, "ScalingActive", "False").await;
        assert_eq!(told["reason"], "FailedGetResourceMetric");
        let frozen = replicas(&get(world.client, DEPLOYMENT).await);
        world.pass(SignedDuration::from_mins(8)).await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), frozen);
        service.stop().await;

        world.prometheus.handle.set_load(|_| 0.8);
        world.prometheus.handle.set_fault(Fault::None);
        let window = r#"{"scaleDown": {"stabilizationWindowSeconds": 240}}"#;
        world
            .annotate(DEPLOYMENT, json!({"evenkeel.dev/behavior": window}))
            .await;
        let _service = world.serve(&[]).await;
        until_condition(world, "ScalingActive", "True").await;
        world.pass(SignedDuration::from_mins(2)).await;
        let kept = replicas(&get(world.client, DEPLOYMENT).await);
        assert_eq!(kept, frozen, "who has just begun knows no window yet");
        until_replicas(world, "then it falls", |count| count == MIN).await;
    });
}

#[test]
fn a_queue_sends_its_workers_to_sleep_and_wakes_them_and_so_does_the_end_of_the_mode() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        directly(world).await;
        let queue = json!({
            "evenkeel.dev/min-replicas": "0", "evenkeel.dev/predict": "off",
            "evenkeel.dev/query": r#"sum(rate(orders_total{namespace="$namespace"}[$window]))"#,
            "evenkeel.dev/query-target": "50"});
        world.annotate(DEPLOYMENT, queue).await;
        let _service = world.serve(&[("scaling.queries", "any")]).await;
        until_replicas(world, "the queue is worked on", |count| count > MIN).await;
        world.prometheus.handle.set_load(|_| 0.0);
        until_replicas(world, "it sleeps", |count| count == 0).await;
        until_condition(world, "ScaledToZero", "True").await;
        world.prometheus.handle.set_load(|_| 3.0);
        until_replicas(world, "it is woken", |count| count > MIN).await;

        world.prometheus.handle.set_load(|_| 0.0);
        until_replicas(world, "it sleeps again", |count| count == 0).await;
        until_condition(world, "ScaledToZero", "True").await;
        world.annotate(DEPLOYMENT, json!({MODE: "off"})).await;
        until_replicas(world, "nobody else would wake it", |count| count == 1).await;
        world
            .until(DEPLOYMENT, "then its status goes", |deployment| {
                annotation(deployment, STATUS).is_none()
            })
            .await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), 1);
    });
}

#[test]
fn an_hpa_beside_it_is_a_conflict_that_both_tell_of_until_one_goes() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        annotate(world).await;
        let _service = world.serve(&[]).await;
        for path in [DEPLOYMENT, HPA] {
            world
                .until(path, "the conflict is told", |object| {
                    condition(object, "DirectConflict").is_some_and(|told| {
                        let message = told["message"].as_str().unwrap_or_default();
                        message.contains("HorizontalPodAutoscaler web")
                    })
                })
                .await;
        }
        world.until_event("DirectConflict").await;
        let hpa = world.autoscaler().await;
        assert_eq!(number(&hpa, "/spec/minReplicas"), Some(MIN), "no floor");
        let (status, answer) = ask(world.client, "DELETE", HPA, &Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        until_condition(world, "ScalingActive", "True").await;
        let deployment = get(world.client, DEPLOYMENT).await;
        assert_eq!(condition(&deployment, "DirectConflict"), None);
        until_replicas(world, "and it acts", |count| count > MIN + 2).await;
    });
}

#[test]
fn another_writer_of_the_replicas_is_named_and_left_the_field() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        directly(world).await;
        let _service = world.serve(&[]).await;
        until_replicas(world, "it rises", |count| count > MIN + 1).await;
        let contested = eventually("the replicas are contested", async || {
            let deployment = get(world.client, DEPLOYMENT).await;
            let contested = condition(&deployment, "ReplicasContested");
            if let Some(found) = contested.filter(|found| found["status"] == "True") {
                return Ok(found);
            }
            if replicas(&deployment) > MIN {
                undo(world).await;
            }
            Err(deployment["metadata"]["annotations"].to_string())
        })
        .await;
        let message = contested["message"].as_str().unwrap_or_default();
        assert!(message.contains("gitops-controller"), "{message}");
        world.until_event("ReplicasContested").await;
        world.pass(SignedDuration::from_mins(3)).await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), MIN);
        until_replicas(world, "the contest ends by itself", |count| count > MIN).await;
    });
}

/// The harm: scaling that was switched off and on as Kubernetes documents it was taken for a contest, and stayed off
/// for ten minutes.
#[test]
fn scaling_that_is_switched_off_with_zero_replicas_resumes_with_one() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        directly(world).await;
        let _service = world.serve(&[]).await;
        until_replicas(world, "it rises", |count| count > MIN + 1).await;
        for _ in 0..2 {
            scale(world, 0).await;
            world
                .until(DEPLOYMENT, "scaling is off", |deployment| {
                    condition(deployment, "ScalingActive")
                        .is_some_and(|told| told["reason"] == "ScalingDisabled")
                })
                .await;
            world.pass(SignedDuration::from_secs(160)).await;
            assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), 0);
            scale(world, 1).await;
            until_condition(world, "ScalingActive", "True").await;
            until_replicas(world, "it goes on", |count| count > MIN).await;
            let deployment = get(world.client, DEPLOYMENT).await;
            assert_eq!(condition(&deployment, "ReplicasContested"), None);
        }
    });
}

/// The change that `kubectl scale` makes.
async fn scale(world: &World<'_>, replicas: i64) {
    let change = json!({"spec": {"replicas": replicas}});
    world.change(&format!("{DEPLOYMENT}/scale"), &change).await;
}

/// The change of a GitOps controller with the replicas in its manifest.
async fn undo(world: &World<'_>) {
    let path = format!("{DEPLOYMENT}?fieldManager=gitops-controller&force=true");
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web"}, "spec": {"replicas": MIN}});
    let (status, answer) = patch(world.client, &path, "apply", &wanted).await;
    assert_eq!(status, 200, "{answer}");
}
