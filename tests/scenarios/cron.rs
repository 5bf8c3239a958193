//! CronHPAs on a real control plane: what its schema refuses and in which words, and an HPA that is
//! raised by one, scaled by kube-controller-manager, and put back when it goes.

use evenkeel_api::custom_resources::definitions;
use kube::Client;
use serde_json::{Value, json};

use super::world::{OPTED_IN, Patience, World};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{manifests, objects, with_control_plane};
use crate::support::dev_api::{ask, create, get};

const NAMESPACE: &str = "calendar";
const CRON_HPAS: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/calendar/cronhpas";
/// The namespace of a Deployment without an HPA.
const ALONE: &str = "calendar-alone";
/// The namespace in which nothing is scaled.
const DRAFTS: &str = "drafts";
const DRAFT_CRON_HPAS: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/drafts/cronhpas";
const HPA: &str = "/apis/autoscaling/v2/namespaces/calendar/horizontalpodautoscalers/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/calendar/deployments/web";

fn cron_hpa(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "CronHPA",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// A spec with these crons, for an HPA.
fn with(crons: &Value) -> Value {
    json!({"scaleTargetRef": {"kind": "HorizontalPodAutoscaler", "name": "web"}, "crons": crons})
}

/// A spec with a sound cron, and this on top.
fn but(change: &Value) -> Value {
    let mut spec = with(&json!([{"schedule": "0 8 * * *", "target": 3}]));
    json_patch::merge(&mut spec, change);
    spec
}

/// Crons that are refused, each with a part of what is said.
fn refused_crons() -> [(Value, &'static str); 8] {
    [
        (json!([]), "should have at least 1 items"),
        (
            json!([{"schedule": "0 8 * * *"}]),
            "schedule and target go together",
        ),
        (
            json!([{"schedule": "0 8 * * *", "target": 1, "start": "0 9 * * *", "end": "0 10 * * *",
                "replicas": 2}]),
            "either a schedule with a target, or a window",
        ),
        (
            json!([{"start": "0 9 * * *", "end": "0 10 * * *"}]),
            "start, end and replicas go together",
        ),
        (
            json!([{"schedule": "8 * *", "target": 1}]),
            "a schedule has five fields (minute, hour, day of month, month, day of week)",
        ),
        (
            json!([{"schedule": "TZ=UTC 0 8 * * *", "target": 1, "timeZone": "UTC"}]),
            "the time zone is in timeZone or before the schedule, not in both",
        ),
        (
            json!([{"name": "a", "schedule": "0 8 * * *", "target": 1},
                {"name": "a", "schedule": "0 9 * * *", "target": 1}]),
            "each cron needs a unique name",
        ),
        (
            json!([{"schedule": "0 8 * * *", "target": -1}]),
            "greater than or equal to 0",
        ),
    ]
}

/// Specs with sound crons that are refused all the same.
fn refused_specs() -> [(Value, &'static str); 4] {
    let days = |count: u32| {
        (0..count)
            .map(|day| format!("2027-01-{:02}", day % 28 + 1))
            .collect::<Vec<_>>()
    };
    let cron = |name: &str, count| json!({"name": name, "schedule": "0 8 * * *", "target": 1, "excludeDates": days(count)});
    [
        (
            json!({"excludeDates": days(64), "crons": [cron("a", 64), cron("b", 1)]}),
            "excludeDates of the spec and of all crons have at most 128 entries in total",
        ),
        (
            json!({"scaleTargetRef": {"kind": "DaemonSet", "name": "web"}}),
            "a DaemonSet has one Pod on each node",
        ),
        (
            json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "scaleWorkloadRef": {"kind": "Deployment", "name": "web"}}),
            "if scaleTargetRef is the workload itself, leave it out",
        ),
        (
            json!({"startingDeadlineSeconds": 5}),
            "greater than or equal to 30",
        ),
    ]
}

/// Crons that are taken.
fn sound_crons() -> [(&'static str, Value); 3] {
    [
        (
            "article",
            json!([{"schedule": "CRON_TZ=Asia/Shanghai 1 1 * * *", "target": 1}]),
        ),
        (
            "six",
            json!([{"schedule": "30 0 8 * * 1-5", "target": 1}, {"schedule": "@daily", "target": 2,
                "runOnce": true}]),
        ),
        (
            "window",
            json!([{"name": "sale", "start": "0 20 28 11 *", "end": "0 2 29 11 *",
                "timeZone": "Europe/Berlin", "replicas": 30, "runOnce": true,
                "excludeDates": ["2026-12-25"]}]),
        ),
    ]
}

async fn served(client: &Client) {
    eventually("CronHPAs are served", async || {
        let (status, _) = ask(client, "GET", CRON_HPAS, &Value::Null).await;
        holds(status == 200, || status.to_string())
    })
    .await;
}

fn the_api_server_refuses_what_a_cron_hpa_cannot_be_and_says_why() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        manifests::install(plane, 443, None).await;
        objects::create_namespace(client, DRAFTS, &[]).await;
        served(client).await;
        let crons = refused_crons().map(|(crons, told)| (with(&crons), told));
        let specs = refused_specs().map(|(change, told)| (but(&change), told));
        for (spec, told) in crons.into_iter().chain(specs) {
            let object = cron_hpa("refused", &spec);
            let (status, answer) = ask(client, "POST", DRAFT_CRON_HPAS, &object).await;
            let message = answer["message"].as_str().unwrap_or_default();
            let refused = status == 422 && message.contains(told);
            assert!(refused, "{spec}: {status} {message}");
        }
        for (name, crons) in sound_crons() {
            let object = cron_hpa(name, &with(&crons));
            let (status, answer) = ask(client, "POST", DRAFT_CRON_HPAS, &object).await;
            assert_eq!(status, 201, "{answer}");
            let spec = &answer["spec"];
            assert_eq!(spec["startingDeadlineSeconds"], 300, "{answer}");
        }
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cronhpas.autoscaling.evenkeel.dev";
        let made = get(client, path).await;
        let explained = &definitions()[0]["spec"]["versions"][0]["schema"];
        assert_eq!(
            &made["spec"]["versions"][0]["schema"], explained,
            "nothing is dropped"
        );
    });
}

fn a_cron_hpa_raises_an_hpa_and_puts_it_back_when_it_goes() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        served(client).await;
        workload(client).await;
        let evenkeel = world.serve_scaling("http://127.0.0.1:9").await;
        let often = json!([{"name": "often", "schedule": "*/5 * * * * *", "target": 6}]);
        create(client, CRON_HPAS, &cron_hpa("rush", &with(&often))).await;
        let bounds = |hpa: &Value| {
            (
                hpa["spec"]["minReplicas"].as_i64(),
                hpa["spec"]["maxReplicas"].as_i64(),
            )
        };
        eventually("the HPA is raised", async || {
            let hpa = get(client, HPA).await;
            holds(bounds(&hpa) == (Some(6), Some(6)), || {
                hpa["spec"].to_string()
            })
        })
        .await;
        eventually("kube-controller-manager scales to it", async || {
            let deployment = get(client, DEPLOYMENT).await;
            let replicas = &deployment["spec"]["replicas"];
            holds(replicas == 6, || replicas.to_string())
        })
        .await;
        eventually("it is told", async || {
            let status = get(client, &format!("{CRON_HPAS}/rush")).await["status"].clone();
            let ready = &status["conditions"][0];
            let told = ready["status"] == "True"
                && status["active"]["minReplicas"] == 6
                && status["lastRun"]["cron"] == "often"
                && status["nextRuns"]
                    .as_array()
                    .is_some_and(|runs| runs.len() == 5);
            holds(told, || status.to_string())
        })
        .await;
        ask(client, "DELETE", &format!("{CRON_HPAS}/rush"), &Value::Null).await;
        eventually("the HPA is as its user made it", async || {
            let hpa = get(client, HPA).await;
            let record = &hpa["metadata"]["annotations"]["evenkeel.dev/bounds"];
            let back = bounds(&hpa) == (Some(2), Some(4)) && record.is_null();
            holds(back, || format!("{} {record}", hpa["spec"]))
        })
        .await;
        evenkeel.assert_within_rights();
        for path in [HPA, DEPLOYMENT] {
            let background = json!({"propagationPolicy": "Background"});
            ask(client, "DELETE", path, &background).await;
        }
    });
}

fn a_cron_hpa_sets_the_count_of_a_deployment_alone_and_puts_it_back_when_it_goes() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        objects::create_namespace(client, ALONE, &OPTED_IN).await;
        served(client).await;
        deployment(client, ALONE).await;
        let crons_of =
            format!("/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/{ALONE}/cronhpas");
        let path = format!("/apis/apps/v1/namespaces/{ALONE}/deployments/web");
        let evenkeel = world.serve_scaling("http://127.0.0.1:9").await;
        let crons = json!([{"name": "often", "schedule": "*/5 * * * * *", "target": 6}]);
        let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "crons": crons});
        create(client, &crons_of, &cron_hpa("rush", &spec)).await;
        let record = |deployment: &Value| {
            let text = deployment["metadata"]["annotations"]["evenkeel.dev/bounds"].as_str();
            text.map(|text| serde_json::from_str::<Value>(text).expect("a record"))
        };
        eventually("the replicas are set with the record", async || {
            let deployment = get(client, &path).await;
            let users = record(&deployment).map(|record| record["user"]["min"].clone());
            let set = deployment["spec"]["replicas"] == 6 && users == Some(json!(2));
            holds(set, || deployment.to_string())
        })
        .await;
        let pods = format!("/api/v1/namespaces/{ALONE}/pods");
        eventually("kube-controller-manager makes the Pods", async || {
            let made = get(client, &pods).await["items"]
                .as_array()
                .map_or(0, Vec::len);
            holds(made == 6, || made.to_string())
        })
        .await;
        eventually("it is told", async || {
            let status = get(client, &format!("{crons_of}/rush")).await["status"].clone();
            let told =
                status["conditions"][0]["status"] == "True" && status["active"]["minReplicas"] == 6;
            holds(told, || status.to_string())
        })
        .await;
        ask(client, "DELETE", &format!("{crons_of}/rush"), &Value::Null).await;
        eventually("the count is as its user made it", async || {
            let deployment = get(client, &path).await;
            let back = deployment["spec"]["replicas"] == 2 && record(&deployment).is_none();
            holds(back, || deployment.to_string())
        })
        .await;
        evenkeel.assert_within_rights();
        let background = json!({"propagationPolicy": "Background"});
        ask(client, "DELETE", &path, &background).await;
    });
}

/// A Deployment that no kubelet runs, with an HPA of 2 to 4 that Evenkeel was not asked to predict.
async fn workload(client: &Client) {
    deployment(client, NAMESPACE).await;
    let hpa = json!({
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 4,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}],
        },
    });
    let hpas = "/apis/autoscaling/v2/namespaces/calendar/horizontalpodautoscalers";
    create(client, hpas, &hpa).await;
}

/// A Deployment of two replicas that no kubelet runs.
async fn deployment(client: &Client, namespace: &str) {
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
            "name": "app", "image": "none", "resources": {"requests": {"cpu": "10m"}}}]}}}});
    let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    create(client, &deployments, &deployment).await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_api_server_refuses_what_a_cron_hpa_cannot_be_and_says_why,
    a_cron_hpa_raises_an_hpa_and_puts_it_back_when_it_goes,
    a_cron_hpa_sets_the_count_of_a_deployment_alone_and_puts_it_back_when_it_goes,
]);
