//! Tests of the plan for autoscalers, HorizontalPortraits, jobs and results.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evenkeel_objects::plan::conditional_patch::apply;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cron_job::cron_job;
use super::*;
use crate::specs::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use crate::specs::ihpa::{CheckedIhpa, Ihpa};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn settings() -> Settings {
    Settings {
        own_namespace: "evenkeel-system".to_owned(),
        runs_jobs: true,
        most_jobs: 2,
    }
}

fn dynamic() -> Value {
    json!({"portraitType": "Predictive", "algorithm": {"type": "ExternalJob", "externalJob": {
        "job": {"type": "CronJob", "cronJob": {"template": {"spec": {"schedule": "0/30 * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure",
                "containers": [{"name": "algorithm", "image": "example.com/a:1"}]}}}}}}}},
        "resultSource": {"type": "ConfigMap"}}}})
}

fn ihpa(dynamic: &Value) -> Arc<CheckedIhpa> {
    let object = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "i"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 1,
            "maxReplicas": 9, "portraitProviders": [
                {"type": "Static", "priority": 0, "static": {"replicas": 1}},
                {"type": "Dynamic", "priority": 1, "dynamic": dynamic}]},
    });
    let object: Ihpa = serde_json::from_value(object).unwrap();
    Arc::new(CheckedIhpa::new(Arc::new(object), None))
}

/// A HorizontalPortrait as the API server would have it after a create.
fn created(body: &Value, uid: &str, status: &Value) -> Arc<CheckedHorizontalPortrait> {
    let mut object = body.clone();
    object["metadata"]["uid"] = json!(uid);
    object["metadata"]["resourceVersion"] = json!("7");
    object["metadata"]["generation"] = json!(1);
    object["status"] = status.clone();
    let object: HorizontalPortrait = serde_json::from_value(object).unwrap();
    Arc::new(CheckedHorizontalPortrait::new(Arc::new(object), None))
}

fn key(name: &str) -> NamespacedName {
    ("shop".to_owned(), name.to_owned())
}

/// A HorizontalPortrait that has a job and that no autoscaler names.
fn alone(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": dynamic()})
}

/// The CronJob of it, as it stands.
fn job_of(name: &str, is_suspended: bool) -> FoundJob {
    let portrait = serde_json::from_value(alone(name)).unwrap();
    let mut job = cron_job(&portrait).unwrap();
    job["metadata"]["resourceVersion"] = json!("3");
    job["spec"]["suspend"] = json!(is_suspended);
    serde_json::from_value(job).unwrap()
}

/// The names of the CronJobs that are suspended, and of those that are made or go on.
fn of_jobs(writes: &[Write]) -> (Vec<&str>, Vec<&str>) {
    let (mut suspended, mut others) = (Vec::new(), Vec::new());
    for write in writes
        .iter()
        .filter(|one| one.target.resource == "cronjobs")
    {
        let suspends = match &write.operation {
            WriteOperation::Conditional(patch) => {
                let patch = serde_json::to_value(patch.to_patch()).unwrap();
                let mut changes = patch.as_array().unwrap().iter();
                changes.any(|one| one["path"] == "/spec/suspend" && one["value"] == true)
            }
            _ => false,
        };
        let names = if suspends {
            &mut suspended
        } else {
            &mut others
        };
        names.push(write.target.name.as_str());
    }
    (suspended, others)
}

/// A world of one autoscaler, and of what was found for its HorizontalPortrait.
struct World {
    ihpas: Vec<Arc<CheckedIhpa>>,
    portraits: Vec<Arc<CheckedHorizontalPortrait>>,
    outlines: Vec<Arc<HorizontalPortrait>>,
    jobs: HashMap<NamespacedName, Option<FoundJob>>,
    result: Option<FoundResult>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            ihpas: vec![ihpa(&dynamic())],
            portraits: Vec::new(),
            outlines: Vec::new(),
            jobs: HashMap::new(),
            result: None,
        };
        let writes = world.plan(&settings(), 0);
        let [write] = &writes[..] else {
            panic!("{writes:?}")
        };
        let WriteOperation::Create(body) = &write.operation else {
            panic!("{write:?}")
        };
        assert_eq!(write.target.name, "web-predictive");
        world.portraits.push(created(body, "p", &Value::Null));
        world.find(None, None);
        world
    }

    fn find(&mut self, cron_job: Option<Value>, result: Option<[&str; 3]>) {
        let cron_job = cron_job.map(|job| serde_json::from_value(job).unwrap());
        self.jobs.insert(key("web-predictive"), cron_job);
        self.result = result.map(|[kind, expires, series]| {
            let data =
                json!({"type": kind, "expireTime": expires, "timeSeries": series, "more": "x"});
            serde_json::from_value(json!({"data": data})).unwrap()
        });
    }

    fn observed(&self) -> ExternalPortraitObjects<'_> {
        ExternalPortraitObjects {
            ihpas: &self.ihpas,
            portraits: &self.portraits,
            outlines: &self.outlines,
            jobs: &self.jobs,
        }
    }

    fn plan(&self, settings: &Settings, second: i64) -> Vec<Write> {
        let observed = self.observed();
        let mut writes = portraits(&observed);
        let planned = jobs(&observed, settings);
        writes.extend(planned.writes);
        writes.extend(self.portraits.iter().filter_map(|portrait| {
            let key = key_of(&portrait.object)?;
            portrait.object.spec.portrait.external_job()?;
            self.jobs.get(&key)?;
            let found = match planned.problems.get(&key) {
                Some(problem) => Err(problem),
                None => Ok(self.result.as_ref()),
            };
            result(portrait, found, at(second))
        }));
        writes
    }

    /// The CronJob that is asked for.
    fn job(&self) -> Value {
        let writes = self.plan(&settings(), 0);
        let job = writes.iter().find_map(|write| match &write.operation {
            WriteOperation::Create(body) if write.target.resource == "cronjobs" => {
                Some(body.clone())
            }
            _ => None,
        });
        let mut job = job.unwrap();
        job["metadata"]["resourceVersion"] = json!("3");
        // A default that the API server fills in is no change.
        job["spec"]["successfulJobsHistoryLimit"] = json!(3);
        job
    }

    /// The reason of the condition that is written at a second.
    fn condition(&self, settings: &Settings, second: i64) -> (String, Value) {
        let writes = self.plan(settings, second);
        let status = writes
            .iter()
            .find(|write| write.purpose == Purpose::ScalingStatus);
        let WriteOperation::Merge(body) = &status.unwrap().operation else {
            panic!("{status:?}")
        };
        let reason = body["status"]["conditions"][0]["reason"].as_str().unwrap();
        (reason.to_owned(), body["status"]["portraitData"].clone())
    }
}

#[test]
fn a_portrait_that_an_autoscaler_names_is_made_and_goes_with_it() {
    let world = World::new();
    let portrait = &world.portraits[0].object;
    let owner = portrait.metadata.controller().unwrap();
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str()),
        ("IntelligentHorizontalPodAutoscaler", "i")
    );
    assert!(portrait.spec.portrait.external_job().is_some());
    assert!(
        world
            .plan(&settings(), 0)
            .iter()
            .all(|write| write.target.resource != "horizontalportraits"
                || write.target.subresource.is_some())
    );
}

#[test]
fn a_portrait_follows_its_autoscaler_and_not_one_that_has_not_made_it() {
    let mut world = World::new();
    let mut other = dynamic();
    other["algorithm"]["config"] = json!({"a": 1});
    world.ihpas = vec![ihpa(&other)];
    let patch = |world: &World| {
        let writes = world.plan(&settings(), 0);
        writes.into_iter().find(|write| {
            write.target.resource == "horizontalportraits" && write.target.subresource.is_none()
        })
    };
    let Some(WriteOperation::Conditional(change)) = patch(&world).map(|write| write.operation)
    else {
        panic!("no patch")
    };
    let mut object = json!({"metadata": {"uid": "p", "resourceVersion": "7"}, "spec": {"more": 1}});
    apply(&mut object, &change).unwrap();
    assert_eq!(object["spec"]["algorithm"]["config"], json!({"a": 1}));
    assert_eq!(object["spec"]["more"], Value::Null);
    let mut foreign = serde_json::to_value(&world.portraits[0].object.spec).unwrap();
    foreign = json!({"metadata": {"name": "web-predictive", "namespace": "shop"}, "spec": foreign});
    world.portraits = vec![created(&foreign, "p", &Value::Null)];
    assert_eq!(patch(&world), None);
}

#[test]
fn a_job_is_made_once_and_changed_with_its_template_alone() {
    let mut world = World::new();
    let job = world.job();
    let jobs = |world: &World| {
        let writes = world.plan(&settings(), 0);
        writes
            .into_iter()
            .filter(|write| write.target.resource == "cronjobs")
            .collect::<Vec<_>>()
    };
    world.find(Some(job.clone()), None);
    assert_eq!(jobs(&world), []);
    let mut old = job.clone();
    old["metadata"]["annotations"][TEMPLATE_HASH] = json!("x");
    old["metadata"]["annotations"]["theirs"] = json!("x");
    old["spec"]["suspend"] = json!(true);
    world.find(Some(old.clone()), None);
    let [write] = &jobs(&world)[..] else { panic!() };
    let WriteOperation::Conditional(patch) = &write.operation else {
        panic!()
    };
    let mut patched = old.clone();
    apply(&mut patched, patch).unwrap();
    assert_eq!(patched["spec"]["suspend"], Value::Null, "{patched}");
    assert_eq!(patched["metadata"]["annotations"]["theirs"], "x");
    let mut newer = old;
    newer["metadata"]["resourceVersion"] = json!("4");
    apply(&mut newer, patch).unwrap_err();
    let mut foreign = job;
    foreign["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    world.find(Some(foreign), None);
    assert_eq!(jobs(&world), []);
    assert_eq!(world.condition(&settings(), 0).0, "JobConflict");
}

#[test]
fn jobs_run_where_they_may_and_so_many() {
    let world = World::new();
    for (settings, reason) in [
        (
            Settings {
                runs_jobs: false,
                ..settings()
            },
            "JobsOff",
        ),
        (
            Settings {
                most_jobs: 0,
                ..settings()
            },
            "TooManyJobs",
        ),
        (
            Settings {
                own_namespace: "shop".to_owned(),
                ..settings()
            },
            "OwnNamespace",
        ),
    ] {
        let writes = world.plan(&settings, 0);
        assert!(
            writes
                .iter()
                .all(|write| write.target.resource != "cronjobs"),
            "{reason}"
        );
        assert_eq!(world.condition(&settings, 0).0, reason);
    }
}

/// The harm: only new names were counted, in their order, so that names before those that ran were no end.
#[test]
fn those_that_run_already_count_first_and_one_too_many_is_suspended() {
    let mut world = World::new();
    world.ihpas.clear();
    let add = |world: &mut World, name: &str, found: Option<Option<FoundJob>>| {
        let object = Arc::new(serde_json::from_value(alone(name)).unwrap());
        let checked = CheckedHorizontalPortrait::new(object, None);
        world.portraits.push(Arc::new(checked));
        if let Some(found) = found {
            world.jobs.insert(key(name), found);
        }
    };
    world.portraits.clear();
    for name in ["a0", "a1"] {
        add(&mut world, name, Some(None));
    }
    add(&mut world, "m0", Some(Some(job_of("m0", false))));
    let two = settings();
    let writes = world.plan(&two, 0);
    assert_eq!(of_jobs(&writes), (vec![], vec!["a0"]));
    add(&mut world, "m1", Some(Some(job_of("m1", false))));
    assert_eq!(of_jobs(&world.plan(&two, 0)), (vec![], vec![]));
    add(&mut world, "m2", Some(Some(job_of("m2", false))));
    assert_eq!(of_jobs(&world.plan(&two, 0)), (vec!["m2"], vec![]));
    let one = Settings {
        most_jobs: 3,
        ..settings()
    };
    assert_eq!(of_jobs(&world.plan(&one, 0)), (vec![], vec![]));
    // A job that has not been looked up may run.
    let four = Settings {
        most_jobs: 4,
        ..settings()
    };
    assert_eq!(of_jobs(&world.plan(&four, 0)), (vec![], vec!["a0"]));
    add(&mut world, "b0", None);
    assert_eq!(of_jobs(&world.plan(&four, 0)), (vec![], vec![]));
    // One that is suspended gives way, and goes on when there is room.
    world.jobs.insert(key("b0"), Some(job_of("b0", true)));
    assert_eq!(of_jobs(&world.plan(&four, 0)), (vec![], vec!["a0"]));
    let all = Settings {
        most_jobs: 9,
        ..settings()
    };
    assert_eq!(
        of_jobs(&world.plan(&all, 0)),
        (vec![], vec!["a0", "a1", "b0"])
    );
}

/// The harm: jobs of tenants ran on where their namespace had opted out, and where jobs were off.
#[test]
fn jobs_are_suspended_where_none_may_run() {
    let mut world = World::new();
    let job = world.job();
    world.find(Some(job), None);
    let suspended = (vec!["web-predictive"], vec![]);
    let off = Settings {
        runs_jobs: false,
        ..settings()
    };
    assert_eq!(of_jobs(&world.plan(&off, 0)), suspended);
    let restored = restore(&world.observed());
    assert_eq!(of_jobs(&restored), suspended);
    assert!(restored.iter().all(|one| one.purpose == Purpose::Restore));
    let outline = world.portraits.remove(0).object.outline();
    world.ihpas.clear();
    world.outlines = vec![Arc::new(outline)];
    assert_eq!(of_jobs(&world.plan(&settings(), 0)), suspended);
    assert_eq!(of_jobs(&restore(&world.observed())), suspended);
}

#[test]
fn a_job_that_nobody_names_any_more_is_suspended() {
    let mut world = World::new();
    let mut job = world.job();
    world.ihpas = vec![ihpa(
        &json!({"portraitType": "Reactive", "algorithm": {"type": "KubeHPA"}}),
    )];
    world.find(Some(job.clone()), None);
    let writes = world.plan(&settings(), 0);
    assert_eq!(of_jobs(&writes), (vec!["web-predictive"], vec![]));
    job["spec"]["suspend"] = json!(true);
    world.find(Some(job), None);
    assert_eq!(world.condition(&settings(), 0).0, "NotNamed");
}

#[test]
fn a_result_is_read_once_and_a_damaged_one_leaves_the_one_before() {
    let mut world = World::new();
    let job = world.job();
    let good = [
        "TimeSeries",
        "1970-01-01T01:00:00Z",
        "{\"60\": 3, \"120.0\": 5}",
    ];
    world.find(Some(job.clone()), None);
    assert_eq!(world.condition(&settings(), 0).0, "NoResult");
    world.find(Some(job.clone()), Some(good));
    let (reason, data) = world.condition(&settings(), 60);
    assert_eq!(reason, "ResultRead");
    assert_eq!(
        data["timeSeries"]["timeSeries"][1],
        json!({"timestamp": 120, "replicas": 5})
    );

    let body = serde_json::to_value(&world.portraits[0].object.spec).unwrap();
    let body = json!({"spec": body, "metadata": {"name": "web-predictive", "namespace": "shop",
        "ownerReferences": [{"apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
            "kind": "IntelligentHorizontalPodAutoscaler", "name": "web", "uid": "i", "controller": true}]}});
    let status = json!({"observedGeneration": 1, "portraitData": data, "conditions": [
        {"type": "PortraitGenerated", "status": "True", "reason": "ResultRead",
            "message": "the portrait comes from ConfigMap web-predictive-result",
            "lastTransitionTime": at(60), "observedGeneration": 1},
        {"type": "Theirs", "status": "True", "reason": "a", "message": "b", "lastTransitionTime": at(1),
            "observedGeneration": 7}]});
    world.portraits = vec![created(&body, "p", &status)];
    assert_eq!(world.plan(&settings(), 90), [], "nothing has changed");
    assert_eq!(world.condition(&settings(), 3600).0, "Expired");
    world.find(
        Some(job),
        Some(["TimeSeries", "1970-01-01T01:00:00Z", "{\"60\": 3"]),
    );
    let (reason, data) = world.condition(&settings(), 90);
    assert_eq!(
        (reason.as_str(), data),
        ("ResultTimeSeries", Value::Null),
        "the data stay as they are"
    );
}

/// A case: its name, the change of a job, and whether the job is run then.
type Change<'a> = (&'a str, &'a dyn Fn(&mut Value), bool);

/// The harm: an attacker in a replica wrote a portrait of its own for a tenant's autoscaler, and its job ran.
#[test]
fn a_portrait_runs_what_its_autoscaler_says_and_nothing_else() {
    let mut world = World::new();
    let honest = world.portraits[0].object.clone();
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut body = json!({"metadata": {"name": "web-predictive", "namespace": "shop",
            "ownerReferences": [{"apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
                "kind": "IntelligentHorizontalPodAutoscaler", "name": "web", "uid": "i", "controller": true}]},
            "spec": serde_json::to_value(&honest.spec).unwrap()});
        change(&mut body);
        created(&body, "p", &json!({}))
    };
    let pod =
        "/spec/algorithm/externalJob/job/cronJob/template/spec/jobTemplate/spec/template/spec";
    let image = |body: &mut Value| {
        body.pointer_mut(pod).unwrap()["containers"][0]["image"] = json!("example.com/evil:1");
    };
    let account = |body: &mut Value| {
        body.pointer_mut(pod).unwrap()["serviceAccountName"] = json!("admin");
    };
    let owner = |body: &mut Value| {
        body["metadata"]["ownerReferences"][0]["uid"] = json!("made-up");
    };
    let other = |body: &mut Value| body["metadata"]["name"] = json!("web-another");
    let changes: [Change<'_>; 5] = [
        ("honest", &|_| (), true),
        ("image", &image, false),
        ("account", &account, false),
        ("owner", &owner, false),
        ("name", &other, false),
    ];
    for (case, change, is_run) in changes {
        world.portraits = vec![edit(change)];
        world.jobs = world
            .portraits
            .iter()
            .filter_map(|one| Some((key_of(&one.object)?, None)))
            .collect();
        let writes = jobs(&world.observed(), &settings()).writes;
        let made = of_jobs(&writes).1.len();
        assert_eq!(made, usize::from(is_run), "{case}");
    }
}

#[test]
fn a_namespace_names_its_portraits_that_have_a_job_until_they_have_none() {
    let mut world = World::new();
    for name in ["c", "a", "b"] {
        world
            .portraits
            .push(created(&alone(name), name, &json!({})));
    }
    let found = vouched(&world.observed(), &settings());
    let text = found.get("shop").cloned();
    assert_eq!(text.as_deref(), Some("a b c p"));
    let told = |writes: &[Write]| -> Vec<(String, Value)> {
        let of = |write: &Write| match &write.operation {
            WriteOperation::Merge(body) => {
                let value = &body["metadata"]["annotations"]["evenkeel.dev/portrait-jobs"];
                (write.target.to_string(), value.clone())
            }
            other => panic!("{other:?}"),
        };
        writes.iter().map(of).collect()
    };
    let none = BTreeMap::new();
    let target = "namespaces shop".to_owned();
    assert_eq!(
        told(&vouch(&none, &found)),
        [(target.clone(), json!("a b c p"))]
    );
    assert_eq!(vouch(&found, &found), []);
    assert_eq!(told(&vouch(&found, &none)), [(target, Value::Null)]);
    let off = Settings {
        runs_jobs: false,
        ..settings()
    };
    assert_eq!(vouched(&world.observed(), &off), none);
}

/// The harm: a portrait that no job makes said for ever that its namespace had not opted in.
#[test]
fn a_portrait_of_a_namespace_that_has_opted_in_says_otherwise_no_more() {
    let mut world = World::new();
    let spec = serde_json::to_value(&world.portraits[0].object.spec).unwrap();
    let body = json!({"spec": spec, "metadata": {"name": "web-predictive", "namespace": "shop"}});
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "m",
            "lastTransitionTime": at(1)})
    };
    let theirs = condition("Theirs", "True", "Made");
    let notice = condition("PortraitGenerated", "False", "NotOptedIn");
    let status = json!({"conditions": [notice, theirs]});
    world.portraits = vec![created(&body, "p", &status)];
    let writes = portraits(&world.observed());
    let [write] = &writes[..] else {
        panic!("{writes:?}")
    };
    let WriteOperation::Merge(body) = &write.operation else {
        panic!("{write:?}")
    };
    assert_eq!(body["status"], json!({"conditions": [theirs]}));
    let status = json!({"conditions": [theirs]});
    world.portraits = vec![created(
        &json!({"spec": spec, "metadata": {"name": "web-predictive",
        "namespace": "shop"}}),
        "p",
        &status,
    )];
    assert_eq!(portraits(&world.observed()), []);
}

#[test]
fn hours_ahead_go_with_the_algorithm_that_asked_for_them() {
    let mut world = World::new();
    let condition = json!({"type": "PortraitGenerated", "status": "True", "reason": "Forecast",
        "message": "m", "lastTransitionTime": at(1)});
    let hours = json!({"time": at(1), "stepSeconds": 600, "metrics": []});
    let status = json!({"hoursAhead": hours, "conditions": [condition]});
    let body = |kind: &str| {
        json!({"metadata": {"name": "ahead", "namespace": "shop"}, "spec": {"portraitType": "Predictive",
            "scaleTargetRef": {"kind": "Deployment", "name": "web"}, "algorithm": {"type": kind}}})
    };
    world.ihpas.clear();
    world.portraits = vec![created(&body("Forecast"), "p", &status)];
    assert_eq!(portraits(&world.observed()), []);
    world.portraits = vec![created(&body("Theirs"), "p", &status)];
    let writes = portraits(&world.observed());
    let [write] = &writes[..] else {
        panic!("{writes:?}")
    };
    let WriteOperation::Merge(body) = &write.operation else {
        panic!("{write:?}")
    };
    assert_eq!(
        body["status"],
        json!({"hoursAhead": null, "conditions": []})
    );
}
