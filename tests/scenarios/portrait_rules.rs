//! Autoscalers by portraits and HorizontalPortraits on a real API server: what their schemas refuse and in which
//! words, and that nothing of them is dropped.

use evenkeel_api::custom_resources::definitions;
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{manifests, objects, with_control_plane};
use crate::support::dev_api::{ask, create, get};

fn of(namespace: &str, plural: &str) -> String {
    format!("/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/{namespace}/{plural}")
}

/// The autoscaler of the example under this name.
fn example(name: &str) -> Value {
    let text = std::fs::read_to_string("examples/ihpa/shop.yaml").expect("the example");
    let mut object: Value = serde_saphyr::from_str(&text).expect("one object");
    object["metadata"] = json!({"name": name});
    object
}

/// Changes of the example that are refused: the place, what is put there, and a part of what is said.
fn refused() -> [(&'static str, Value, &'static str); 10] {
    let dynamic = |kind: &str| {
        json!({"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": kind,
            "externalGeneratorName": "us", "algorithm": {"type": "ours"}}})
    };
    [
        (
            "/spec/minReplicas",
            json!(50),
            "minReplicas must be at most maxReplicas",
        ),
        (
            "/spec/portraitProviders/0/type",
            json!("Static"),
            "type Static goes with static alone",
        ),
        (
            "/spec/portraitProviders",
            json!([dynamic("Burst"), dynamic("BURST")]),
            "each dynamic provider needs a unique portraitType",
        ),
        (
            "/spec/portraitProviders/0/cron/crons/0/start",
            json!("8 * *"),
            "a schedule has five fields (minute, hour, day of month, month, day of week)",
        ),
        (
            "/spec/portraitProviders/1/dynamic/algorithm/type",
            json!("Forecast"),
            "algorithm Forecast makes a portrait of type Predictive",
        ),
        (
            "/spec/behavior/scaleDown/grayStrategy/changePercent",
            Value::Null,
            "a step needs either changePercent or changeCount",
        ),
        (
            "/spec/behavior/scaleDown/grayStrategy/grayState",
            json!("Online"),
            "Unsupported value",
        ),
        (
            "/spec/stabilityCheckers/1/name",
            json!("ready"),
            "each stability checker needs a unique name",
        ),
        (
            "/spec/stabilityCheckers/1/type",
            json!("External"),
            "errorRate goes with type ErrorRate",
        ),
        (
            "/spec/scaleTargetRef/kind",
            json!("DaemonSet"),
            "scaleTargetRef must be a workload with the subresource scale",
        ),
    ]
}

async fn served(client: &Client, namespace: &str) {
    for plural in ["intelligenthorizontalpodautoscalers", "horizontalportraits"] {
        eventually("the kinds are served", async || {
            let (status, _) = ask(client, "GET", &of(namespace, plural), &Value::Null).await;
            holds(status == 200, || status.to_string())
        })
        .await;
    }
}

fn the_api_server_refuses_what_an_autoscaler_by_portraits_cannot_be_and_says_why() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        manifests::install(plane, 443, None).await;
        let namespace = "autoscaler-drafts";
        objects::create_namespace(client, namespace, &[]).await;
        served(client, namespace).await;
        let autoscalers = of(namespace, "intelligenthorizontalpodautoscalers");
        for (place, value, told) in refused() {
            let mut object = example("refused");
            *object.pointer_mut(place).expect("a place in the example") = value;
            let (status, answer) = ask(client, "POST", &autoscalers, &object).await;
            let message = answer["message"].as_str().unwrap_or_default();
            assert!(
                status == 422 && message.contains(told),
                "{place}: {status} {message}"
            );
        }
        let (status, answer) = ask(client, "POST", &autoscalers, &example("sale")).await;
        assert_eq!(status, 201, "{answer}");
        assert_eq!(answer["spec"]["scaleMode"], "Auto");
        for definition in definitions() {
            let name = definition["metadata"]["name"].as_str().expect("a name");
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            let made = get(client, &path).await;
            let explained = &definition["spec"]["versions"][0]["schema"];
            assert_eq!(
                &made["spec"]["versions"][0]["schema"], explained,
                "{name}: nothing is dropped"
            );
        }
    });
}

fn the_api_server_takes_a_portrait_from_its_maker_and_refuses_half_of_one() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        manifests::install(plane, 443, None).await;
        let namespace = "half-portraits";
        objects::create_namespace(client, namespace, &[]).await;
        served(client, namespace).await;
        let portraits = of(namespace, "horizontalportraits");
        let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "portraitType": "Burst",
            "externalGeneratorName": "us", "algorithm": {"type": "ours", "config": {"any": ["thing"]}}});
        let object = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
            "kind": "HorizontalPortrait", "metadata": {"name": "web-burst"}, "spec": spec});
        create(client, &portraits, &object).await;
        let path = format!("{portraits}/web-burst");
        let series = |points: Value, expires: Value| json!({"type": "TimeSeries", "expireTime": expires, "timeSeries": {"timeSeries": points}});
        let points = json!([{"timestamp": 60, "replicas": 1}, {"timestamp": 120, "replicas": 2}]);
        let time = json!("2027-01-01T00:00:00Z");
        let backwards =
            json!([{"timestamp": 120, "replicas": 1}, {"timestamp": 60, "replicas": 2}]);
        for (data, told) in [
            (
                series(points.clone(), Value::Null),
                "a series needs an expireTime",
            ),
            (
                series(backwards, time.clone()),
                "must be in the order of time",
            ),
            (json!({"type": "Static"}), "type Static needs static"),
            (series(points, time), ""),
        ] {
            let status = json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
                "metadata": get(client, &path).await["metadata"], "spec": spec,
                "status": {"portraitData": data}});
            let (code, answer) = ask(client, "PUT", &format!("{path}/status"), &status).await;
            let message = answer["message"].as_str().unwrap_or_default();
            if told.is_empty() {
                assert_eq!(code, 200, "{message}");
                assert_eq!(answer["spec"], spec, "what others read is kept");
            } else {
                assert!(
                    code == 422 && message.contains(told),
                    "{data}: {code} {message}"
                );
            }
        }
    });
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_api_server_refuses_what_an_autoscaler_by_portraits_cannot_be_and_says_why,
    the_api_server_takes_a_portrait_from_its_maker_and_refuses_half_of_one,
]);
