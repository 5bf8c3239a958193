//! A Deployment that an IHPA scales: portraits merged, one that fails, stages up and down, a check that rolls back, a
//! preview, a restart in the middle of a change, and the end.

use evenkeel_api::custom_resources::definitions;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::world::{DEPLOYMENT, HPA, MAX, MIN, SHOP, World, number, with_world};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, get, patch};

const IHPAS: &str =
    "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/intelligenthorizontalpodautoscalers";
const IHPA: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/intelligenthorizontalpodautoscalers/web";
const PROFILES: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/replicaprofiles";
const PROFILE: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/replicaprofiles/web";
pub(super) const PORTRAITS: &str =
    "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/shop/horizontalportraits";

/// Installs the kinds, and takes the HPA away.
pub(super) async fn install(world: &World<'_>) {
    install_kinds(world).await;
    let (status, answer) = ask(world.client, "DELETE", HPA, &Value::Null).await;
    assert_eq!(status, 200, "{answer}");
}

/// Installs the kinds, as the manifests do.
pub(super) async fn install_kinds(world: &World<'_>) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for definition in definitions() {
        create(world.client, path, &definition).await;
    }
    for path in [IHPAS, PORTRAITS, PROFILES] {
        eventually("the kinds are served", async || {
            let (status, _) = ask(world.client, "GET", path, &Value::Null).await;
            holds(status == 200, || status.to_string())
        })
        .await;
    }
}

pub(super) fn constant(priority: i64, replicas: i64) -> Value {
    json!({"type": "Static", "priority": priority, "static": {"replicas": replicas}})
}

fn reactive(priority: i64) -> Value {
    json!({"type": "Dynamic", "priority": priority, "dynamic": {"portraitType": "Reactive",
        "algorithm": {"type": "KubeHPA"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}]}})
}

/// Makes the IHPA with these providers, and `more` in its spec.
pub(super) async fn scale_by(world: &World<'_>, providers: &[Value], more: &Value) {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": MIN, "maxReplicas": MAX, "portraitProviders": providers,
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let object = json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
        "kind": "IntelligentHorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": spec,
    });
    create(world.client, IHPAS, &object).await;
}

fn replicas(deployment: &Value) -> i64 {
    number(deployment, "/spec/replicas").unwrap_or(1)
}

pub(super) async fn until_replicas(
    world: &World<'_>,
    what: &str,
    wanted: impl Fn(i64) -> bool,
) -> i64 {
    let found = world
        .until(DEPLOYMENT, what, |deployment| wanted(replicas(deployment)))
        .await;
    replicas(&found)
}

/// Waits until the status is as wanted.
pub(super) async fn until_told(
    world: &World<'_>,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    eventually(what, async || {
        let status = get(world.client, IHPA).await["status"].clone();
        holds(wanted(&status), || status.to_string()).map(|()| status)
    })
    .await
}

fn condition(status: &Value, kind: &str) -> Value {
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter()
        .find(|one| one["type"] == kind)
        .unwrap_or_default()
}

fn is(status: &Value, kind: &str, holds: &str) -> bool {
    condition(status, kind)["status"] == holds
}

/// The schedule of a moment so far ahead, in whole minutes.
fn ahead(world: &World<'_>, span: SignedDuration) -> String {
    let at = (world.clock.now() + span).to_zoned(TimeZone::UTC);
    at.strftime("%M %H * * *").to_string()
}

#[test]
fn the_calendar_is_above_the_load_while_its_window_is_open() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        install(world).await;
        let minutes = SignedDuration::from_mins;
        let (start, end) = (ahead(world, minutes(4)), ahead(world, minutes(8)));
        let sale = json!({"type": "Cron", "priority": 2, "cron": {"crons": [
            {"name": "sale", "start": start, "end": end, "replicas": 18}]}});
        scale_by(world, &[reactive(1), constant(0, 2), sale], &json!({})).await;
        let _service = world.serve(&[]).await;
        let told = until_told(world, "the load is followed", |status| {
            status["currentPortraitValue"]["provider"] == "reactive"
                && is(status, "ScalingActive", "True")
                && is(status, "PortraitsAvailable", "True")
        })
        .await;
        assert_eq!(told["observedGeneration"], 1, "{told}");
        until_replicas(world, "the window is open", |count| count == 18).await;
        let told = until_told(world, "the calendar is told", |status| {
            status["currentPortraitValue"]["provider"] == "cron"
        })
        .await;
        assert_eq!(
            told["previousPortraitValue"]["provider"], "reactive",
            "{told}"
        );
        until_told(world, "the load is followed again", |status| {
            status["currentPortraitValue"]["provider"] == "reactive"
        })
        .await;
        world.until_event("ReplicasRaised").await;
        let shown = world
            .until_shown("the board shows it", |shown| {
                shown["object"]["kind"] == "IntelligentHorizontalPodAutoscaler"
            })
            .await;
        assert_eq!(shown["mode"], "direct", "{shown}");
    });
}

#[test]
fn a_portrait_of_somebody_else_counts_until_it_expires_and_is_named_then() {
    with_world(async |world| {
        install(world).await;
        let theirs = json!({"type": "Dynamic", "priority": 5, "dynamic": {
            "portraitType": "Predictive", "externalGeneratorName": "ours",
            "algorithm": {"type": "Ours"}, "metrics": []}});
        scale_by(world, &[theirs, constant(1, 4)], &json!({})).await;
        let _service = world.serve(&[]).await;
        let told = until_told(world, "it is missing, and the others stand", |status| {
            is(status, "PortraitsAvailable", "False")
                && status["currentPortraitValue"]["provider"] == "static"
        })
        .await;
        let message = condition(&told, "PortraitsAvailable")["message"].to_string();
        assert!(
            message.contains("HorizontalPortrait web-predictive does not exist"),
            "{message}"
        );
        until_replicas(world, "what stands is followed", |count| count == 4).await;
        world.until_event("PortraitFailed").await;

        let portrait = json!({
            "apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "HorizontalPortrait",
            "metadata": {"name": "web-predictive"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "portraitType": "Predictive", "externalGeneratorName": "ours",
                "algorithm": {"type": "Ours"}}});
        create(world.client, PORTRAITS, &portrait).await;
        let now = world.clock.now();
        let end = now + SignedDuration::from_mins(4);
        let data = json!({"status": {"portraitData": {"type": "TimeSeries",
            "expireTime": end.to_string(), "timeSeries": {"timeSeries": [
                {"timestamp": now.as_second() - 60, "replicas": 9}]}}}});
        let path = format!("{PORTRAITS}/web-predictive/status");
        let (status, answer) = patch(world.client, &path, "merge", &data).await;
        assert_eq!(status, 200, "{answer}");
        until_replicas(world, "it is followed", |count| count == 9).await;
        until_told(world, "it has expired", |status| {
            condition(status, "PortraitsAvailable")["reason"] == "PortraitExpired"
        })
        .await;
        until_replicas(world, "the other stands", |count| count == 4).await;
    });
}

/// Steps of two Pods each minute, in both directions.
pub(super) fn in_stages() -> Value {
    let way = |state: &str| {
        json!({"grayStrategy": {"grayState": state, "changeCount": 2,
            "changeIntervalSeconds": 60, "observationSeconds": 0}})
    };
    json!({"scaleUp": way("Online"), "scaleDown": way("Deleted")})
}

#[test]
fn a_change_is_made_in_steps_and_a_restart_in_the_middle_goes_on_from_there() {
    with_world(async |world| {
        install(world).await;
        scale_by(world, &[constant(1, 8)], &json!({"behavior": in_stages()})).await;
        let service = world.serve(&[]).await;
        until_replicas(world, "the first step at once", |count| count == MIN + 2).await;
        let told = until_told(world, "the change is told", |status| {
            number(status, "/gray/toReplicas") == Some(8)
        })
        .await;
        assert!(is(&told, "GrayProgressing", "True"), "{told}");
        service.stop().await;
        let service = world.serve(&[]).await;
        let counts = eventually("all steps are made", async || {
            let count = replicas(&get(world.client, DEPLOYMENT).await);
            holds(count == 8, || count.to_string()).map(|()| count)
        })
        .await;
        assert_eq!(counts, 8);
        let told = until_told(world, "the change is finished", |status| {
            status["gray"].is_null() && is(status, "GrayProgressing", "False")
        })
        .await;
        assert_eq!(told["desired"]["onlineReplicas"], 8, "{told}");
        let raised: Vec<String> = world
            .events()
            .await
            .into_iter()
            .filter(|(reason, _)| reason == "ReplicasRaised")
            .map(|(_, note)| note)
            .collect();
        assert_eq!(raised.len(), 3, "{raised:?}");

        let fewer = json!({"spec": {"portraitProviders": [constant(1, 4)]}});
        world.change(IHPA, &fewer).await;
        until_replicas(world, "the first step down", |count| count == 6).await;
        until_replicas(world, "and the second", |count| count == 4).await;
        service.stop().await;
    });
}

#[test]
fn a_failed_check_takes_the_steps_back_until_somebody_lets_the_change_go_on() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        install(world).await;
        let begun = replicas(&get(world.client, DEPLOYMENT).await);
        world.prometheus.handle.set_load(|_| 4.0);
        let checkers = json!([{"type": "Metrics", "name": "errors", "stabilizationAction": "Rollback",
            "coolDownSeconds": 3600, "metrics": {"metrics": [{"type": "PromQL", "name": "cores",
                "operator": ">", "promQL": {
                    "query": r#"sum(rate(orders_total{namespace="$namespace"}[$window]))"#,
                    "target": {"type": "Value", "value": "1"}}}]}}]);
        let more = json!({"behavior": in_stages(), "stabilityCheckers": checkers});
        scale_by(world, &[constant(1, begun + 6)], &more).await;
        let service = world.serve(&[("scaling.queries", "any")]).await;
        until_replicas(world, "the first step is made", |count| count == begun + 2).await;
        until_replicas(world, "and taken back", |count| count == begun).await;
        let told = until_told(world, "the hold is told", |status| {
            is(status, "Stable", "False") && status["gray"]["phase"] == "RolledBack"
        })
        .await;
        assert_eq!(
            told["stability"]["holds"][0]["action"], "Rollback",
            "{told}"
        );
        world.until_event("StabilityCheckFailed").await;
        world.until_event("ChangeRolledBack").await;
        service.stop().await;
        let _service = world.serve(&[("scaling.queries", "any")]).await;
        world.pass(SignedDuration::from_mins(2)).await;
        let count = replicas(&get(world.client, DEPLOYMENT).await);
        assert_eq!(count, begun, "the hold outlasts a restart");
        world.prometheus.handle.set_load(|_| 0.0);
        let now = (world.clock.now()).to_string();
        world
            .annotate(IHPA, json!({"evenkeel.dev/resume": now}))
            .await;
        until_replicas(world, "the change goes on", |count| count == begun + 6).await;
        world.until_event("ChangeResumed").await;
    });
}

#[test]
fn a_preview_shows_and_changes_nothing_and_so_does_a_namespace_that_only_wants_to_see() {
    with_world(async |world| {
        install(world).await;
        scale_by(world, &[constant(1, 9)], &json!({"scaleMode": "Preview"})).await;
        let _service = world.serve(&[]).await;
        let told = until_told(world, "it is shown", |status| {
            number(status, "/currentPortraitValue/replicas") == Some(9)
        })
        .await;
        assert_eq!(
            condition(&told, "ScalingActive")["reason"],
            "Preview",
            "{told}"
        );
        world.pass(SignedDuration::from_mins(2)).await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), MIN);
        let namespace = format!("/api/v1/namespaces/{SHOP}");
        world
            .annotate(&namespace, json!({"evenkeel.dev/scaling": "recommend"}))
            .await;
        world
            .change(IHPA, &json!({"spec": {"scaleMode": "Auto"}}))
            .await;
        let told = until_told(world, "the namespace holds it back", |status| {
            is(status, "ScaleModeLimited", "True")
        })
        .await;
        let message = condition(&told, "ScaleModeLimited")["message"].to_string();
        assert!(
            message.contains("of its namespace is recommend"),
            "{message}"
        );
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), MIN);
        world
            .annotate(&namespace, json!({"evenkeel.dev/scaling": null}))
            .await;
        until_replicas(world, "then it acts", |count| count == 9).await;
        world
            .change(
                IHPA,
                &json!({"spec": {"paused": true,
            "portraitProviders": [constant(1, 3)]}}),
            )
            .await;
        until_told(world, "it is paused", |status| is(status, "Paused", "True")).await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), 9);
        let (status, answer) = ask(world.client, "DELETE", IHPA, &Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        world.pass(SignedDuration::from_mins(1)).await;
        assert_eq!(
            replicas(&get(world.client, DEPLOYMENT).await),
            9,
            "the end leaves it"
        );
    });
}

#[test]
fn an_hpa_or_another_ihpa_beside_it_is_a_conflict_that_both_tell_of() {
    with_world(async |world| {
        install(world).await;
        scale_by(world, &[constant(1, 9)], &json!({})).await;
        let mut second = get(world.client, IHPA).await;
        second["metadata"] = json!({"name": "other"});
        create(world.client, IHPAS, &second).await;
        let _service = world.serve(&[]).await;
        for name in ["web", "other"] {
            let path = format!("{IHPAS}/{name}");
            eventually("the conflict is told", async || {
                let status = get(world.client, &path).await["status"].clone();
                holds(is(&status, "TargetConflict", "True"), || status.to_string())
            })
            .await;
        }
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), MIN);
        ask(
            world.client,
            "DELETE",
            &format!("{IHPAS}/other"),
            &Value::Null,
        )
        .await;
        until_replicas(world, "one of them is left", |count| count == 9).await;
    });
}

/// The counts that the spec of the ReplicaProfile has: online, cut off.
async fn until_profiled(world: &World<'_>, what: &str, wanted: (i64, i64)) {
    eventually(what, async || {
        let (status, profile) = ask(world.client, "GET", PROFILE, &Value::Null).await;
        let count = |field: &str| number(&profile, &format!("/spec/{field}"));
        let found = count("onlineReplicas").zip(count("cutoffReplicas"));
        holds(found == Some(wanted), || format!("{status} {profile}"))
    })
    .await;
}

async fn until_gone(world: &World<'_>, path: &str) {
    eventually("it is gone", async || {
        let (status, _) = ask(world.client, "GET", path, &Value::Null).await;
        holds(status == 404, || status.to_string())
    })
    .await;
}

#[test]
fn pods_that_go_are_cut_off_first_by_a_profile_of_its_own_and_those_are_taken_first_again() {
    with_world(async |world| {
        install(world).await;
        let down = json!({"behavior": {"replicaProfile": {"drainSeconds": 1}, "scaleDown": {
            "grayStrategy": {"grayState": "Cutoff", "changeCount": 2,
                "changeIntervalSeconds": 60, "observationSeconds": 60}}}});
        scale_by(world, &[constant(1, 8)], &down).await;
        let own = [("scaling.replicaProfiles", "on")];
        let service = world.serve(&own).await;
        until_profiled(world, "it has a profile", (8, 0)).await;
        until_replicas(world, "which sets the count", |count| count == 8).await;
        let profile = get(world.client, PROFILE).await;
        let ihpa = get(world.client, IHPA).await;
        let owner = &profile["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], ihpa["metadata"]["uid"], "{profile}");
        assert_eq!(owner["controller"], true, "{profile}");
        eventually("the profile is followed", async || {
            let status = get(world.client, PROFILE).await["status"].clone();
            holds(is(&status, "Applied", "True"), || status.to_string())
        })
        .await;

        let fewer = |count: i64| json!({"spec": {"portraitProviders": [constant(1, count)]}});
        world.change(IHPA, &fewer(4)).await;
        until_profiled(world, "the first step", (6, 2)).await;
        let count = replicas(&get(world.client, DEPLOYMENT).await);
        assert_eq!(count, 8, "they run and are not deleted");
        service.stop().await;
        let service = world.serve(&own).await;
        until_profiled(world, "the second after a restart", (4, 4)).await;
        world.change(IHPA, &fewer(7)).await;
        until_profiled(world, "those that wait are taken first", (7, 1)).await;
        let count = replicas(&get(world.client, DEPLOYMENT).await);
        assert_eq!(count, 8, "and no new one");
        until_profiled(world, "what is left over goes", (7, 0)).await;
        until_replicas(world, "it is gone", |count| count == 7).await;

        world
            .change(IHPA, &json!({"spec": {"scaleMode": "Preview"}}))
            .await;
        until_gone(world, PROFILE).await;
        service.stop().await;
    });
}

#[test]
fn a_profile_of_somebody_else_and_the_autoscaler_refuse_each_other() {
    with_world(async |world| {
        install(world).await;
        let theirs = json!({
            "apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "ReplicaProfile",
            "metadata": {"name": "theirs"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "onlineReplicas": 5}});
        create(world.client, PROFILES, &theirs).await;
        scale_by(world, &[constant(1, 8)], &json!({})).await;
        let _service = world.serve(&[("scaling.replicaProfiles", "on")]).await;
        until_told(world, "the autoscaler tells of it", |status| {
            is(status, "ProfileConflict", "True")
        })
        .await;
        let path = format!("{PROFILES}/theirs");
        eventually("so does the profile", async || {
            let status = get(world.client, &path).await["status"].clone();
            let message = condition(&status, "Applied")["message"].to_string();
            let named = message.contains("IntelligentHorizontalPodAutoscaler web also scales");
            holds(named, || status.to_string())
        })
        .await;
        assert_eq!(replicas(&get(world.client, DEPLOYMENT).await), MIN);
        ask(world.client, "DELETE", &path, &Value::Null).await;
        until_replicas(world, "the autoscaler is left", |count| count == 8).await;
    });
}
