//! CronHPAs as the watches show them: what each scales, and what is told and remembered of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::write::WriteOperation;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::workload::Workload;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::merge::recommendation::Ask;
use crate::specs::cron_hpa::CronHpa;
use crate::specs::scaling_policy::PredictionModel;
use crate::targets::reference::TargetRef;
use crate::targets::resolve::resolve;
use crate::targets::settings::{Queries, Settings};
use crate::targets::target_objects::TargetPodFacts;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cron_hpa(spec: &Value) -> CronHpa {
    serde_json::from_value(json!({
        "metadata": {"name": "shop", "namespace": "shop", "uid": "c", "resourceVersion": "7",
            "generation": 1, "creationTimestamp": "2026-11-22T00:00:00Z"},
        "spec": spec,
    }))
    .unwrap()
}

fn targeting(target: &Value) -> Arc<CheckedCronHpa> {
    let mut spec = json!({"crons": [{"schedule": "0 8 * * *", "target": 6}]});
    for (key, value) in target.as_object().unwrap() {
        spec[key] = value.clone();
    }
    Arc::new(CheckedCronHpa::new(Arc::new(cron_hpa(&spec)), None))
}

/// A Deployment of a name that no HPA scales.
fn alone(name: &str) -> TargetObjects {
    let workload = Workload::deserialize(
        Kind::Deployment,
        json!({
        "metadata": {"name": name, "namespace": "shop"}, "spec": {"replicas": 2}}),
    )
    .unwrap();
    let opted_in = BTreeMap::from([("evenkeel.dev/enabled".to_owned(), "true".to_owned())]);
    TargetObjects {
        autoscaler: None,
        workload: Some(Arc::new(workload)),
        namespace_policy: Arc::new(NamespacePolicy::parse(&opted_in).0),
        ..observed("none", name)
    }
}

/// A DaemonSet, which no CronHPA could scale.
fn daemon_set(name: &str) -> TargetObjects {
    let mut observed = alone(name);
    let mut workload = Workload::clone(observed.workload.as_ref().unwrap());
    workload.kind = Kind::DaemonSet;
    observed.workload = Some(Arc::new(workload));
    observed.target = TargetRef::of_kind(Kind::DaemonSet, "shop", name);
    observed
}

/// A Deployment of a name with a ScaledObject that has no HPA.
fn kept_by_keda(name: &str) -> TargetObjects {
    let scaled_object = json!({"metadata": {"name": name, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"name": name}}});
    TargetObjects {
        scaled_object: Some(Arc::new(serde_json::from_value(scaled_object).unwrap())),
        workload: None,
        ..alone(name)
    }
}

/// The HPA of a name, for a Deployment of a name.
fn observed(hpa: &str, workload: &str) -> TargetObjects {
    let autoscaler = json!({
        "metadata": {"name": hpa, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload},
            "minReplicas": 1, "maxReplicas": 10},
    });
    TargetObjects {
        namespace: Arc::from("shop"),
        namespace_policy: Arc::new(NamespacePolicy::default()),
        autoscaler: Some(Arc::new(serde_json::from_value(autoscaler).unwrap())),
        ihpa: None,
        portraits: Vec::new(),
        profiles: crate::targets::observed_profiles::ObservedProfiles::default(),
        scaled_object: None,
        workload: None,
        target: TargetRef::new("apps/v1", "Deployment", "shop", workload),
        pods: TargetPodFacts::default(),
    }
}

#[test]
fn a_cron_hpa_goes_through_the_hpa_of_its_workload() {
    let targets = [
        observed("web-hpa", "web"),
        observed("api", "api"),
        observed("twin-a", "twin"),
        observed("twin-b", "twin"),
    ];
    let conflicts = [false, false, true, true];
    let hpa = |name: &str| json!({"kind": "HorizontalPodAutoscaler", "name": name});
    let deployment = |name: &str| json!({"kind": "Deployment", "name": name});
    for (target, expected) in [
        (json!({"scaleTargetRef": hpa("web-hpa")}), Ok(0)),
        (
            json!({"scaleTargetRef": hpa("api"), "scaleWorkloadRef": deployment("api")}),
            Ok(1),
        ),
        (json!({"scaleTargetRef": deployment("web")}), Ok(0)),
        (
            json!({"scaleTargetRef":
                {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"}}),
            Ok(0),
        ),
        (json!({"scaleTargetRef": hpa("web")}), Err("TargetNotFound")),
        (
            json!({"scaleTargetRef": hpa("api"), "scaleWorkloadRef": deployment("web")}),
            Err("OtherWorkload"),
        ),
        (
            json!({"scaleTargetRef": hpa("twin-b")}),
            Err("TargetConflict"),
        ),
        (
            json!({"scaleTargetRef": deployment("twin")}),
            Err("TargetConflict"),
        ),
        (
            json!({"scaleTargetRef": deployment("gone")}),
            Err("TargetNotFound"),
        ),
        (
            json!({"scaleTargetRef":
                {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}}),
            Err("NoAutoscaler"),
        ),
    ] {
        let found = assigned(&targets, &conflicts, &target);
        assert_eq!(found, expected, "{target}");
    }
}

/// The place of what is scaled, or why nothing is.
fn assigned(
    targets: &[TargetObjects],
    conflicts: &[bool],
    target: &Value,
) -> Result<usize, &'static str> {
    let mut found = assign(targets, conflicts, &[targeting(target)]);
    match found.remove(0) {
        CronTarget::Target(place) => Ok(place),
        CronTarget::Refused(problem) => Err(problem.reason()),
    }
}

#[test]
fn a_workload_without_an_hpa_is_scaled_itself_where_it_can_be_and_nothing_else_does() {
    let targets = [
        observed("api", "api"),
        alone("alone"),
        daemon_set("agent"),
        alone("paused"),
        kept_by_keda("paused"),
        alone("api"),
    ];
    for (kind, name, expected) in [
        ("Deployment", "alone", Ok(1)),
        ("Deployment", "api", Ok(0)),
        ("DaemonSet", "agent", Err("NoScale")),
        ("Deployment", "paused", Err("ScaledObjectAlone")),
        ("StatefulSet", "alone", Err("TargetNotFound")),
    ] {
        let target = json!({"scaleTargetRef": {"kind": kind, "name": name}});
        let found = assigned(&targets, &[false; 6], &target);
        assert_eq!(found, expected, "{kind} {name}");
    }
}

fn settings() -> Settings {
    Settings {
        mode: ScalingMode::Recommend,
        predict: PredictionModel::Auto,
        interval: SignedDuration::from_secs(15),
        max_age: SignedDuration::from_mins(3),
        queries: Queries::Any,
        risk: Risk::DEFAULT,
        follows_profiles: false,
        asks_checks: false,
    }
}

#[test]
fn of_a_workload_alone_one_cron_hpa_sets_the_count_and_two_are_refused_both() {
    let observed = alone("alone");
    let now = at("2026-11-22T08:00:00Z");
    let resolved = resolve(&observed, false, &settings(), None, now);
    let target = json!({"kind": "Deployment", "name": "alone"});
    let cron = |more: Value| {
        let mut spec = json!({"scaleTargetRef": target});
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        targeting(&spec)
    };
    let (one, two) = (cron(json!({})), cron(json!({})));
    let asleep = cron(json!({"suspend": true}));
    let broken = cron(json!({"crons": [{"schedule": "99 8 * * *", "target": 6}]}));
    for others in [&[][..], &[&*asleep], &[&*broken]] {
        let crons: Vec<&CheckedCronHpa> = others.iter().copied().chain([&*one]).collect();
        let scaled = scaled(&observed, &resolved, &one, &crons).unwrap();
        assert_eq!(scaled.saying, CronEffect::Count);
        assert_eq!(
            (scaled.user, scaled.current),
            (ObjectBounds::of_count(2), Some(2))
        );
    }
    let refused = scaled(&observed, &resolved, &one, &[&one, &two]).unwrap_err();
    assert_eq!(refused.reason(), "TargetConflict");
    assert!(
        refused
            .to_string()
            .starts_with("more than one CronHPA scales Deployment alone")
    );
}

#[test]
fn what_a_run_says_to_a_count_is_told_as_a_count() {
    let mut played = Played::new(&day_and_night());
    if let Ok(scaled) = &mut played.scaled {
        scaled.user = ObjectBounds::of_count(8);
        scaled.saying = CronEffect::Count;
        scaled.current = Some(8);
    }
    assert_eq!(
        played.min("2026-11-22T08:00:05Z"),
        Some(6),
        "below the user's"
    );
    let checked = CheckedCronHpa::new(Arc::new(played.object.clone()), None);
    let last = asked_last(&checked, played.scaled.as_ref().unwrap()).unwrap();
    assert_eq!((last.min(), last.until), (Some(6), None));
    let active = &played.status().conditions[1];
    assert_eq!(
        active.message,
        "6 replicas are asked for, until the next run"
    );
}

/// A CronHPA beside an API server that keeps its status.
struct Played {
    object: CronHpa,
    memory: CronMemory,
    scaled: Result<CronScaleTarget, CronProblem>,
    told: Vec<String>,
}

impl Played {
    fn new(crons: &Value) -> Self {
        let target = json!({"kind": "HorizontalPodAutoscaler", "name": "web"});
        Self {
            object: cron_hpa(&json!({"scaleTargetRef": target, "crons": crons})),
            memory: CronMemory::default(),
            scaled: Ok(CronScaleTarget {
                user: ObjectBounds {
                    min: Some(1),
                    max: 10,
                },
                saying: CronEffect::Bounds,
                effective: Some(1),
                recorded: None,
                least: 1,
                current: Some(5),
                is_contested: false,
            }),
            told: Vec::new(),
        }
    }

    fn plan(&mut self, now: &str) -> CronPlan {
        let checked = CheckedCronHpa::new(Arc::new(self.object.clone()), None);
        let context = PlanContext {
            now: at(now),
            reporter: "pod-a",
        };
        plan_cron(&checked, self.scaled.clone(), &mut self.memory, &context)
    }

    /// Plans and applies; the plan of what the writes leave behind is empty.
    fn tick(&mut self, now: &str) -> CronPlan {
        let plan = self.plan(now);
        for write in &plan.writes {
            match &write.operation {
                WriteOperation::Merge(body) => {
                    assert_eq!(
                        write.target.to_string(),
                        "cronhpas.autoscaling.evenkeel.dev/status shop/shop"
                    );
                    assert_eq!(body["metadata"]["resourceVersion"], "7");
                    let mut status = json!(self.object.status);
                    json_patch::merge(&mut status, &body["status"]);
                    self.object.status = Some(serde_json::from_value(status).unwrap());
                }
                WriteOperation::Create(event) => {
                    assert_eq!(event["regarding"]["kind"], "CronHPA");
                    self.told.push(event["reason"].as_str().unwrap().to_owned());
                }
                WriteOperation::Conditional(_) | WriteOperation::Delete { .. } => {
                    panic!("{write:?}")
                }
            }
        }
        let again = self.plan(now);
        assert_eq!(
            (again.writes, &again.contribution),
            (vec![], &plan.contribution)
        );
        plan
    }

    fn min(&mut self, now: &str) -> Option<i32> {
        self.tick(now).contribution.and_then(|one| one.min())
    }

    fn status(&self) -> &CronHpaStatus {
        self.object.status.as_ref().unwrap()
    }

    fn ready(&self) -> (bool, String) {
        let ready = &self.status().conditions[0];
        (ready.status == ConditionStatus::True, ready.reason.clone())
    }
}

fn day_and_night() -> Value {
    json!([
        {"name": "day", "schedule": "0 8 * * *", "target": 6},
        {"name": "night", "schedule": "0 20 * * *", "target": 12},
    ])
}

#[test]
fn a_run_is_made_once_told_once_and_shown() {
    let mut played = Played::new(&day_and_night());
    assert_eq!(played.min("2026-11-22T07:59:50Z"), None);
    assert_eq!(played.ready(), (true, "Followed".to_owned()));
    let next: Vec<&str> = played
        .status()
        .next_runs
        .iter()
        .map(|one| one.cron.as_str())
        .collect();
    assert_eq!(next, ["day", "night", "day", "night", "day"]);
    assert_eq!(
        played.status().next_runs[0].local_time,
        "Sun 2026-11-22 08:00:00 UTC"
    );

    assert_eq!(played.min("2026-11-22T08:00:05Z"), Some(6));
    assert_eq!(played.min("2026-11-22T08:00:20Z"), Some(6));
    assert_eq!(played.told, ["CronRan"]);
    let status = played.status();
    assert_eq!(status.next_runs[0].cron, "night");
    let last = status.last_run.as_ref().unwrap();
    assert_eq!(
        (last.cron.as_str(), last.target, last.replicas),
        ("day", 6, 5)
    );
    assert_eq!(last.scheduled_time, at("2026-11-22T08:00:00Z"));
    assert_eq!(status.active.as_ref().unwrap().min_replicas, 6);

    let evening = played.tick("2026-11-22T20:00:00Z").contribution.unwrap();
    assert_eq!(
        evening.ask,
        Ask::AtLeast {
            min: Some(12),
            max: Some(12)
        },
        "past the user's most"
    );
}

#[test]
fn whoever_takes_over_goes_on_from_the_status() {
    let mut played = Played::new(&day_and_night());
    played.min("2026-11-22T07:59:50Z");
    played.min("2026-11-22T08:00:05Z");
    played.memory = CronMemory::default();
    assert_eq!(
        played.min("2026-11-22T08:00:20Z"),
        Some(6),
        "nothing is forgotten"
    );
    assert_eq!(played.told, ["CronRan"], "nothing is repeated");
    // No replica leads in the evening: late by more than the deadline, and reported once.
    played.memory = CronMemory::default();
    assert_eq!(played.min("2026-11-22T20:05:01Z"), Some(6));
    assert_eq!(played.min("2026-11-22T20:05:16Z"), Some(6));
    assert_eq!(played.told, ["CronRan", "CronMissed"]);
    // The next morning within it.
    played.memory = CronMemory::default();
    assert_eq!(played.min("2026-11-23T08:04:59Z"), Some(6));
    let last = played.status().last_run.as_ref().unwrap();
    assert_eq!(last.scheduled_time, at("2026-11-23T08:00:00Z"));
    assert_eq!(
        played.told,
        ["CronRan", "CronMissed"],
        "it leaves what the one of yesterday has left"
    );
}

#[test]
fn what_was_decided_stands_while_its_status_is_on_its_way() {
    let mut played = Played::new(&day_and_night());
    played.min("2026-11-22T07:59:50Z");
    let ran = played.plan("2026-11-22T08:00:05Z");
    assert_eq!(ran.happened.len(), 1);
    let again = played.plan("2026-11-22T08:00:20Z");
    assert_eq!(
        again.happened,
        [],
        "the watch still shows the status of before"
    );
    assert_eq!(again.contribution, ran.contribution);
    assert_eq!(again.writes.len(), 1, "the status, and no Event");
    // One that was made anew under its name is another.
    played.object.metadata.uid = Some("d".to_owned());
    played.object.status = None;
    played.object.metadata.creation_timestamp = Some(at("2026-11-22T08:00:21Z"));
    assert_eq!(played.min("2026-11-22T08:00:35Z"), None);
}

#[test]
fn what_keeps_crons_from_being_followed_is_told_once_and_asks_for_nothing() {
    let ready = Played::new(&day_and_night()).scaled;
    for (scaled, crons, reason) in [
        (
            ready.clone(),
            json!([{"schedule": "99 8 * * *", "target": 6}]),
            "Invalid",
        ),
        (
            Err(CronProblem::NotFound("Deployment web".to_owned())),
            day_and_night(),
            "TargetNotFound",
        ),
        (
            Err(CronProblem::Declined("Deployment web".to_owned())),
            day_and_night(),
            "ScalingOff",
        ),
    ] {
        let mut played = Played::new(&crons);
        played.scaled = scaled;
        assert!(!played.tick("2026-11-22T08:00:05Z").is_ready);
        assert_eq!(played.min("2026-11-22T08:00:20Z"), None);
        assert_eq!(played.ready(), (false, reason.to_owned()));
        assert_eq!(played.told, [reason]);
        // Once it is over, the run is made up for.
        if reason != "Invalid" {
            played.scaled = ready.clone();
            assert_eq!(played.min("2026-11-22T08:01:00Z"), Some(6), "{reason}");
        }
    }
}

#[test]
fn contested_bounds_are_told_and_what_was_asked_for_stays_recorded() {
    let mut played = Played::new(&day_and_night());
    assert_eq!(played.min("2026-11-22T08:00:05Z"), Some(6));
    if let Ok(scaled) = &mut played.scaled {
        scaled.is_contested = true;
    }
    let plan = played.tick("2026-11-22T08:00:20Z");
    assert!(plan.contribution.is_some() && !plan.is_ready);
    assert_eq!(played.ready(), (false, "FloorContested".to_owned()));
}

#[test]
fn an_hpa_that_takes_no_zero_is_not_asked_for_it() {
    let mut played = Played::new(&json!([{"name": "off", "schedule": "0 8 * * *", "target": 0}]));
    if let Ok(scaled) = &mut played.scaled {
        scaled.user.min = Some(3);
    }
    assert_eq!(played.min("2026-11-22T08:00:05Z"), Some(1));
    if let Ok(scaled) = &mut played.scaled {
        scaled.least = 0;
    }
    assert_eq!(played.min("2026-11-22T08:00:20Z"), Some(0));
}

#[test]
fn a_window_ends_by_itself_and_a_run_is_renewed() {
    let mut played = Played::new(&json!([
        {"name": "noon", "start": "0 11 * * *", "end": "0 13 * * *", "replicas": 8}]));
    let open = played.tick("2026-11-22T11:30:00Z").contribution.unwrap();
    assert_eq!(open.until, Some(at("2026-11-22T13:00:00Z")));
    let status = played.status();
    assert_eq!(status.active.as_ref().unwrap().until, open.until);
    assert_eq!(status.next_runs[0].end, Some(at("2026-11-23T13:00:00Z")));
    assert_eq!(played.min("2026-11-22T13:00:00Z"), None);
    assert_eq!(played.told, ["WindowOpened", "WindowClosed"]);
    let mut run = Played::new(&day_and_night());
    let stands = run.tick("2026-11-22T08:00:00Z").contribution.unwrap();
    assert_eq!(stands.until, None, "cut by the record, and renewed");
}

#[test]
fn a_schedule_of_seconds_costs_a_status_a_minute_and_an_event_for_what_it_changes() {
    for (target, told, min) in [(3, 0, None), (6, 1, Some(6))] {
        let mut played = Played::new(&json!([
            {"name": "often", "schedule": "* * * * * *", "target": target}]));
        let (mut statuses, mut runs) = (0, 0);
        for second in (0..180).step_by(15) {
            let now = at("2026-11-22T08:00:00Z") + SignedDuration::from_secs(second);
            let plan = played.tick(&now.to_string());
            let is_status = |write: &&Write| matches!(write.operation, WriteOperation::Merge(_));
            statuses += plan.writes.iter().filter(is_status).count();
            runs += plan.happened.len();
            assert_eq!(plan.contribution.and_then(|one| one.min()), min);
        }
        assert_eq!((statuses, runs), (3, 12), "{target}");
        assert_eq!(played.told, vec!["CronRan"; told], "{target}");
        let last = played.status().last_run.as_ref().unwrap();
        assert_eq!(last.scheduled_time, at("2026-11-22T08:02:00Z"), "{target}");
        // A change is reported at once.
        if let Ok(scaled) = &mut played.scaled {
            scaled.is_contested = true;
        }
        played.tick("2026-11-22T08:02:50Z");
        assert_eq!(played.ready(), (false, "FloorContested".to_owned()));
    }
}

#[test]
fn what_happens_again_and_again_is_told_now_and_then_and_several_at_once_together() {
    let window = |name: &str, second: u32| {
        json!({"name": name, "start": format!("{second} * * * * *"),
            "end": format!("{} * * * * *", second + 10), "replicas": 8})
    };
    let mut played = Played::new(&json!([window("a", 0), window("b", 0)]));
    let mut notes = Vec::new();
    for tick in 0..30 {
        let now = at("2026-11-22T08:00:00Z") + SignedDuration::from_secs(15 * tick);
        for write in played.tick(&now.to_string()).writes {
            if let WriteOperation::Create(event) = write.operation {
                notes.push(event["note"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(
        played.told,
        [
            "WindowOpened",
            "WindowClosed",
            "WindowOpened",
            "WindowClosed"
        ],
        "twice in seven minutes"
    );
    assert_eq!(
        notes[0],
        "a: minReplicas is 8 or more until 2026-11-22T08:00:10Z; b: minReplicas is 8 or more until \
         2026-11-22T08:00:10Z"
    );
}
