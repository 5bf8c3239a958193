//! CronHPAs beside the floor of a load that rises: the window opens and closes by the service's own
//! clock, and what it changed is put back whatever ends it.

use evenkeel_api::custom_resources::definitions;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::world::{
    BOUNDS, DEPLOYMENT, HPA, MAX, MIN, World, annotation, least, number, with_world,
};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, get};

const CRON_HPAS: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/cronhpas";

/// Installs the kind, as the manifests do.
async fn install(world: &World<'_>) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for definition in definitions() {
        create(world.client, path, &definition).await;
    }
    eventually("CronHPAs are served", async || {
        let (status, _) = ask(world.client, "GET", CRON_HPAS, &Value::Null).await;
        holds(status == 200, || status.to_string())
    })
    .await;
}

async fn ask_for(world: &World<'_>, name: &str, crons: Value) {
    let mut object = json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "CronHPA",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    });
    object["spec"]["crons"] = crons;
    create(world.client, CRON_HPAS, &object).await;
}

/// The schedule of a moment so far ahead.
fn ahead(world: &World<'_>, span: SignedDuration) -> String {
    let at = (world.clock.now() + span).to_zoned(TimeZone::UTC);
    at.strftime("%S %M %H * * *").to_string()
}

async fn until_put_back(world: &World<'_>, why: &str) {
    world
        .until_autoscaler(why, |hpa| {
            least(hpa) == MIN
                && number(hpa, "/spec/maxReplicas") == Some(MAX)
                && annotation(hpa, BOUNDS).is_none()
        })
        .await;
}

async fn until_told(world: &World<'_>, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) {
    let path = format!("{CRON_HPAS}/{name}");
    eventually(what, async || {
        let status = get(world.client, &path).await["status"].clone();
        holds(wanted(&status), || status.to_string())
    })
    .await;
}

fn condition(status: &Value, kind: &str) -> Value {
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter()
        .find(|one| one["type"] == kind)
        .unwrap_or_default()
}

#[test]
fn a_window_holds_its_replicas_and_is_put_back_when_it_closes() {
    with_world(async |world| {
        install(world).await;
        world.set_mode("recommend").await;
        let _service = world.serve(&[]).await;
        let minutes = SignedDuration::from_mins;
        let (start, end) = (ahead(world, minutes(2)), ahead(world, minutes(5)));
        let window = json!([{"name": "sale", "start": start, "end": end, "replicas": 30}]);
        ask_for(world, "sale", window).await;
        until_told(world, "sale", "what is to come is told", |status| {
            condition(status, "Ready")["status"] == "True"
                && status["nextRuns"][0]["cron"] == "sale"
                && status["observedGeneration"] == 1
        })
        .await;
        world
            .until_autoscaler("the window is open", |hpa| {
                least(hpa) == 30 && number(hpa, "/spec/maxReplicas") == Some(30)
            })
            .await;
        until_told(world, "sale", "it is told", |status| {
            status["active"]["minReplicas"] == 30
        })
        .await;
        until_put_back(world, "the window has closed").await;
        world.until_event("WindowOpened").await;
        world.until_event("WindowClosed").await;
        until_told(world, "sale", "nothing is asked for", |status| {
            status["active"].is_null() && condition(status, "Active")["status"] == "False"
        })
        .await;
    });
}

#[test]
fn a_run_stands_through_a_restart_until_its_cron_hpa_goes() {
    with_world(async |world| {
        install(world).await;
        world.set_mode("recommend").await;
        let service = world.serve(&[]).await;
        let run = json!([{"name": "up", "schedule": ahead(world, SignedDuration::from_mins(1)),
            "target": 9}]);
        ask_for(world, "day", run).await;
        world
            .until_autoscaler("the run is made", |hpa| least(hpa) == 9)
            .await;
        until_told(world, "day", "it is told", |status| {
            status["held"]["minReplicas"] == 9 && status["lastRun"]["target"] == 9
        })
        .await;
        service.stop().await;
        let service = world.serve(&[]).await;
        world.until_event("CronRan").await;
        world.pass(SignedDuration::from_mins(2)).await;
        assert_eq!(least(&world.autoscaler().await), 9, "it stands");
        let runs = world.events().await;
        let runs = runs.iter().filter(|(reason, _)| reason == "CronRan");
        assert_eq!(runs.count(), 1, "and was made once");
        let metrics = world.metrics().await;
        assert!(
            metrics.contains(r#"evenkeel_scaling_cron_hpas{state="followed"} 1"#),
            "{metrics}"
        );
        ask(
            world.client,
            "DELETE",
            &format!("{CRON_HPAS}/day"),
            &Value::Null,
        )
        .await;
        until_put_back(world, "the CronHPA is gone").await;
        service.stop().await;
    });
}

#[test]
fn a_cron_and_a_floor_on_one_hpa_leave_each_other_alone() {
    with_world(async |world| {
        install(world).await;
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        world
            .until_autoscaler("the floor is raised", |hpa| least(hpa) > MIN)
            .await;
        let minutes = SignedDuration::from_mins;
        let window = json!([{"name": "sale", "start": ahead(world, minutes(1)),
            "end": ahead(world, minutes(3)), "replicas": 18}]);
        ask_for(world, "sale", window).await;
        world
            .until_autoscaler("the window is open", |hpa| least(hpa) >= 18)
            .await;
        let record = world
            .until_autoscaler("the window has closed, and the floor stays", |hpa| {
                let record = annotation(hpa, BOUNDS).unwrap_or_default();
                record.contains("prediction") && !record.contains("cron/") && least(hpa) > MIN
            })
            .await;
        assert!(least(&record) <= MAX, "{record}");
        world.set_mode("off").await;
        until_put_back(world, "mode off").await;
        until_told(
            world,
            "sale",
            "nothing is scaled, and that is told",
            |status| {
                let ready = condition(status, "Ready");
                ready["status"] == "False" && ready["reason"] == "ScalingOff"
            },
        )
        .await;
        assert_eq!(
            number(&get(world.client, HPA).await, "/spec/minReplicas"),
            Some(MIN)
        );
    });
}

/// Takes the HPA away, so that nothing scales the Deployment.
async fn alone(world: &World<'_>) {
    let (status, answer) = ask(world.client, "DELETE", HPA, &Value::Null).await;
    assert_eq!(status, 200, "{answer}");
}

/// Waits until the Deployment has this count, with the record of the user's own or without.
async fn until_count(world: &World<'_>, what: &str, count: i64, recorded: bool) {
    world
        .until(DEPLOYMENT, what, |deployment| {
            let has_record = annotation(deployment, BOUNDS).is_some();
            number(deployment, "/spec/replicas") == Some(count) && has_record == recorded
        })
        .await;
}

#[test]
fn a_window_sets_the_count_of_a_deployment_alone_and_what_ends_it_puts_it_back() {
    with_world(async |world| {
        install(world).await;
        alone(world).await;
        let _service = world.serve(&[]).await;
        let minutes = SignedDuration::from_mins;
        let window = json!([{"name": "sale", "start": ahead(world, minutes(1)),
            "end": ahead(world, minutes(3)), "replicas": 7}]);
        ask_for(world, "sale", window).await;
        until_count(world, "the window is open", 7, true).await;
        until_count(world, "the window has closed", MIN, false).await;
        world.until_event("ReplicasRaised").await;
        world.until_event("ReplicasLowered").await;
        let run = json!([{"name": "up", "schedule": ahead(world, minutes(1)), "target": 9}]);
        ask_for(world, "day", run).await;
        // Two CronHPAs would set the count of one workload, each its own.
        for name in ["sale", "day"] {
            until_told(world, name, "both are refused", |status| {
                condition(status, "Ready")["reason"] == "TargetConflict"
            })
            .await;
        }
        ask(
            world.client,
            "DELETE",
            &format!("{CRON_HPAS}/sale"),
            &Value::Null,
        )
        .await;
        until_count(world, "the run is made once the other is gone", 9, true).await;
        let path = format!("{CRON_HPAS}/day");
        world
            .change(&path, &json!({"spec": {"suspend": true}}))
            .await;
        until_count(world, "it is suspended", MIN, false).await;
        world
            .change(&path, &json!({"spec": {"suspend": false}}))
            .await;
        let often = json!({"spec": {"crons": [{"name": "often", "schedule": "*/10 * * * * *",
            "target": 5}]}});
        world.change(&path, &often).await;
        until_count(world, "another run is made", 5, true).await;
        let namespace = "/api/v1/namespaces/shop";
        world
            .annotate(namespace, json!({"evenkeel.dev/enabled": null}))
            .await;
        until_count(world, "its namespace has opted out", MIN, false).await;
    });
}

#[test]
fn a_window_moves_the_bounds_of_mode_direct_and_no_record_is_kept() {
    with_world(async |world| {
        install(world).await;
        alone(world).await;
        let annotations = json!({"evenkeel.dev/scaling": "direct",
            "evenkeel.dev/min-replicas": MIN.to_string(), "evenkeel.dev/max-replicas": "4",
            "evenkeel.dev/behavior": r#"{"scaleDown": {"stabilizationWindowSeconds": 0}}"#});
        world.annotate(DEPLOYMENT, annotations).await;
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        let minutes = SignedDuration::from_mins;
        let window = json!([{"name": "sale", "start": ahead(world, minutes(1)),
            "end": ahead(world, minutes(4)), "replicas": 30}]);
        ask_for(world, "sale", window).await;
        until_count(world, "the window is open", 30, false).await;
        until_told(world, "sale", "it is told", |status| {
            condition(status, "Ready")["status"] == "True" && status["active"]["minReplicas"] == 30
        })
        .await;
        world
            .until(
                DEPLOYMENT,
                "the bounds are the user's again",
                |deployment| number(deployment, "/spec/replicas").is_some_and(|count| count <= 4),
            )
            .await;
    });
}
