//! Evenkeel's own kinds in a namespace that has not opted in: each object says so once, until the namespace opts in.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::ihpa::{constant, install, scale_by};
use super::world::{World, with_world};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{create, get};

const OWN: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop";
const NAMESPACE: &str = "/api/v1/namespaces/shop";

/// One object of each kind, and the condition that says whether Evenkeel follows it.
const OBJECTS: [(&str, &str); 4] = [
    ("cronhpas/day", "Ready"),
    ("intelligenthorizontalpodautoscalers/web", "ScalingActive"),
    ("horizontalportraits/theirs", "PortraitGenerated"),
    ("replicaprofiles/web", "Applied"),
];

async fn make_objects(world: &World<'_>) {
    let target = json!({"kind": "Deployment", "name": "web"});
    let objects = [
        (
            "cronhpas",
            "CronHPA",
            "day",
            json!({"scaleTargetRef": target,
            "crons": [{"schedule": "0 8 * * *", "target": 3}]}),
        ),
        (
            "horizontalportraits",
            "HorizontalPortrait",
            "theirs",
            json!({"scaleTargetRef": target,
            "portraitType": "Predictive", "externalGeneratorName": "theirs",
            "algorithm": {"type": "Theirs"}}),
        ),
        (
            "replicaprofiles",
            "ReplicaProfile",
            "web",
            json!({"scaleTargetRef": target, "onlineReplicas": 2}),
        ),
    ];
    for (resource, kind, name, spec) in objects {
        let object = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name}, "spec": spec});
        create(world.client, &format!("{OWN}/{resource}"), &object).await;
    }
    scale_by(world, &[constant(1, 3)], &json!({})).await;
}

/// Waits until the reason of a condition is as wanted; `None` where there is no such condition.
async fn until_reason(
    world: &World<'_>,
    (object, kind): (&str, &str),
    wanted: impl Fn(Option<&str>) -> bool,
) -> Value {
    let path = format!("{OWN}/{object}");
    eventually(&format!("the condition {kind} of {object}"), async || {
        let object = get(world.client, &path).await;
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions.find(|one| one["type"] == kind);
        let reason = found.and_then(|one| one["reason"].as_str());
        holds(wanted(reason), || object["status"].to_string()).map(|()| object.clone())
    })
    .await
}

/// The harm: an object in such a namespace had no status at all, and nothing said why nothing happened.
#[test]
fn objects_say_once_that_their_namespace_has_not_opted_in_until_it_has() {
    with_world(async |world| {
        let opted =
            |value: Value| json!({"metadata": {"annotations": {"evenkeel.dev/enabled": value}}});
        world.change(NAMESPACE, &opted(Value::Null)).await;
        install(world).await;
        make_objects(world).await;
        let _service = world.serve(&[]).await;
        let is_told = |reason: Option<&str>| reason == Some("NotOptedIn");
        let mut versions = Vec::new();
        for own in OBJECTS {
            let object = until_reason(world, own, is_told).await;
            let conditions = object["status"]["conditions"].as_array().unwrap();
            assert_eq!(
                (conditions.len(), &conditions[0]["status"]),
                (1, &json!("False"))
            );
            let message = conditions[0]["message"].as_str().unwrap();
            let command = "kubectl annotate namespace shop evenkeel.dev/enabled=true";
            assert!(message.ends_with(command), "{message}");
            versions.push(object["metadata"]["resourceVersion"].clone());
        }
        world.pass(SignedDuration::from_mins(3)).await;
        for ((object, _), version) in OBJECTS.iter().zip(versions) {
            let later = get(world.client, &format!("{OWN}/{object}")).await;
            assert_eq!(later["metadata"]["resourceVersion"], version, "{object}");
        }
        world.change(NAMESPACE, &opted(json!("true"))).await;
        for own in OBJECTS {
            until_reason(world, own, |reason| !is_told(reason)).await;
        }
        world.change(NAMESPACE, &opted(json!("false"))).await;
        for own in OBJECTS {
            until_reason(world, own, is_told).await;
        }
    });
}
