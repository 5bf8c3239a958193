//! Manifests of other products, each beside what it becomes.

mod kapacity;
mod keda;

use evenkeel_cron::{Schedule, Zone};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;

fn circumstances(time_zone: Option<&'static str>) -> Circumstances<'static> {
    Circumstances {
        now: "2026-11-22T12:00:00Z".parse().unwrap(),
        time_zone,
    }
}

fn migrated(document: &Value, zone: Option<&'static str>) -> ConvertedManifest {
    migrate(document, &circumstances(zone)).unwrap().unwrap()
}

fn refused(document: &Value) -> String {
    let error = migrate(document, &circumstances(None))
        .unwrap()
        .unwrap_err();
    error.to_string()
}

fn has_note(migrated: &ConvertedManifest, text: &str) -> bool {
    migrated.notes.iter().any(|note| note.contains(text))
}

fn volcengine() -> Value {
    json!({
        "apiVersion": "vke.volcengine.com/v1alpha1",
        "kind": "CronHPA",
        "metadata": {"name": "nginx-cronhpa", "namespace": "default", "uid": "u",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
        "spec": {
            "crons": [{"schedule": "CRON_TZ=Asia/Shanghai 1 1 * * *", "target": 1}],
            "scaleTargetRef": {"kind": "HorizontalPodAutoscaler", "name": "nginx-hpa"},
            "scaleWorkloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"},
        },
        "status": {},
    })
}

#[test]
fn the_manifest_of_the_article_changes_its_group_alone() {
    let found = migrated(&volcengine(), None);
    assert_eq!(
        found.manifest,
        json!({
            "apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
            "kind": "CronHPA",
            "metadata": {"name": "nginx-cronhpa", "namespace": "default"},
            "spec": volcengine()["spec"],
        })
    );
    assert!(has_note(&found, "put back") && !has_note(&found, "--time-zone"));
}

#[test]
fn a_schedule_without_a_zone_is_given_one() {
    let mut document = volcengine();
    document["spec"]["crons"][0]["schedule"] = json!("1 1 * * *");
    let found = migrated(&document, None);
    assert_eq!(found.manifest["spec"]["timeZone"], "UTC");
    assert!(has_note(&found, "--time-zone"));
    let found = migrated(&document, Some("Asia/Shanghai"));
    assert_eq!(found.manifest["spec"]["timeZone"], "Asia/Shanghai");
    assert!(!has_note(&found, "--time-zone"));
}

#[test]
fn what_would_be_lost_is_refused_with_its_place() {
    let mut document = volcengine();
    document["spec"]["crons"][0]["weekdays"] = json!([1]);
    assert!(refused(&document).starts_with("spec.crons[0].weekdays: is not known"));
    let mut document = volcengine();
    document["spec"]["crons"][0]["schedule"] = json!("61 1 * * *");
    assert!(refused(&document).contains("spec.crons[0].schedule: \"61 1 * * *\""));
    let mut document = volcengine();
    document["spec"]["crons"][0]["target"] = json!("many");
    assert_eq!(
        refused(&document),
        "spec.crons[0].target: is not a replica count"
    );
    assert_eq!(
        migrate(&json!({"kind": "Service"}), &circumstances(None)),
        None
    );
}

fn aliyun(jobs: Value) -> Value {
    let mut document = json!({
        "apiVersion": "autoscaling.alibabacloud.com/v1beta1",
        "kind": "CronHorizontalPodAutoscaler",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "name": "web"},
            "excludeDates": ["* * * 15 11 *", "* * * * * 5"],
        },
    });
    document["spec"]["jobs"] = jobs;
    document
}

#[test]
fn jobs_of_aliyun_keep_their_six_fields_and_their_days() {
    let document = aliyun(json!([
        {"name": "up", "schedule": "0 0 8 * * *", "targetSize": 10},
        {"name": "sale", "schedule": "@date 2026-11-28 20:00:00", "targetSize": 30},
        {"name": "once", "schedule": "0 0 20 * * *", "targetSize": 2, "runOnce": true},
    ]));
    let found = migrated(&document, Some("Asia/Shanghai"));
    assert_eq!(
        found.manifest["spec"],
        json!({
            "scaleTargetRef": document["spec"]["scaleTargetRef"],
            "timeZone": "Asia/Shanghai",
            "excludeDates": ["* * * 15 11 *", "* * * * * 5"],
            "crons": [
                {"name": "up", "schedule": "0 0 8 * * *", "target": 10},
                {"name": "sale", "schedule": "0 0 20 28 11 *", "target": 30, "runOnce": true},
                {"name": "once", "schedule": "0 0 20 * * *", "target": 2, "runOnce": true},
            ],
        })
    );
    assert_eq!(found.manifest["metadata"]["labels"], json!({"app": "web"}));
    assert!(has_note(&found, "whole days"));
}

#[test]
fn jobs_of_aliyun_without_a_calendar_are_refused() {
    let job =
        |schedule: &str| aliyun(json!([{"name": "a", "schedule": schedule, "targetSize": 1}]));
    for (schedule, told) in [
        ("@every 10m", "@every counts from the start"),
        ("@date 2020-10-27 21:54:00", "has passed"),
        ("@date 2028-10-27 21:54:00", "schedules have no years"),
        ("@date soon", "is not a date"),
        ("0 0 8 * *  * 2026", "five fields"),
    ] {
        let error = refused(&job(schedule));
        assert!(error.contains(told), "{schedule}: {error}");
    }
    let mut document = job("0 0 8 * * *");
    document["spec"]["excludeDates"] = json!(["0 0 8 * * *"]);
    assert!(refused(&document).contains("spec.excludeDates[0]"));
}

#[test]
fn schedules_of_aliyun_are_read_by_its_own_rules() {
    for (written, schedule) in [
        ("0 0 8 * * *", "0 0 8 * * *"),
        // Five fields are six of which the day of week is missing.
        ("0 30 8 * *", "0 30 8 * * *"),
        ("0 0 8 1 12", "0 0 8 1 12 *"),
        ("@daily", "@daily"),
        ("5/15 0 8 ? * MON", "5/15 0 8 ? * MON"),
        ("0 0 8 13 * 5", "0 0 8 13 * 5"),
        // A star with a step restricts together with the other field.
        ("0 0 8 */2 * 1", "0 0 8 */2 * +1"),
        ("0 0 8 13 * */2", "0 0 8 13 * +*/2"),
    ] {
        let document = aliyun(json!([{"name": "a", "schedule": written, "targetSize": 1}]));
        let found = migrated(&document, None);
        assert_eq!(
            found.manifest["spec"]["crons"][0]["schedule"], schedule,
            "{written}"
        );
    }
    let mut document = aliyun(json!([{"name": "a", "schedule": "0 0 8 * * *", "targetSize": 1}]));
    document["spec"]["excludeDates"] = json!(["* * * 5 *", "* * * 25 12"]);
    let found = migrated(&document, None);
    assert_eq!(
        found.manifest["spec"]["excludeDates"],
        json!(["* * * 5 * *", "* * * 25 12 *"])
    );
}

#[test]
fn a_job_of_aliyun_that_runs_once_and_has_run_is_refused() {
    let job = json!({"name": "a", "schedule": "0 0 8 * * *", "targetSize": 1, "runOnce": true});
    let mut document = aliyun(json!([job]));
    for (state, has_run) in [("Submitted", false), ("Succeed", true), ("Failed", true)] {
        document["status"] = json!({"conditions": [
            {"name": "a", "schedule": "0 0 8 * * *", "state": state, "runOnce": true}]});
        let found = migrate(&document, &circumstances(None)).unwrap();
        assert_eq!(found.is_err(), has_run, "{state}: {found:?}");
    }
    assert!(refused(&document).starts_with("spec.jobs[0]: runs once, and its status"));
}

#[test]
fn a_version_or_a_part_of_an_object_that_is_not_known_is_refused() {
    for (field, value, told) in [
        (
            "apiVersion",
            json!("vke.volcengine.com/v1"),
            "accepted: vke.volcengine.com/v1alpha1",
        ),
        ("data", json!({}), "data: is not known"),
        ("metadata", json!({}), "metadata.name: is missing"),
    ] {
        let mut document = volcengine();
        document[field] = value;
        let error = refused(&document);
        assert!(error.contains(told), "{field}: {error}");
    }
}

#[test]
fn cron_triggers_of_keda_become_windows_beside_the_other_triggers() {
    let cron = json!({"type": "cron", "name": "day", "metadata": {"timezone": "Europe/Berlin",
        "start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "desiredReplicas": "10"}});
    let document = json!({
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"name": "web"},
            "triggers": [{"type": "cpu", "metadata": {"value": "60"}}, cron.clone()],
        },
    });
    let found = migrated(&document, None);
    assert_eq!(
        found.manifest["spec"],
        json!({
            "scaleTargetRef": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "name": "keda-hpa-web"},
            "crons": [{"name": "day", "timeZone": "Europe/Berlin", "start": "0 8 * * 1-5",
                "end": "0 18 * * 1-5", "replicas": 10}],
        })
    );
    assert!(has_note(
        &found,
        "remove the triggers of type cron from ScaledObject web"
    ));
    let mut alone = document.clone();
    alone["spec"]["triggers"] = json!([cron]);
    let found = migrated(&alone, None);
    assert_eq!(
        found.manifest["spec"]["scaleTargetRef"],
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    );
    assert!(has_note(&found, "delete it before you create the CronHPA"));
    assert!(has_note(&found, "so set them to 0, the minReplicaCount"));
    let mut none = document.clone();
    none["spec"]["triggers"] = json!([{"type": "cpu"}]);
    assert!(migrate(&none, &circumstances(None)).is_none());
    assert!(passed_over(&none).contains("no trigger of type cron"));
    let mut lost = document;
    lost["spec"]["triggers"][1]["metadata"]["holidays"] = json!("de");
    assert!(refused(&lost).contains("spec.triggers[1].metadata.holidays"));
}
