//! HPAs that KEDA made, and loads that a query of their author names.

use evenkeel_clock::{self as clock, Clock};
use kube::Client;
use serde_json::{Value, json};

use super::{QUERY, SHORT, assess, by, deploy, path, scale, target, with_server};
use crate::support::custom_kind::{KEDA, define};
use crate::support::dev_api::create;
use crate::support::load;

/// The query that the Prometheus of the fixture answers, with the namespace to be filled in.
const ORDERS: &str = r#"sum(rate(orders_total{namespace="$namespace"}[20000ms]))"#;

/// A ScaledObject of the Deployment of its name.
async fn scaled_object(client: &Client, name: &str, annotations: Value) -> Value {
    let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": name, "labels": {"app": name}, "annotations": annotations},
        "spec": {"scaleTargetRef": {"name": name}, "minReplicaCount": 1, "maxReplicaCount": 30}});
    create(client, &path("keda.sh/v1alpha1/scaledobjects"), &object).await
}

/// A Deployment with the HPA that KEDA makes of a ScaledObject.
async fn scale_by_keda(client: &Client, name: &str, metric: &Value, annotations: Value) {
    deploy(client, name).await;
    let object = scaled_object(client, name, annotations).await;
    let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": name,
        "uid": object["metadata"]["uid"], "controller": true}]);
    let mut autoscaler = super::autoscaler(name, metric, [1, 30]);
    autoscaler["metadata"]["name"] = json!(format!("keda-hpa-{name}"));
    autoscaler["metadata"]["ownerReferences"] = owner;
    scale(client, &autoscaler).await;
}

fn external() -> Value {
    json!({"type": "External", "external": {"metric": {"name": "s0-prometheus"},
        "target": {"type": "AverageValue", "averageValue": "50"}}})
}

fn orders() -> Value {
    json!({"evenkeel.dev/query": ORDERS, "evenkeel.dev/query-target": "50"})
}

/// 1.5 cores, and 150 orders a second, all the time: 5 Pods by the one, and 3 by the other.
async fn plant(client: &Client) -> load::Prometheus {
    define(client, KEDA, "Namespaced").await;
    scale_by_keda(client, "web", &by("cpu"), json!({})).await;
    scale_by_keda(client, "mail", &external(), orders()).await;
    scale_by_keda(client, "unnamed", &external(), json!({})).await;
    scaled_object(client, "alone", json!({})).await;
    let paused = json!({"autoscaling.keda.sh/paused": "true"});
    scaled_object(client, "paused", paused).await;
    deploy(client, "shop").await;
    let mut by_query = super::autoscaler("shop", &external(), [1, 30]);
    by_query["metadata"]["annotations"] = orders();
    scale(client, &by_query).await;
    let clock = Clock::accelerated(1.0, clock::now(), clock::now());
    load::Prometheus::start(("shop", "Deployment/web"), clock, |_| 1.5).await
}

fn hpas_of_keda_and_loads_by_query_are_replayed() {
    with_server(async |server, client| {
        let prometheus = plant(client).await;
        let url = ["--prometheus", &prometheus.url];
        let any = ["--set", "scaling.queries=any", "-o", "json"];
        let asked = [&url[..], &QUERY, &SHORT, &any].concat();
        let called = assess(&server.kubeconfig(), &asked).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        let report = called.json();
        for (name, scaled_object, signal, each, replicas) in [
            ("keda-hpa-web", json!("web"), "cpu", 300.0, 5.0),
            ("keda-hpa-mail", json!("mail"), "query", 50.0, 3.0),
            ("shop", Value::Null, "query", 50.0, 3.0),
        ] {
            let one = target(&report, name);
            let load = &one["load"];
            assert_eq!(one["scaledObject"], scaled_object, "{one}");
            assert!(load["signal"].as_str().unwrap().contains(signal), "{one}");
            let of_pod = load["request"].as_f64().unwrap() * load["target"].as_f64().unwrap();
            assert!((of_pod - each).abs() < 1e-6, "{one}");
            let days = one["past"]["knownDays"].as_f64().unwrap();
            assert!((6.95..=7.0).contains(&days), "{one}");
            // The last day.
            let hours = one["judged"]["today"]["replicaHours"].as_f64().unwrap();
            assert!((hours / 24.0 - replicas).abs() < 0.1, "{one}");
            assert_eq!(one["reason"], "NothingToSave", "{one}");
        }
        for (name, reason, told) in [
            ("keda-hpa-unnamed", "NoPast", "evenkeel.dev/query"),
            ("alone", "NoAutoscaler", "KEDA has created no HPA"),
            ("paused", "Paused", "paused"),
        ] {
            let one = target(&report, name);
            assert_eq!(
                (&one["verdict"], &one["reason"]),
                (&"notForecast".into(), &reason.into())
            );
            assert!(one["because"].as_str().unwrap().contains(told), "{one}");
        }
        let summary = &report["summary"];
        assert_eq!(
            (&summary["targets"], &summary["assessed"]),
            (&6.into(), &3.into())
        );

        // An HPA author's query is not sent with the caller's rights unless that is allowed.
        let one = ["-n", "shop", "-l", "app in (shop, alone)"];
        let called = assess(&server.kubeconfig(), &[&url[..], &QUERY, &one].concat()).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        let told = &called.stdout;
        assert!(told.starts_with("0 of 2 HPAs assessed: "), "{told}");
        assert!(told.contains("scaling.queries is not any"), "{told}");
        assert!(
            told.contains("shop/alone: KEDA has created no HPA"),
            "{told}"
        );
    });
}

crate::support::trial::suite!(
    [] => [
        hpas_of_keda_and_loads_by_query_are_replayed,
    ],
);
