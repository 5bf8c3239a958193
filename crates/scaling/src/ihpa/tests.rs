//! An IHPA from its objects to the writes, over ticks. Its statuses come back as a watch brings them.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_api::replica_profile::CheckedReplicaProfile;
use evenkeel_forecast::ModelAssets;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::conditional_patch::apply;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::workload::Workload;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::portray;
use crate::load::observation::LoadSample;
use crate::specs::horizontal_portrait::CheckedHorizontalPortrait;
use crate::specs::ihpa::CheckedIhpa;
use crate::status::memory::PlanMemory;
use crate::targets::hpa_input::{HpaInput, LastStatus};
use crate::targets::observed_profiles::ObservedProfiles;
use crate::targets::problem::TargetProblem;
use crate::targets::reference::TargetRef;
use crate::targets::resolve::{ResolvedTarget, resolve};
use crate::targets::scalers::Scalers;
use crate::targets::settings::{Queries, Settings};
use crate::targets::target_objects::{TargetObjects, TargetPodFacts};
use crate::tracker::LoadTracker;
use crate::writes::plan;
use crate::writes::tests::{pods, readings, wave};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn constant(replicas: i32) -> Value {
    json!({"type": "Static", "priority": 1, "static": {"replicas": replicas}})
}

/// Web under an IHPA, with what the leader remembers of it.
struct World {
    namespace: BTreeMap<String, String>,
    ihpa: Value,
    portrait: Option<Value>,
    profiles: Vec<Value>,
    settings: Settings,
    /// The Pods that its profile does not take out of traffic, and why not.
    staying: Option<(i64, &'static str)>,
    replicas: i32,
    /// The annotations of the workload.
    workload: Value,
    /// The millicores that its four Pods use; `None` without Pods.
    load: Option<f64>,
    tracker: LoadTracker,
    memory: PlanMemory,
    told: Vec<String>,
    now: i64,
}

impl World {
    fn new(providers: &[Value]) -> Self {
        let spec = json!({
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 0, "maxReplicas": 20, "portraitProviders": providers});
        let namespace = ("evenkeel.dev/enabled".to_owned(), "true".to_owned());
        Self {
            namespace: BTreeMap::from([namespace]),
            ihpa: json!({"metadata": {"name": "web", "namespace": "shop", "uid": "i",
                "generation": 1, "resourceVersion": "1"}, "spec": spec}),
            portrait: None,
            profiles: Vec::new(),
            settings: Settings::default(),
            staying: None,
            replicas: 3,
            workload: json!({}),
            load: None,
            tracker: LoadTracker::default(),
            memory: PlanMemory::default(),
            told: Vec::new(),
            now: 0,
        }
    }

    fn observed(&self) -> TargetObjects {
        let ihpa = serde_json::from_value(self.ihpa.clone()).unwrap();
        let portrait = self.portrait.iter().map(|portrait| {
            let portrait = serde_json::from_value(portrait.clone()).unwrap();
            Arc::new(CheckedHorizontalPortrait::new(Arc::new(portrait), None))
        });
        let workload = Workload::deserialize(
            Kind::Deployment,
            json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "d", "generation": 1,
                "annotations": self.workload},
            "spec": {"replicas": self.replicas}}),
        )
        .unwrap();
        TargetObjects {
            namespace: "shop".into(),
            namespace_policy: Arc::new(NamespacePolicy::parse(&self.namespace).0),
            autoscaler: None,
            ihpa: Some(Arc::new(CheckedIhpa::new(Arc::new(ihpa), None))),
            portraits: portrait.collect(),
            profiles: self.observed_profiles(),
            scaled_object: None,
            workload: Some(Arc::new(workload)),
            target: TargetRef::new("apps/v1", "Deployment", "shop", "web"),
            pods: self
                .load
                .map_or_else(TargetPodFacts::default, |_| pods(Some(1500), true)),
        }
    }

    fn observed_profiles(&self) -> ObservedProfiles {
        let read = |profile: &Value| {
            CheckedReplicaProfile::new(serde_json::from_value(profile.clone()).unwrap())
        };
        ObservedProfiles {
            all: self.profiles.iter().map(read).collect(),
            parked: Arc::default(),
        }
    }

    /// Acts as the API server for a write on the profile, and as the controller of profiles for the count.
    fn change_profile(&mut self, operation: &WriteOperation) {
        match operation {
            WriteOperation::Create(body) => {
                let mut made = body.clone();
                made["metadata"]["uid"] = json!("p");
                self.profiles.push(made);
            }
            WriteOperation::Conditional(patch) => {
                apply(self.profiles.last_mut().unwrap(), patch).unwrap();
            }
            WriteOperation::Delete { uid } => {
                self.profiles.retain(|one| one["metadata"]["uid"] != **uid);
            }
            WriteOperation::Merge(_) => panic!("{operation:?}"),
        }
        self.follow_profile();
    }

    /// Acts as the controller of profiles for the counts.
    fn follow_profile(&mut self) {
        let Some(own) = self.profiles.last_mut() else {
            return;
        };
        let count = |field: &str| own["spec"][field].as_i64().unwrap();
        let online = count("onlineReplicas");
        let total = online + count("cutoffReplicas") + count("standbyReplicas");
        self.replicas = i32::try_from(total).unwrap();
        let staying = self.staying.filter(|(staying, _)| *staying > online);
        let ready = staying.map_or(online, |(staying, _)| staying.min(total));
        let reason = staying.map_or("AsWanted", |(_, reason)| reason);
        own["status"] = json!({"readyReplicas": ready, "conditions": [{"type": "Ensured",
            "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z"}]});
    }

    /// The counts of the profile.
    fn profiled(&self) -> Option<(i64, i64, i64)> {
        let spec = &self.profiles.first()?["spec"];
        let count = |field: &str| spec[field].as_i64().unwrap();
        Some((
            count("onlineReplicas"),
            count("cutoffReplicas"),
            count("standbyReplicas"),
        ))
    }

    /// One tick, 15 s after the one before; statuses and counts that are written are there at the next.
    fn tick(&mut self) -> (ResolvedTarget, Vec<Write>) {
        self.now += 15;
        let (observed, now) = (self.observed(), at(self.now));
        let mut resolved = resolve(&observed, false, &self.settings, None, now);
        portray(&observed, &mut resolved, &mut self.memory, now);
        let shared = ModelAssets::default();
        let measured = self.load.map(|load| {
            let sample = LoadSample::of_moment(load, now);
            self.tracker.measure(&Signal::CPU, &sample, now).unwrap();
            #[expect(clippy::cast_possible_truncation)] // a few thousand
            let readings = readings(&observed, Some((load / 4.0) as i64), now);
            HpaInput::new(&observed, readings, LastStatus::default())
        });
        let report = resolved.target.as_ref().map(|target| {
            let input = target.input(now, &shared, measured.as_ref(), &[]);
            self.tracker.tick(&target.policy, &input)
        });
        let context = PlanContext {
            now,
            reporter: "test",
        };
        let writes = plan(
            &observed,
            &resolved,
            report.as_ref(),
            &mut self.memory,
            &context,
        );
        for write in &writes {
            if write.target.resource == "replicaprofiles" {
                assert_eq!(write.purpose, Purpose::ScalingReplicas);
                self.change_profile(&write.operation);
                continue;
            }
            match (&write.operation, write.purpose) {
                (WriteOperation::Merge(body), Purpose::ScalingStatus) => {
                    assert_eq!(body["metadata"]["resourceVersion"], "1");
                    json_patch::merge(&mut self.ihpa["status"], &body["status"]);
                }
                (WriteOperation::Create(event), _) => {
                    self.told.push(event["reason"].as_str().unwrap().to_owned());
                }
                (WriteOperation::Conditional(_), Purpose::ScalingReplicas) => {
                    self.replicas = report.as_ref().unwrap().decision.replicas;
                }
                _ => panic!("{write:?}"),
            }
        }
        (resolved, writes)
    }

    fn status(&self) -> IhpaStatus {
        serde_json::from_value(self.ihpa["status"].clone()).unwrap()
    }

    fn condition(&self, kind: &str) -> Option<(bool, String)> {
        let status = self.status();
        let mut conditions = status.conditions.into_iter();
        let found = conditions.find(|one| one.kind == kind)?;
        Some((found.status.as_str() == "True", found.reason))
    }
}

#[test]
fn a_count_is_asked_for_written_once_and_told_once() {
    let mut world = World::new(&[constant(7)]);
    world.tick();
    assert_eq!(world.replicas, 7);
    assert_eq!(world.told, ["ReplicasRaised"]);
    let status = world.status();
    assert_eq!(status.current_portrait_value.unwrap().provider, "static");
    assert_eq!(status.desired.unwrap().online_replicas, 7);
    assert_eq!(
        world.condition("ScalingActive"),
        Some((true, "PortraitHolds".to_owned()))
    );
    world.tick();
    for _ in 0..20 {
        let (_, writes) = world.tick();
        assert_eq!(writes, [], "nothing changes");
    }
    assert_eq!(world.status().current_replicas, Some(7));
}

#[test]
fn who_may_act_is_said_by_the_object_its_namespace_and_the_mode_of_scale() {
    let modes = |change: fn(&mut World)| {
        let mut world = World::new(&[constant(7)]);
        change(&mut world);
        let (resolved, _) = world.tick();
        let kinds: Vec<_> = resolved.problems.iter().map(TargetProblem::kind).collect();
        (resolved.mode, kinds, world.replicas)
    };
    let scaling = |world: &mut World, word: &str| {
        let key = "evenkeel.dev/scaling".to_owned();
        world.namespace.insert(key, word.to_owned());
    };
    assert_eq!(modes(|_| ()), (ScalingMode::Direct, vec![], 7));
    for word in ["off", "recommend"] {
        let mut world = World::new(&[constant(7)]);
        scaling(&mut world, word);
        let (resolved, _) = world.tick();
        assert_eq!(resolved.mode, ScalingMode::Recommend);
        assert_eq!(resolved.problems[0].kind(), "ScaleModeLimited");
        assert_eq!(world.replicas, 3);
        assert_eq!(world.status().desired, None);
        // The object itself is nearer.
        world.ihpa["metadata"]["annotations"] = json!({"evenkeel.dev/scaling": "direct"});
        assert_eq!(world.tick().0.mode, ScalingMode::Direct);
    }
    let preview = modes(|world| world.ihpa["spec"]["scaleMode"] = json!("Preview"));
    assert_eq!(preview, (ScalingMode::Recommend, vec![], 3));
    let paused = modes(|world| world.ihpa["spec"]["paused"] = json!(true));
    assert_eq!(paused, (ScalingMode::Direct, vec!["Paused"], 3));
    let closed = modes(|world| world.namespace.clear());
    assert_eq!(closed, (ScalingMode::Off, vec![], 3));
    let broken = modes(|world| world.ihpa["spec"]["maxReplicas"] = json!(-1));
    assert_eq!(broken, (ScalingMode::Recommend, vec!["InvalidSpec"], 3));
}

#[test]
fn a_zero_of_the_users_is_left_alone_until_there_is_a_replica_and_a_lost_write_is_none() {
    let mut world = World::new(&[constant(7)]);
    world.replicas = 0;
    world.tick();
    // The write of the count was lost, and that of the status was not.
    world.replicas = 0;
    world.tick();
    assert_eq!(world.replicas, 7);
    world.tick();
    world.replicas = 0;
    // For so long that a later change of the count is not taken for a contest.
    for _ in 0..24 {
        world.tick();
        assert_eq!(world.replicas, 0);
    }
    assert_eq!(
        world.condition("ScalingActive"),
        Some((false, "ScaledToZero".to_owned()))
    );
    world.memory = PlanMemory::default();
    world.tick();
    assert_eq!(world.replicas, 0, "whoever takes over knows it");
    world.replicas = 1;
    world.tick();
    assert_eq!(world.replicas, 7);
}

#[test]
fn a_portrait_for_another_workload_fails_since_when_it_first_did() {
    let theirs = json!({"type": "Dynamic", "priority": 5, "dynamic": {
        "portraitType": "Predictive", "externalGeneratorName": "ours",
        "algorithm": {"type": "Ours"}}});
    let mut world = World::new(&[constant(7), theirs]);
    let named = |name: &str| {
        json!({"metadata": {"name": "web-predictive", "namespace": "shop", "resourceVersion": "1"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
            "status": {"portraitData": {"type": "Static", "static": {"replicas": 5}}}})
    };
    world.portrait = Some(named("api"));
    world.tick();
    let first = world.now;
    world.tick();
    let portraits = world.status().portraits;
    let failed = portraits
        .iter()
        .find(|one| one.provider == "predictive")
        .unwrap();
    assert_eq!(
        (failed.outcome.as_str(), failed.reason.as_deref()),
        ("Failed", Some("OtherTarget"))
    );
    assert_eq!(failed.since, Some(at(first)));
    assert!(
        world.told.contains(&"PortraitFailed".to_owned()),
        "{:?}",
        world.told
    );
    assert_eq!(world.replicas, 7, "the other stands");
    world.portrait = Some(named("web"));
    world.tick();
    assert_eq!(world.replicas, 5);
    assert_eq!(
        world.told.last().map(String::as_str),
        Some("PortraitAvailable")
    );
}

#[test]
fn whoever_takes_over_goes_on_with_the_steps_from_the_status() {
    let mut world = World::new(&[constant(9)]);
    world.ihpa["spec"]["behavior"] = json!({"scaleUp": {"grayStrategy": {"grayState": "Online",
        "changePercent": 50, "changeIntervalSeconds": 60}}});
    world.tick();
    assert_eq!(world.replicas, 6, "half of the change");
    let stepped = world.now;
    while world.replicas == 6 {
        // Another leader at each tick.
        (world.memory, world.tracker) = (PlanMemory::default(), LoadTracker::default());
        world.tick();
    }
    assert_eq!((world.replicas, world.now - stepped), (9, 60));
    let age = SignedDuration::from_secs(60);
    assert!(
        world
            .status()
            .gray
            .is_none_or(|gray| gray.last_update_time >= Some(at(stepped) + age))
    );
}

/// Scale-in in steps of two, by Pods that wait in this state.
fn parking(replicas: i32, state: &str) -> World {
    let mut world = World::new(&[constant(replicas)]);
    world.settings.follows_profiles = true;
    world.ihpa["spec"]["behavior"] = json!({"scaleDown": {"grayStrategy": {"grayState": state,
        "changeCount": 2, "changeIntervalSeconds": 30, "observationSeconds": 30}},
        "replicaProfile": {"drainSeconds": 5}});
    world
}

fn want(world: &mut World, replicas: i32) {
    world.ihpa["spec"]["portraitProviders"] = json!([constant(replicas)]);
}

/// The counts that the profile has one after the other, until nothing changes any more.
fn course(world: &mut World) -> Vec<(i64, i64, i64)> {
    let mut seen: Vec<_> = world.profiled().into_iter().collect();
    for _ in 0..20 {
        world.tick();
        if seen.last() != world.profiled().as_ref() {
            seen.extend(world.profiled());
        }
    }
    seen
}

#[test]
fn pods_wait_out_of_traffic_by_a_profile_of_its_own_and_are_taken_first_again() {
    let mut world = parking(8, "Cutoff");
    world.tick();
    assert_eq!(world.profiled(), Some((8, 0, 0)));
    let made = world.profiles[0].clone();
    assert_eq!(made["metadata"]["name"], "web");
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["uid"], &owner["controller"]),
        (&json!("i"), &json!(true))
    );
    assert_eq!(made["spec"]["behavior"], json!({"drainSeconds": 5}));
    assert_eq!(made["spec"]["scaleTargetRef"]["name"], "web");
    assert_eq!(world.tick().1.len(), 1, "the status, and nothing twice");
    want(&mut world, 4);
    let down = [(8, 0, 0), (6, 2, 0), (4, 4, 0), (4, 0, 0)];
    assert_eq!(course(&mut world), down);
    assert_eq!(world.replicas, 4);
    assert!(!world.condition("GrayProgressing").unwrap().0);
    let lowered = world.told.iter().filter(|one| *one == "ReplicasLowered");
    assert_eq!(lowered.count(), 2, "{:?}", world.told);

    want(&mut world, 1);
    world.tick();
    assert_eq!(world.profiled(), Some((2, 2, 0)));
    want(&mut world, 3);
    world.tick();
    assert_eq!(world.profiled(), Some((3, 1, 0)), "the cut-off one first");
    assert_eq!(world.replicas, 4);

    let mut world = parking(8, "Standby");
    world.tick();
    want(&mut world, 5);
    let down = [(8, 0, 0), (6, 0, 2), (5, 0, 3), (5, 0, 0)];
    assert_eq!(course(&mut world), down);
}

/// The harm: a 0 of the user's was undone where a profile sets the count.
#[test]
fn a_zero_of_the_users_is_left_alone_where_a_profile_sets_the_count() {
    let mut world = parking(8, "Cutoff");
    world.tick();
    world.tick();
    world.replicas = 0;
    for _ in 0..24 {
        let (_, writes) = world.tick();
        assert!(
            writes
                .iter()
                .all(|write| write.purpose != Purpose::ScalingReplicas)
        );
    }
    assert_eq!((world.replicas, world.profiled()), (0, Some((8, 0, 0))));
    assert_eq!(
        world.condition("ScalingActive"),
        Some((false, "ScaledToZero".to_owned()))
    );
    world.replicas = 1;
    want(&mut world, 9);
    world.tick();
    assert_eq!(world.replicas, 9);
}

/// The harm: Pods that the profile had not cut off were observed, and deleted with those that it had.
#[test]
fn what_the_profile_refuses_to_cut_off_is_named_and_not_deleted_before_it_was_cut_off() {
    let mut world = parking(8, "Cutoff");
    world.ihpa["spec"]["behavior"]["scaleDown"]["grayStrategy"]["changeCount"] = json!(4);
    world.tick();
    (world.staying, world.now) = (Some((6, "MaxUnavailable")), world.now + 600);
    want(&mut world, 4);
    world.tick();
    assert_eq!(world.profiled(), Some((4, 4, 0)));
    world.tick();
    assert_eq!(
        world.condition("ScalingLimited"),
        Some((true, "MaxUnavailable".to_owned()))
    );
    let gray = world.status().gray.unwrap();
    assert_eq!(
        (gray.phase.as_str(), gray.progress.as_str()),
        ("Stepping", "Pending")
    );
    assert_eq!(course(&mut world)[1..3], [(6, 2, 0), (6, 0, 0)]);
    world.staying = None;
    world.follow_profile();
    let rest = course(&mut world);
    assert_eq!(rest.last(), Some(&(4, 0, 0)), "{rest:?}");
}

#[test]
fn a_change_that_is_done_is_told_until_its_interval_is_over_and_finished_once() {
    let mut world = World::new(&[constant(4)]);
    world.ihpa["spec"]["behavior"] = json!({"scaleUp": {"grayStrategy": {"grayState": "Online",
        "changePercent": 100, "changeIntervalSeconds": 60}}});
    world.tick();
    let gray = world.status().gray.unwrap();
    assert_eq!(
        (gray.phase.as_str(), gray.progress.as_str()),
        ("Settled", "Finished")
    );
    assert!(!world.condition("GrayProgressing").unwrap().0);
    want(&mut world, 9);
    world.tick();
    assert_eq!(world.replicas, 4, "it goes on with the change before");
    assert!(world.condition("GrayProgressing").unwrap().0);
    for _ in 0..3 {
        (world.memory, world.tracker) = (PlanMemory::default(), LoadTracker::default());
        world.tick();
    }
    assert_eq!(world.replicas, 9);
    for _ in 0..8 {
        world.tick();
    }
    assert_eq!(world.status().gray, None);
    let finished = world.told.iter().filter(|one| *one == "ChangeFinished");
    assert_eq!(finished.count(), 1, "{:?}", world.told);
}

#[test]
fn whoever_takes_over_goes_on_from_the_counts_of_the_profile() {
    let mut world = parking(8, "Cutoff");
    world.tick();
    want(&mut world, 4);
    let mut seen = vec![(8, 0, 0)];
    for _ in 0..12 {
        (world.memory, world.tracker) = (PlanMemory::default(), LoadTracker::default());
        world.tick();
        let counts = world.profiled().unwrap();
        if seen.last() != Some(&counts) {
            seen.push(counts);
        }
    }
    assert_eq!(seen, [(8, 0, 0), (6, 2, 0), (4, 4, 0), (4, 0, 0)]);
}

#[test]
fn the_profile_goes_where_the_count_is_set_without_it_and_stays_while_paused() {
    let gone = |change: fn(&mut World)| {
        let mut world = parking(8, "Cutoff");
        world.tick();
        change(&mut world);
        world.tick();
        world.profiles.is_empty()
    };
    assert!(gone(
        |world| world.ihpa["spec"]["scaleMode"] = json!("Preview")
    ));
    assert!(gone(|world| world.namespace.clear()));
    assert!(gone(|world| world.settings.follows_profiles = false));
    assert!(gone(|world| world.ihpa["spec"]["behavior"] = json!(null)));

    let mut world = parking(8, "Cutoff");
    world.tick();
    world.ihpa["spec"]["paused"] = json!(true);
    want(&mut world, 2);
    world.tick();
    assert_eq!(world.profiles[0]["spec"]["paused"], true);
    assert_eq!(world.profiled(), Some((8, 0, 0)));
    let (_, writes) = world.tick();
    let of_profile = |write: &&Write| write.target.resource == "replicaprofiles";
    assert_eq!(writes.iter().filter(of_profile).count(), 0);
    world.ihpa["spec"]["paused"] = json!(false);
    world.tick();
    assert_eq!(world.profiles[0]["spec"]["paused"], json!(null));
    assert_eq!(world.profiled(), Some((6, 2, 0)));
}

#[test]
fn the_count_is_not_set_by_two_while_the_profile_goes() {
    let mut world = parking(8, "Cutoff");
    world.tick();
    world.ihpa["spec"]["behavior"] = json!(null);
    want(&mut world, 2);
    let (_, writes) = world.tick();
    let by_scale = |writes: &[Write]| {
        let mut writes = writes.iter();
        writes.any(|one| one.target.subresource.as_deref() == Some("scale"))
    };
    assert!(!by_scale(&writes), "{writes:?}");
    let (_, writes) = world.tick();
    assert!(by_scale(&writes), "{writes:?}");
    assert_eq!(world.replicas, 2);
}

#[test]
fn without_profiles_pods_that_go_are_deleted_and_the_condition_says_why() {
    let mut world = parking(8, "Cutoff");
    world.settings.follows_profiles = false;
    world.tick();
    assert_eq!((world.replicas, world.profiles.len()), (8, 0));
    let status = world.status();
    let mut conditions = status.conditions.iter();
    let told = conditions.find(|one| one.kind == "GrayStateUnsupported");
    let told = &told.unwrap().message;
    assert!(
        told.contains("scaling.replicaProfiles of the configuration is off"),
        "{told}"
    );
    want(&mut world, 4);
    world.tick();
    assert_eq!(world.replicas, 6, "a step all the same");
}

#[test]
fn a_profile_of_somebody_else_is_left_as_it_is_and_named() {
    let foreign = |name: &str, target: &str, owner: &Value| {
        json!({"metadata": {"name": name, "namespace": "shop", "uid": "f", "ownerReferences": owner},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": target}, "onlineReplicas": 3}})
    };
    let of_another = json!([{"apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
        "kind": "IntelligentHorizontalPodAutoscaler", "name": "web", "uid": "before", "controller": true}]);
    for (state, profile, refused) in [
        ("Cutoff", foreign("web", "web", &json!(null)), true),
        ("Cutoff", foreign("web", "api", &json!(null)), true),
        ("Cutoff", foreign("web", "web", &of_another), true),
        ("Cutoff", foreign("other", "web", &json!(null)), true),
        ("Deleted", foreign("other", "web", &json!(null)), true),
        ("Deleted", foreign("web", "api", &json!(null)), false),
    ] {
        let mut world = parking(8, state);
        world.profiles.push(profile.clone());
        world.tick();
        assert_eq!(world.profiles, std::slice::from_ref(&profile), "{state}");
        assert_eq!(
            world.condition("ProfileConflict").is_some(),
            refused,
            "{profile}"
        );
        assert_eq!(world.replicas, if refused { 3 } else { 8 }, "{profile}");
        assert_eq!(world.told.contains(&"ProfileConflict".to_owned()), refused);
    }
}

#[test]
fn an_ihpa_that_does_not_act_stands_against_no_profile() {
    let foreign = json!({"metadata": {"name": "sale", "namespace": "shop", "uid": "f"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "onlineReplicas": 3}});
    let profile = CheckedReplicaProfile::new(serde_json::from_value(foreign).unwrap());
    for (word, acts) in [(None, true), (Some("recommend"), false)] {
        let mut world = parking(8, "Deleted");
        if let Some(word) = word {
            let key = evenkeel_objects::annotations::SCALING.to_owned();
            world.namespace.insert(key, word.to_owned());
        }
        let scalers = Scalers {
            targets: vec![world.observed()],
            ..Scalers::default()
        };
        let beside = scalers.beside(&profile.object, &world.settings);
        assert_eq!(beside.is_some(), acts, "{beside:?}");
    }
}

fn of_cpu(portrait_type: &str, algorithm: &Value) -> Value {
    json!({"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": portrait_type,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}],
        "algorithm": algorithm}})
}

fn reactive() -> Value {
    of_cpu("Reactive", &json!({"type": "KubeHPA"}))
}

fn predictive(forecast: &Value) -> Value {
    of_cpu(
        "Predictive",
        &json!({"type": "Forecast", "forecast": forecast}),
    )
}

/// The counts of the wave over an hour, with this word of `scaleDown`.
fn counts(rule: &str) -> Vec<i32> {
    let mut world = World::new(&[reactive(), predictive(&json!({"scaleDown": rule}))]);
    let seconds = (0..3600).step_by(15);
    let counts = seconds.map(|second| {
        world.load = Some(wave(second));
        world.tick();
        world.replicas
    });
    counts.collect()
}

/// The harm: `scaleDown` of a forecast changed nothing.
#[test]
fn an_early_scale_in_sets_fewer_replicas_and_carries_the_load() {
    let (reactive, early) = (counts("reactive"), counts("early"));
    let sum = |counts: &[i32]| counts.iter().sum::<i32>();
    assert!(sum(&early) < sum(&reactive), "{early:?} {reactive:?}");
    for (count, second) in early.iter().zip((0..).step_by(15)).skip(4) {
        // Within the tolerance of a tenth each Pod carries 1.2 cores.
        let (carried, load) = (1320.0 * f64::from(*count), wave(second));
        assert!(carried >= load, "{second}: {count} Pods for {load}");
    }
}

/// The name of the case, the change that makes it, and the options that have no effect then.
type Case = (&'static str, fn(&mut World), &'static [&'static str]);

const WITHOUT_EFFECT: [Case; 12] = [
    ("everything acts", |_| (), &[]),
    (
        "scaling in is disabled",
        |world| world.ihpa["spec"]["behavior"] = json!({"scaleDown": {"disabled": true}}),
        &["algorithm.forecast.scaleDown"],
    ),
    (
        "the reaction never scales in",
        |world| {
            let rules = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
            world.ihpa["spec"]["portraitProviders"][0]["dynamic"]["algorithm"]["kubeHPA"] = rules;
        },
        &["algorithm.forecast.scaleDown"],
    ),
    (
        "the model knows no risk",
        |world| forecast(world)["model"] = json!("ds-hpa"),
        &["algorithm.forecast.risk"],
    ),
    (
        "there is no memory",
        |world| forecast(world)["predictMemory"] = json!(true),
        &["algorithm.forecast.predictMemory"],
    ),
    (
        "an algorithm of another type",
        |world| {
            let algorithm = &mut world.ihpa["spec"]["portraitProviders"][0]["dynamic"]["algorithm"];
            algorithm["forecast"] = json!({"risk": "1%"});
            algorithm["config"] = json!({"mine": 1});
        },
        &["algorithm.forecast", "algorithm.config"],
    ),
    (
        "a generator of one's own",
        |world| {
            let provider = &mut world.ihpa["spec"]["portraitProviders"][1]["dynamic"];
            provider["externalGeneratorName"] = json!("ours");
            provider["algorithm"]["config"] = json!({"mine": 1});
        },
        &[],
    ),
    (
        "no Pod waits",
        |world| {
            world.ihpa["spec"]["behavior"] = json!({"replicaProfile": {"drainSeconds": 10}});
        },
        &["behavior.replicaProfile"],
    ),
    (
        "annotations in place of fields",
        |world| {
            world.ihpa["metadata"]["annotations"] = json!({"evenkeel.dev/scale-down": "early",
                "evenkeel.dev/risk": "2%", "evenkeel.dev/scaling": "direct"});
        },
        &["evenkeel.dev/scale-down", "evenkeel.dev/risk"],
    ),
    (
        "annotations of the workload",
        |world| {
            world.workload = json!({"evenkeel.dev/predict": "gbdt",
                "evenkeel.dev/scaling": "recommend"});
        },
        &["evenkeel.dev/predict", "evenkeel.dev/scaling"],
    ),
    (
        "a preview shows what would be",
        |world| world.ihpa["spec"]["scaleMode"] = json!("Preview"),
        &[],
    ),
    (
        "traffic alone is forecast",
        |world| {
            forecast(world)["model"] = json!("traffic");
            forecast(world)["traffic"] = json!(["network"]);
        },
        &["algorithm.forecast.scaleDown"],
    ),
];

#[test]
fn a_field_or_annotation_without_effect_is_named_with_the_place_where_it_acts() {
    for (name, change, expected) in WITHOUT_EFFECT {
        let forecast = json!({"scaleDown": "early", "risk": "1%"});
        let mut world = World::new(&[reactive(), predictive(&forecast)]);
        world.settings.queries = Queries::Any;
        world.load = Some(3000.0);
        change(&mut world);
        let (resolved, _) = world.tick();
        assert!(resolved.target.is_some(), "{name}: {:?}", resolved.problems);
        let ignored = resolved
            .problems
            .iter()
            .filter_map(|problem| match problem {
                TargetProblem::OptionIgnored { option, .. } => Some(*option),
                _ => None,
            });
        assert_eq!(ignored.collect::<Vec<_>>(), expected, "{name}");
        let told = world.condition("OptionIgnored").map(|(holds, _)| holds);
        assert_eq!(told, (!expected.is_empty()).then_some(true), "{name}");
        let active = world.condition("ScalingActive").unwrap();
        let is_preview = world.ihpa["spec"]["scaleMode"] == "Preview";
        assert_eq!(active.0, !is_preview, "{name}: {active:?}");
    }
}

fn forecast(world: &mut World) -> &mut Value {
    &mut world.ihpa["spec"]["portraitProviders"][1]["dynamic"]["algorithm"]["forecast"]
}
