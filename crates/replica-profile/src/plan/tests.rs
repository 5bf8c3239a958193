use std::sync::{Arc, LazyLock};

use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfile};
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::plan::conditional_patch::apply;
use evenkeel_objects::plan::write::{Purpose, WriteOperation};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use evenkeel_scaling::targets::scalers::Scalers;
use evenkeel_scaling::targets::settings::Settings;
use serde_json::{Value, json};

use super::*;

/// The managed fields of a Pod on which `manager` has written the record of a resize.
pub(super) fn written_by(manager: &str) -> Value {
    let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
    json!([{"manager": manager, "fieldsV1": fields}])
}

fn now() -> Timestamp {
    "2026-11-25T12:00:00Z".parse().unwrap()
}

fn profile(spec: &Value, status: &Value) -> Arc<CheckedReplicaProfile> {
    let mut object = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "rp", "generation": 3,
            "resourceVersion": "9"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}, "status": status,
    });
    json_patch::merge(&mut object["spec"], spec);
    let object: ReplicaProfile = serde_json::from_value(object).unwrap();
    CheckedReplicaProfile::new(object)
}

fn workload(replicas: i32) -> Arc<Workload> {
    let object = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "d"},
        "spec": {"replicas": replicas, "strategy": {"rollingUpdate": {"maxUnavailable": "50%"}}},
        "status": {"conditions": [{"type": "Progressing", "reason": "NewReplicaSetAvailable"}]}});
    Arc::new(Workload::deserialize(Kind::Deployment, object).unwrap())
}

/// A ready Pod, or one that is out of traffic for a while.
fn written(name: &str, state: Option<&str>) -> Value {
    let ready = if state.is_some() { "False" } else { "True" };
    let long_ago = "2026-11-25T11:00:00Z";
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": long_ago});
    let mut labels = json!({"app": "web"});
    if let Some(state) = state {
        labels["evenkeel.dev/pod-state"] = json!(state);
    }
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": long_ago,
            "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1",
                "uid": "set", "controller": true}]},
        "spec": {"nodeName": "a", "readinessGates": [{"conditionType": "evenkeel.dev/online"}]},
        "status": {"phase": "Running", "conditions": [condition("ContainersReady", "True"),
            condition("Ready", ready), condition("evenkeel.dev/online", ready)]},
    })
}

fn pods(states: &[(&str, Option<&str>)]) -> Vec<Arc<Pod>> {
    let pod = |&(name, state): &(&str, Option<&str>)| {
        Arc::new(serde_json::from_value(written(name, state)).unwrap())
    };
    states.iter().map(pod).collect()
}

fn profiled(spec: &Value, replicas: i32, states: &[(&str, Option<&str>)]) -> ProfileObjects {
    ProfileObjects {
        profile: profile(spec, &json!(null)),
        workload: Some(workload(replicas)),
        gated: pods(states),
        ungated: Vec::new(),
        is_rolling: false,
        used: std::collections::BTreeMap::new(),
        budgets: Vec::new(),
        scalers: Scalers::default(),
    }
}

static FOLLOWED: LazyLock<Settings> = LazyLock::new(|| Settings {
    follows_profiles: true,
    ..Settings::default()
});

fn planned(profiled: &ProfileObjects, memory: &mut ProfileMemory) -> ProfileOutcome {
    let context = ProfileContext {
        settings: &FOLLOWED,
        reporter: "evenkeel-0",
        now: now(),
    };
    plan(profiled, memory, &context)
}

/// The harm: an IHPA left a 0 of the user's alone, and its profile set the count again.
#[test]
fn a_zero_of_the_users_is_left_alone_where_an_autoscaler_has_the_profile() {
    let resting = |owner: &str, replicas, generation, told: (i64, &str)| {
        let (online, reason) = told;
        let status = json!({"observedGeneration": generation, "onlineReplicas": online,
            "conditions": [{"type": "Applied", "status": "True", "reason": reason, "message": "",
                "lastTransitionTime": "2026-11-25T11:00:00Z"}]});
        let object = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "rp", "generation": 3,
                "resourceVersion": "9", "ownerReferences": [{"apiVersion": "v1", "kind": owner,
                    "name": "web", "uid": "i", "controller": true}]},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "onlineReplicas": 5},
            "status": status});
        let profiled = ProfileObjects {
            profile: CheckedReplicaProfile::new(serde_json::from_value(object).unwrap()),
            ..profiled(&json!({}), replicas, &[])
        };
        let outcome = planned(&profiled, &mut ProfileMemory::default());
        outcome.problem == Some("ScaledToZero")
    };
    let ihpa = "IntelligentHorizontalPodAutoscaler";
    for (owner, replicas, generation, told, rests) in [
        (ihpa, 0, 3, (5, "Followed"), true),
        (ihpa, 0, 3, (0, "ScaledToZero"), true),
        (ihpa, 0, 3, (0, "Followed"), false),
        (ihpa, 0, 2, (5, "Followed"), false),
        (ihpa, 1, 3, (0, "ScaledToZero"), false),
        ("Other", 0, 3, (5, "Followed"), false),
    ] {
        let found = resting(owner, replicas, generation, told);
        assert_eq!(found, rests, "{owner} {replicas} {generation} {told:?}");
    }
}

fn targets(writes: &[Write], purpose: Purpose) -> Vec<String> {
    let of = writes.iter().filter(|write| write.purpose == purpose);
    of.map(|write| write.target.to_string()).collect()
}

fn status(writes: &[Write]) -> Value {
    let mut statuses = writes
        .iter()
        .filter(|write| write.purpose == Purpose::ScalingStatus);
    let Some(WriteOperation::Merge(body)) = statuses.next().map(|write| write.operation.clone())
    else {
        panic!("{writes:?}");
    };
    assert_eq!(body["metadata"]["resourceVersion"], "9");
    body["status"].clone()
}

fn notes(writes: &[Write]) -> Vec<(String, String)> {
    let events = writes.iter().filter_map(|write| match &write.operation {
        WriteOperation::Create(body) => Some((
            body["reason"].as_str()?.to_owned(),
            body["note"].as_str()?.to_owned(),
        )),
        _ => None,
    });
    events.collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn a_pod_is_cut_off_by_its_label_and_told_once() {
    let spec = json!({"onlineReplicas": 3, "cutoffReplicas": 1});
    let four = [
        ("web-a", None),
        ("web-b", None),
        ("web-c", None),
        ("web-d", None),
    ];
    let mut profiled = profiled(&spec, 4, &four);
    let mut memory = ProfileMemory::default();
    let outcome = planned(&profiled, &mut memory);
    let [changed] = &targets(&outcome.writes, Purpose::PodState)[..] else {
        panic!("{:?}", outcome.writes);
    };
    let name = changed.strip_prefix("pods shop/").unwrap();
    let mut object = written(name, None);
    let write = outcome
        .writes
        .iter()
        .find(|write| write.purpose == Purpose::PodState);
    let Some(WriteOperation::Conditional(patch)) = write.map(|write| &write.operation) else {
        panic!("{write:?}");
    };
    apply(&mut object, patch).unwrap();
    assert_eq!(
        object["metadata"]["labels"],
        json!({"app": "web", "evenkeel.dev/pod-state": "Cutoff"})
    );
    assert!(
        apply(&mut object, patch).is_err(),
        "its state is another by now"
    );
    let told = status(&outcome.writes);
    assert_eq!(
        (&told["onlineReplicas"], &told["observedGeneration"]),
        (&json!(4), &json!(3))
    );
    let conditions: Vec<_> = told["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["type"].as_str().unwrap(),
                one["status"].as_str().unwrap(),
                one["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        conditions,
        [
            ("Applied", "True", "Followed"),
            ("Ensured", "False", "Progressing")
        ]
    );
    let note = format!("{name}: run and take no traffic");
    assert_eq!(notes(&outcome.writes), [("PodsCutOff".to_owned(), note)]);
    let again = planned(&profiled, &mut memory);
    assert!(
        notes(&again.writes).is_empty(),
        "it is planned until it is seen, and told once"
    );
    // Once it is seen, nothing is left to do.
    let states: Vec<(&str, Option<&str>)> = four
        .iter()
        .map(|(one, _)| (*one, (*one == name).then_some("Cutoff")))
        .collect();
    profiled.gated = pods(&states);
    let outcome = planned(&profiled, &mut memory);
    assert!(targets(&outcome.writes, Purpose::PodState).is_empty());
    assert_eq!(
        status(&outcome.writes)["conditions"][1]["reason"],
        "AsWanted"
    );
}

#[test]
fn what_is_told_already_is_not_written_again() {
    let spec = json!({"onlineReplicas": 1});
    let mut one = profiled(&spec, 1, &[("web-a", None)]);
    let told = status(&planned(&one, &mut ProfileMemory::default()).writes);
    one.profile = profile(&spec, &told);
    assert_eq!(planned(&one, &mut ProfileMemory::default()).writes, []);
}

#[test]
fn those_that_are_to_go_are_marked_before_the_count_falls() {
    let spec = json!({"onlineReplicas": 2, "cutoffReplicas": 1});
    let states = [
        ("web-a", None),
        ("web-b", None),
        ("web-c", Some("Cutoff")),
        ("web-d", Some("Cutoff")),
    ];
    let mut profiled = profiled(&spec, 4, &states);
    let outcome = planned(&profiled, &mut ProfileMemory::default());
    let [marked] = &targets(&outcome.writes, Purpose::DeletionCost)[..] else {
        panic!("{:?}", outcome.writes);
    };
    assert!(
        targets(&outcome.writes, Purpose::ScalingReplicas).is_empty(),
        "{outcome:?}"
    );
    let name = marked.strip_prefix("pods shop/").unwrap();
    let mut object = written(name, Some("Cutoff"));
    object["metadata"]["annotations"] = json!({
        "controller.kubernetes.io/pod-deletion-cost": "-1940085200",
        "evenkeel.dev/deletion-cost": "-1940085200 cutoff"});
    for pod in &mut profiled.gated {
        if pod.name() == name {
            *pod = Arc::new(serde_json::from_value(object.clone()).unwrap());
        }
    }
    let outcome = planned(&profiled, &mut ProfileMemory::default());
    assert_eq!(
        targets(&outcome.writes, Purpose::ScalingReplicas),
        ["deployments.apps/scale shop/web"]
    );
    assert!(targets(&outcome.writes, Purpose::DeletionCost).is_empty());
    // Where it is wanted after all, the cost goes.
    let grown = json!({"onlineReplicas": 2, "cutoffReplicas": 2});
    profiled.profile = profile(&grown, &json!(null));
    let outcome = planned(&profiled, &mut ProfileMemory::default());
    assert_eq!(
        targets(&outcome.writes, Purpose::DeletionCost),
        [marked.as_str()]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn what_stands_against_a_profile_is_told_and_frees_its_pods() {
    let spec = json!({"onlineReplicas": 1, "cutoffReplicas": 1});
    let states = [("web-a", None), ("web-b", Some("Cutoff"))];
    let base = profiled(&spec, 2, &states);
    let kind = json!({"scaleTargetRef": {"kind": "CloneSet", "name": "web"}});
    for (case, other, is_enabled, reason, holds) in [
        (
            "rival",
            ProfileObjects {
                scalers: Scalers {
                    profiles: vec![profile(&spec, &json!(null))],
                    ..Scalers::default()
                },
                ..base.clone()
            },
            true,
            "TargetConflict",
            false,
        ),
        (
            "no workload",
            ProfileObjects {
                workload: None,
                ..base.clone()
            },
            true,
            "TargetNotFound",
            false,
        ),
        ("not enabled", base.clone(), false, "Disabled", false),
        (
            "another kind",
            ProfileObjects {
                profile: profile(&kind, &json!(null)),
                ..base.clone()
            },
            true,
            "TargetKind",
            false,
        ),
        (
            "a typing error",
            ProfileObjects {
                profile: profile(&json!({"onlineReplicas": -1}), &json!(null)),
                ..base.clone()
            },
            true,
            "Invalid",
            true,
        ),
    ] {
        let settings = Settings {
            follows_profiles: is_enabled,
            ..*FOLLOWED
        };
        let context = ProfileContext {
            settings: &settings,
            reporter: "evenkeel-0",
            now: now(),
        };
        let outcome = plan(&other, &mut ProfileMemory::default(), &context);
        assert_eq!(
            (outcome.problem, outcome.holds_pods),
            (Some(reason), holds),
            "{case}"
        );
        let changes = [
            Purpose::PodState,
            Purpose::ScalingReplicas,
            Purpose::DeletionCost,
        ];
        let made = changes.map(|purpose| targets(&outcome.writes, purpose).len());
        assert_eq!(made, [0, 0, 0], "{case}");
        assert_eq!(
            status(&outcome.writes)["conditions"][0]["reason"],
            reason,
            "{case}"
        );
        let notes = notes(&outcome.writes);
        assert_eq!(notes.len(), 1, "{case}: {notes:?}");
        assert_eq!(notes[0].0, "ProfileNotApplied", "{case}");
    }
    let mut waits = GiveBacks::default();
    let freed = release(&base.gated[1], &mut waits, now());
    assert_eq!(targets(&freed, Purpose::PodState), ["pods shop/web-b"]);
    assert!(release(&base.gated[0], &mut waits, now()).is_empty());
}

/// A Pod that stands by, or did until a moment ago, with half of its cpu.
fn lowered(name: &str, state: &str) -> Value {
    let of = |cpu: &str| json!({"web": {"requests": {"cpu": cpu}}});
    let record = json!({"by": "standby", "original": of("1"), "from": of("1"), "to": of("500m"),
        "at": "2026-11-25T11:00:00Z"});
    let resources = json!({"requests": {"cpu": "500m"}});
    let mut pod = written(name, Some(state));
    pod["metadata"]["resourceVersion"] = json!("5");
    pod["metadata"]["annotations"] = json!({"evenkeel.dev/resized": record.to_string()});
    pod["metadata"]["managedFields"] = written_by(MANAGER);
    pod["spec"]["containers"] = json!([{"name": "web", "resources": resources}]);
    pod["status"]["containerStatuses"] = json!([{"name": "web", "resources": resources}]);
    pod
}

#[test]
fn a_pod_that_is_refused_its_resources_is_waited_for_no_longer_than_they_take() {
    let later = |seconds| now() + jiff::SignedDuration::from_secs(seconds);
    let spec = json!({"onlineReplicas": 3, "cutoffReplicas": 0, "standbyReplicas": 0});
    let states = [("web-a", None), ("web-b", None), ("web-c", None)];
    let mut profiled = profiled(&spec, 3, &states);
    let refused: Pod = serde_json::from_value(lowered("web-a", "Cutoff")).unwrap();
    let waiting: Pod = serde_json::from_value(lowered("web-b", "Standby")).unwrap();
    profiled.gated[0] = Arc::new(refused.clone());
    profiled.gated[1] = Arc::new(waiting);
    profiled.profile = profile(
        &json!({"onlineReplicas": 2, "standbyReplicas": 1}),
        &json!(null),
    );
    let mut memory = ProfileMemory::default();
    let mut states = |at| {
        let context = ProfileContext {
            settings: &FOLLOWED,
            reporter: "evenkeel-0",
            now: at,
        };
        let outcome = plan(&profiled, &mut memory, &context);
        let reason = status(&outcome.writes)["conditions"][1]["reason"].clone();
        (targets(&outcome.writes, Purpose::PodState), reason)
    };
    assert_eq!(states(later(0)), (vec![], json!("Progressing")));
    // The other one that stands by takes its place.
    let raised = vec!["pods shop/web-b".to_owned()];
    assert_eq!(states(later(40)), (raised, json!("ResourcesWithheld")));
    let mut waits = GiveBacks::default();
    let mut freed = |at| {
        let freed = release(&refused, &mut waits, at);
        let asked = ["pods/resize shop/web-a".to_owned()];
        assert_eq!(targets(&freed, Purpose::PodState)[..1], asked);
        targets(&freed, Purpose::PodState).len() - 1
    };
    assert_eq!((freed(later(0)), freed(later(40))), (0, 1));
    assert_eq!(bring_online(&refused, Purpose::Restore, now()).len(), 2);
}

#[test]
fn a_budget_counts_what_its_controller_may_not_have_seen() {
    let budget: DisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 1}}))
    .unwrap();
    let spec = json!({"onlineReplicas": 2, "cutoffReplicas": 2});
    let mut states = [
        ("web-a", None),
        ("web-b", None),
        ("web-c", None),
        ("web-d", None),
    ];
    let mut four = profiled(&spec, 4, &states);
    four.budgets = vec![Arc::new(budget)];
    let outcome = planned(&four, &mut ProfileMemory::default());
    assert_eq!(targets(&outcome.writes, Purpose::PodState).len(), 1);
    assert_eq!(
        status(&outcome.writes)["conditions"][1]["reason"],
        "PodDisruptionBudget"
    );
    // The one that was cut off a moment ago is in no budget yet.
    states[0].1 = Some("Cutoff");
    four.gated = pods(&states);
    let mut fresh = written("web-a", Some("Cutoff"));
    fresh["status"]["conditions"][2]["lastTransitionTime"] = json!("2026-11-25T11:59:58Z");
    four.gated[0] = Arc::new(serde_json::from_value(fresh).unwrap());
    let outcome = planned(&four, &mut ProfileMemory::default());
    assert!(
        targets(&outcome.writes, Purpose::PodState).is_empty(),
        "{outcome:?}"
    );
}

#[test]
fn a_budget_whose_controller_is_away_is_kept_by_what_is_seen() {
    let budget: DisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 1, "desiredHealthy": 3,
            "expectedPods": 4}}))
    .unwrap();
    let spec = json!({"onlineReplicas": 2, "cutoffReplicas": 2});
    // One was cut off an hour ago, and the status is that of before.
    let states = [
        ("web-a", Some("Cutoff")),
        ("web-b", None),
        ("web-c", None),
        ("web-d", None),
    ];
    let mut four = profiled(&spec, 4, &states);
    four.budgets = vec![Arc::new(budget)];
    let outcome = planned(&four, &mut ProfileMemory::default());
    assert!(targets(&outcome.writes, Purpose::PodState).is_empty());
}

#[test]
fn pods_of_a_stateful_set_go_by_their_ordinals() {
    let mut set = profiled(
        &json!({"onlineReplicas": 2, "cutoffReplicas": 1}),
        3,
        &[("web-0", None), ("web-2", None), ("web-10", None)],
    );
    set.profile = profile(
        &json!({"scaleTargetRef": {"kind": "StatefulSet", "name": "web"},
        "onlineReplicas": 2, "cutoffReplicas": 1}),
        &json!(null),
    );
    let object = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "s"}, "spec": {"replicas": 3}});
    set.workload = Some(Arc::new(
        Workload::deserialize(Kind::StatefulSet, object).unwrap(),
    ));
    let outcome = planned(&set, &mut ProfileMemory::default());
    assert_eq!(
        targets(&outcome.writes, Purpose::PodState),
        ["pods shop/web-10"]
    );
    let named: Vec<_> = outcome
        .writes
        .iter()
        .filter(|write| write.purpose == Purpose::DeletionCost)
        .collect();
    assert!(named.is_empty(), "costs are read by ReplicaSets alone");
    assert_eq!(PodState::named("Cutoff"), Some(PodState::Cutoff));
}
