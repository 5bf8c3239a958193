use std::collections::BTreeSet;
use std::sync::Arc;

use evenkeel_metrics::signal::ResourceName;
use evenkeel_objects::annotations::{BOUNDS, SCALING_STATUS};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::custom_kind::CustomKind;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_objects::start_time::StartTime;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::target_objects::TargetPodFacts;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::cluster::SCALING;
use crate::cluster::owners::Owner;
use crate::cluster::pod_store::{ObservedPod, PodStore as _};
use crate::cluster::state::{ClusterState, Settings};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn state() -> ClusterState {
    ClusterState::new(Settings::default())
}

fn namespace(state: &ClusterState, annotations: &Value) {
    let namespace = json!({"metadata": {"name": "shop", "annotations": annotations}});
    state.apply_namespace(&serde_json::from_value(namespace).unwrap(), NOW);
}

/// A cluster in which the namespace `shop` has opted in.
fn shop() -> ClusterState {
    let state = state();
    namespace(&state, &json!({"evenkeel.dev/enabled": "true"}));
    state
}

fn meta(name: &str, annotations: &Value) -> Value {
    json!({"name": name, "namespace": "shop", "uid": name, "annotations": annotations})
}

fn hpa(state: &ClusterState, name: &str, (kind, target): (&str, &str), annotations: &Value) {
    let hpa = json!({
        "metadata": meta(name, annotations),
        "spec": {"maxReplicas": 5, "scaleTargetRef": {
            "apiVersion": "apps/v1", "kind": kind, "name": target}},
    });
    let hpa = serde_json::from_value(hpa).unwrap();
    state.apply_scaling_object(ScalingObject::Autoscaler(Arc::new(hpa)));
}

/// An HPA that the ScaledObject `name` controls, with annotations that it had when KEDA made it.
fn keda_hpa(state: &ClusterState, name: &str) {
    let copied = json!({BOUNDS: "{}", "evenkeel.dev/scaling": "direct"});
    let mut metadata = meta(&format!("keda-hpa-{name}"), &copied);
    metadata["ownerReferences"] = json!([{"apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject", "name": name, "uid": name, "controller": true}]);
    let hpa = json!({"metadata": metadata, "spec": {"scaleTargetRef": {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let hpa = serde_json::from_value(hpa).unwrap();
    state.apply_scaling_object(ScalingObject::Autoscaler(Arc::new(hpa)));
}

fn scaled_object(state: &ClusterState, name: &str, annotations: &Value) {
    let object = json!({"metadata": meta(name, annotations),
        "spec": {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 1}});
    let object = serde_json::from_value(object).unwrap();
    state.apply_scaling_object(ScalingObject::ScaledObject(Arc::new(object)));
}

fn workload(state: &ClusterState, kind: Kind, name: &str, annotations: &Value) {
    let metadata = serde_json::from_value(meta(name, annotations)).unwrap();
    state.apply_scaling_object(ScalingObject::Workload(Arc::new(Workload {
        metadata,
        kind,
        replicas: 3,
        selector: None,
        rollout: evenkeel_objects::rolling_update::Rollout::default(),
        progress: evenkeel_objects::rollout::RolloutProgress::Complete,
        custom: None,
    })));
}

fn pod(uid: &str, name: &str, (kind, owner): (&str, &str)) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": uid,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"kind": kind, "name": owner, "uid": format!("uid-{owner}"), "controller": true}]},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
        "status": {"phase": "Pending"},
    })
}

/// The same Pod, ready so many seconds after it was made.
fn ready(mut pod: Value, seconds: i64) -> Value {
    let made: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let time = (made + SignedDuration::from_secs(seconds)).to_string();
    pod["status"] = json!({
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}],
        "containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}}}],
    });
    pod
}

fn apply(state: &ClusterState, pod: Value) {
    state.apply_pod(&serde_json::from_value::<Pod>(pod).unwrap(), NOW);
}

fn set_key(replica_set: &str) -> ControllerKey {
    ControllerKey::new("shop", &format!("uid-{replica_set}"))
}

fn owns(state: &ClusterState, replica_set: &str, deployment: Option<&str>) {
    let owner = deployment.map(|name| Owner::new("apps/v1", "Deployment", name));
    state.apply_owner(Kind::ReplicaSet, &set_key(replica_set), owner);
}

fn one(state: &ClusterState) -> TargetObjects {
    let mut targets = state.scaling_view().targets;
    assert_eq!(targets.len(), 1, "{targets:?}");
    targets.remove(0)
}

fn names(state: &ClusterState) -> Vec<String> {
    let members = one(state).pods.members;
    let mut names: Vec<_> = members.iter().map(|pod| pod.name.clone()).collect();
    names.sort();
    names
}

fn scaled(state: &ClusterState) -> Vec<String> {
    let targets = state.scaling_view().targets;
    let name = |target: &TargetObjects| target.target.name().to_owned();
    targets.iter().map(name).collect()
}

fn notes(state: &ClusterState) -> Vec<(&'static str, String)> {
    let told = state.take_warnings(usize::MAX);
    told.into_iter()
        .map(|warning| (warning.regarding.kind.as_str(), warning.regarding.name))
        .collect()
}

/// The seconds from creation to readiness of each start.
fn took(starts: &[StartTime]) -> Vec<i64> {
    let whole = starts.iter().map(|start| start.waited + start.started);
    whole.map(|took| took.as_secs()).collect()
}

#[test]
fn an_autoscaler_stands_with_all_that_belongs_to_it() {
    let state = shop();
    hpa(
        &state,
        "web-hpa",
        ("Deployment", "web"),
        &json!({"evenkeel.dev/scaling": "floor"}),
    );
    let alone = one(&state);
    assert_eq!(
        (alone.workload, alone.pods),
        (None, TargetPodFacts::default())
    );
    workload(&state, Kind::Deployment, "web", &json!({}));
    workload(&state, Kind::StatefulSet, "web", &json!({}));
    owns(&state, "web-1", Some("web"));
    apply(&state, pod("a", "web-1-a", ("ReplicaSet", "web-1")));
    apply(
        &state,
        ready(pod("b", "web-1-b", ("ReplicaSet", "web-1")), 30),
    );
    let target = one(&state);
    assert_eq!(&*target.namespace, "shop");
    assert!(target.namespace_policy.enabled);
    assert_eq!(target.autoscaler.unwrap().spec.max_replicas, 5);
    let workload = target.workload.unwrap();
    assert_eq!((workload.kind, workload.replicas), (Kind::Deployment, 3));
    let web = TargetRef::of_kind(Kind::Deployment, "shop", "web");
    assert_eq!(target.target, web);
    let mut members = target.pods.members;
    members.sort_by(|a, b| a.name.cmp(&b.name));
    let requests = &members[0].spec.containers[0].requests;
    assert_eq!(requests.get(&ResourceName::Cpu), Some(500));
    assert_eq!(requests.get(&ResourceName::Memory), Some(1000 << 30));
    let ready: Vec<_> = members.iter().map(|pod| pod.is_ready()).collect();
    assert_eq!(ready, [false, true]);
    assert_eq!(took(&target.pods.starts), [30]);
}

#[test]
fn only_namespaces_that_opted_in_have_targets() {
    let state = state();
    let annotated = json!({"evenkeel.dev/predict": "auto"});
    hpa(&state, "web", ("Deployment", "web"), &annotated);
    workload(&state, Kind::StatefulSet, "db", &annotated);
    workload(&state, Kind::Deployment, "plain", &json!({}));
    apply(&state, pod("a", "db-0", ("StatefulSet", "db")));
    assert_eq!(scaled(&state), [""; 0], "the namespace is not known");
    namespace(&state, &json!({}));
    assert_eq!(scaled(&state), [""; 0], "it has not opted in");
    namespace(
        &state,
        &json!({"evenkeel.dev/enabled": "true", "evenkeel.dev/scaling": "floor"}),
    );
    assert_eq!(scaled(&state), ["web", "db"]);
    let targets = state.scaling_view().targets;
    assert_eq!(
        targets[1].pods.members.len(),
        1,
        "its Pods were counted before"
    );
    let mode = targets[0].namespace_policy.scaling;
    assert_eq!(
        mode,
        Some(evenkeel_objects::scaling_mode::ScalingMode::Floor)
    );
    namespace(&state, &json!({}));
    assert_eq!(scaled(&state), [""; 0], "it has opted out");
    namespace(&state, &json!({"evenkeel.dev/enabled": "true"}));
    state.remove_namespace("shop", NOW);
    assert_eq!(scaled(&state), [""; 0], "it is gone");
}

#[test]
fn what_was_written_is_seen_until_it_is_taken_back() {
    for key in [BOUNDS, SCALING_STATUS] {
        let state = state();
        let ours = json!({key: "{}"});
        hpa(&state, "web", ("Deployment", "web"), &ours);
        workload(&state, Kind::Deployment, "api", &ours);
        scaled_object(&state, "queue", &ours);
        scaled_object(&state, "other", &json!({}));
        let targets = state.scaling_view().targets;
        assert_eq!(targets.len(), 3, "{key}");
        assert!(
            targets
                .iter()
                .all(|target| !target.namespace_policy.enabled)
        );
        hpa(&state, "web", ("Deployment", "web"), &json!({}));
        workload(&state, Kind::Deployment, "api", &json!({}));
        scaled_object(&state, "queue", &json!({}));
        assert_eq!(scaled(&state), [""; 0], "{key}");
    }
}

#[test]
fn a_workload_is_a_target_where_it_asks_and_has_no_autoscaler() {
    let state = shop();
    for (name, annotations) in [
        ("asks", json!({"evenkeel.dev/scaling": "recommend"})),
        (
            "bounds-only",
            json!({"evenkeel.dev/min-replicas": "1", "evenkeel.dev/max-replicas": "3"}),
        ),
        ("has-one", json!({"evenkeel.dev/predict": "auto"})),
        ("plain", json!({})),
    ] {
        workload(&state, Kind::Deployment, name, &annotations);
    }
    hpa(&state, "hpa", ("Deployment", "has-one"), &json!({}));
    assert_eq!(scaled(&state), ["has-one", "asks", "bounds-only"]);
    hpa(&state, "hpa", ("Deployment", "plain"), &json!({}));
    assert_eq!(
        scaled(&state),
        ["plain", "asks", "bounds-only", "has-one"],
        "it was given another target"
    );
    state
        .scaling()
        .remove(Kind::HorizontalPodAutoscaler, "shop/hpa");
    assert_eq!(scaled(&state), ["asks", "bounds-only", "has-one"]);
    state.scaling().remove(Kind::Deployment, "shop/asks");
    assert_eq!(scaled(&state), ["bounds-only", "has-one"]);
}

#[test]
fn an_autoscaler_that_changes_its_target_has_the_pods_of_the_new_one() {
    let state = shop();
    apply(&state, pod("a", "db-0", ("StatefulSet", "db")));
    owns(&state, "web-1", Some("web"));
    apply(&state, pod("b", "web-1-b", ("ReplicaSet", "web-1")));
    hpa(&state, "hpa", ("Deployment", "web"), &json!({}));
    assert_eq!(names(&state), ["web-1-b"]);
    hpa(&state, "hpa", ("StatefulSet", "db"), &json!({}));
    assert_eq!(names(&state), ["db-0"]);
    hpa(&state, "hpa", ("Rollout", "web"), &json!({}));
    assert_eq!(names(&state), [""; 0], "another kind of the same name");
}

#[test]
fn two_autoscalers_of_one_workload_are_both_shown() {
    let state = shop();
    for name in ["one", "two"] {
        hpa(&state, name, ("Deployment", "web"), &json!({}));
    }
    assert_eq!(scaled(&state), ["web", "web"]);
}

#[test]
fn a_replica_set_may_show_up_after_its_pods() {
    let state = shop();
    hpa(&state, "hpa", ("Deployment", "web"), &json!({}));
    apply(
        &state,
        ready(pod("a", "web-1-a", ("ReplicaSet", "web-1")), 10),
    );
    assert_eq!(names(&state), [""; 0]);
    owns(&state, "web-1", Some("web"));
    assert_eq!(names(&state), ["web-1-a"]);
    assert_eq!(took(&one(&state).pods.starts), [10], "they come along");
    owns(&state, "web-2", Some("web"));
    apply(
        &state,
        ready(pod("b", "web-2-b", ("ReplicaSet", "web-2")), 20),
    );
    assert_eq!(
        names(&state),
        ["web-1-a", "web-2-b"],
        "while it is rolled out"
    );
    state.remove_pod("a", NOW);
    assert_eq!(one(&state).pods.starts.len(), 2, "the times of both stay");
    owns(&state, "web-2", None);
    assert_eq!(names(&state), [""; 0], "it belongs to nobody any more");
    hpa(&state, "hpa", ("ReplicaSet", "web-2"), &json!({}));
    assert_eq!(names(&state), ["web-2-b"]);
}

#[test]
fn pods_of_a_controller_share_their_spec_while_it_is_equal() {
    let state = shop();
    hpa(&state, "hpa", ("StatefulSet", "db"), &json!({}));
    let db = |number: u32, cpu: &str| {
        let mut pod = pod(
            &format!("uid-{number}"),
            &format!("db-{number}"),
            ("StatefulSet", "db"),
        );
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
        apply(&state, pod);
        let members = one(&state).pods.members;
        let specs = members.iter().map(|member| Arc::as_ptr(&member.spec));
        specs.collect::<BTreeSet<_>>().len()
    };
    assert_eq!(db(0, "500m"), 1);
    assert_eq!(db(1, "500m"), 1);
    assert_eq!(db(2, "600m"), 2);
    // One Pod alone is resized, and the others follow.
    assert_eq!(db(1, "600m"), 2);
    assert_eq!(db(0, "600m"), 1);
    let members = one(&state).pods.members;
    let requests = members
        .iter()
        .map(|member| member.spec.containers[0].requests.get(&ResourceName::Cpu));
    assert_eq!(requests.collect::<Vec<_>>(), [Some(600); 3]);
}

#[test]
fn pods_come_change_and_go() {
    let state = shop();
    hpa(&state, "hpa", ("StatefulSet", "db"), &json!({}));
    let db = |uid: &str| pod(uid, "db-0", ("StatefulSet", "db"));
    apply(&state, db("a"));
    let mut terminating = ready(db("a"), 5);
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
    apply(&state, terminating);
    let member = one(&state).pods.members.remove(0);
    assert!(member.is_ready() && member.deleted);
    // The next of the same name is seen before the end of the one before.
    apply(&state, db("b"));
    let members = one(&state).pods.members;
    assert_eq!((members.len(), members[0].is_ready()), (1, false));
    state.remove_pod("a", NOW);
    assert_eq!(
        names(&state),
        ["db-0"],
        "that end is not the end of this one"
    );
    let mut failed = db("b");
    failed["status"]["phase"] = json!("Failed");
    apply(&state, failed);
    assert_eq!(names(&state), [""; 0]);
    apply(&state, db("c"));
    let mut released = db("c");
    released["metadata"]["ownerReferences"] = json!([]);
    apply(&state, released);
    assert_eq!(names(&state), [""; 0], "it is nobody's any more");
    apply(&state, pod("d", "db-0", ("Job", "db")));
    assert_eq!(names(&state), [""; 0]);
}

#[test]
fn each_start_counts_once() {
    let state = shop();
    hpa(&state, "hpa", ("StatefulSet", "db"), &json!({}));
    workload(&state, Kind::StatefulSet, "db", &json!({}));
    let times = || took(&one(&state).pods.starts);
    let db = || pod("a", "db-0", ("StatefulSet", "db"));
    apply(&state, db());
    apply(&state, ready(db(), 12));
    assert_eq!(times(), [12]);
    apply(&state, db());
    apply(&state, ready(db(), 99));
    assert_eq!(times(), [12], "it was ready before");
    state.remove_pod("a", NOW);
    assert_eq!(times(), [12], "while there is the workload");
    state.scaling().remove(Kind::StatefulSet, "shop/db");
    assert_eq!(times(), [0; 0]);
}

#[test]
fn a_list_removes_what_it_does_not_hold() {
    let state = shop();
    let annotated = json!({"evenkeel.dev/predict": "auto"});
    for name in ["a", "b"] {
        hpa(&state, name, ("Rollout", name), &json!({}));
        workload(&state, Kind::Deployment, name, &annotated);
        workload(&state, Kind::StatefulSet, name, &annotated);
        let set = format!("set-{name}");
        apply(&state, pod(name, name, ("ReplicaSet", &set)));
        owns(&state, &set, Some(name));
    }
    assert_eq!(scaled(&state), ["a", "b", "a", "b", "a", "b"]);
    let keep = |key: &str| key == "shop/b";
    state.scaling().retain(Kind::HorizontalPodAutoscaler, keep);
    state.scaling().retain(Kind::StatefulSet, keep);
    state.scaling().retain(Kind::Deployment, keep);
    state.retain_pods(|uid| uid == "b", NOW);
    state.retain_owners(Kind::ReplicaSet, |key| *key == set_key("set-b"));
    assert_eq!(scaled(&state), ["b", "b", "b"]);
    let targets = state.scaling_view().targets;
    let pods: Vec<_> = targets
        .iter()
        .map(|target| target.pods.members.len())
        .collect();
    assert_eq!(pods, [0, 1, 0], "the Deployment's");
    // The ReplicaSet that was not listed is not remembered for a later Pod of its.
    apply(&state, pod("a", "a", ("ReplicaSet", "set-a")));
    workload(&state, Kind::Deployment, "a", &annotated);
    assert!(state.scaling_view().targets[1].pods.members.is_empty());
    state.retain_namespaces(|_| false, NOW);
    assert_eq!(scaled(&state), [""; 0]);
}

#[test]
fn keda_stands_beside_the_autoscaler_that_it_controls() {
    let state = shop();
    keda_hpa(&state, "web");
    assert!(one(&state).scaled_object.is_none(), "it has not been seen");
    scaled_object(&state, "web", &json!({BOUNDS: "{}"}));
    let target = one(&state);
    assert_eq!(
        target.scaled_object.unwrap().spec.min_replica_count,
        Some(1)
    );
    assert!(target.autoscaler.is_some());
    state
        .scaling()
        .remove(Kind::HorizontalPodAutoscaler, "shop/keda-hpa-web");
    let target = one(&state);
    assert!(target.autoscaler.is_none(), "KEDA has taken it away");
    assert_eq!(target.target.kind(), "Deployment");
    state.serve(Kind::ScaledObject, false);
    assert_eq!(scaled(&state), [""; 0]);
}

#[test]
fn what_keda_copied_to_its_autoscaler_says_nothing() {
    let state = shop();
    keda_hpa(&state, "web");
    let autoscaler = one(&state).autoscaler.unwrap();
    assert!(autoscaler.metadata.annotations.is_empty());
    assert_eq!(notes(&state), []);
    namespace(&state, &json!({}));
    assert_eq!(scaled(&state), [""; 0], "nothing of ours is on it");
}

#[test]
fn nothing_is_decided_before_all_that_scaling_reads_was_listed() {
    let state = state();
    for kind in SCALING {
        assert!(!state.scaling_view().synced, "{kind:?}");
        state.set_synced(kind);
    }
    assert!(state.scaling_view().synced);
    state.serve(Kind::ScaledObject, true);
    assert!(
        !state.scaling_view().synced,
        "KEDA has come, and its objects are to be listed"
    );
    state.serve(Kind::ScaledObject, false);
    assert!(
        state.scaling_view().synced,
        "there are none to be waited for"
    );
    let waiting = [Kind::Node, Kind::Job];
    assert_eq!(
        state.unsynced(),
        waiting,
        "Pods are judged without autoscalers"
    );
}

#[test]
fn annotations_that_are_not_understood_are_told_where_somebody_opted_in() {
    let wrong = json!({"evenkeel.dev/scaling": "faster", "evenkeel.dev/predict": "lstm"});
    let state = state();
    let objects = || {
        hpa(&state, "a", ("Deployment", "web"), &wrong);
        workload(&state, Kind::Deployment, "b", &wrong);
        workload(&state, Kind::StatefulSet, "c", &wrong);
        scaled_object(&state, "d", &wrong);
    };
    objects();
    assert_eq!(notes(&state), []);
    namespace(&state, &json!({"evenkeel.dev/enabled": "true"}));
    let told = [
        ("HorizontalPodAutoscaler", "a"),
        ("Deployment", "b"),
        ("StatefulSet", "c"),
        ("ScaledObject", "d"),
    ]
    .into_iter()
    .flat_map(|(kind, name)| [(kind, name.to_owned()), (kind, name.to_owned())])
    .collect::<Vec<_>>();
    assert_eq!(notes(&state), told, "each with both of its annotations");
    objects();
    assert_eq!(notes(&state), [], "they have been told");
    hpa(
        &state,
        "e",
        ("Deployment", "web"),
        &json!({"evenkeel.dev/scale-down": "late"}),
    );
    assert_eq!(notes(&state), [("HorizontalPodAutoscaler", "e".to_owned())]);
}

#[test]
fn a_namespace_is_not_mistaken_for_one_whose_name_it_begins() {
    let mut store = ScalingStore::default();
    for namespace in ["shop", "shop-2", "shop0", "sho"] {
        let workload = json!({"name": "a", "namespace": namespace,
            "annotations": {"evenkeel.dev/predict": namespace}});
        let told = store.apply(ScalingObject::Workload(Arc::new(Workload {
            metadata: serde_json::from_value(workload).unwrap(),
            kind: Kind::Deployment,
            replicas: 1,
            selector: None,
            rollout: evenkeel_objects::rolling_update::Rollout::default(),
            progress: evenkeel_objects::rollout::RolloutProgress::Complete,
            custom: None,
        })));
        assert_eq!(told, []);
    }
    let policy = NamespacePolicy {
        enabled: true,
        ..NamespacePolicy::default()
    };
    let told = store.apply_namespace("shop", &Arc::new(policy));
    let namespaces: Vec<_> = told
        .iter()
        .map(|warning| warning.regarding.namespace.as_deref())
        .collect();
    assert_eq!(namespaces, [Some("shop")]);
}

#[test]
fn the_index_forgets_everything_in_the_end() {
    let mut index = PodsByWorkload::default();
    for round in 0..3 {
        let read = |value: Value| serde_json::from_value::<Pod>(value).unwrap();
        for number in 0..10 {
            let uid = format!("{round}-{number}");
            let value = ready(
                pod(&uid, &uid, ("ReplicaSet", &format!("set-{}", number % 3))),
                9,
            );
            index.apply(&ObservedPod::new(&read(value), false, NOW));
        }
        index.apply_owner(
            &set_key("set-0"),
            Some(Owner::new("apps/v1", "Deployment", "web")),
        );
        index.retain(&|uid| uid.ends_with('9'), NOW);
        index.remove(&format!("{round}-9"), NOW);
        index.remove_owner(&set_key("set-0"));
        assert!(index.is_empty());
    }
}

fn cron_hpa(state: &ClusterState, name: &str, target: &Value, deleted: Option<&str>) {
    let mut metadata = meta(name, &json!({}));
    metadata["deletionTimestamp"] = json!(deleted);
    let object = json!({"metadata": metadata, "spec": {"scaleTargetRef": target,
        "crons": [{"schedule": "0 8 * * *", "target": 3}]}});
    let object = Arc::new(serde_json::from_value(object).unwrap());
    state.apply_scaling_object(ScalingObject::CronHpa(object));
}

#[test]
fn cron_hpas_are_seen_and_make_targets_of_the_workloads_that_they_name() {
    let state = shop();
    workload(&state, Kind::Deployment, "web", &json!({}));
    cron_hpa(
        &state,
        "a",
        &json!({"kind": "Deployment", "name": "web"}),
        None,
    );
    cron_hpa(
        &state,
        "b",
        &json!({"kind": "Deployment", "name": "gone"}),
        None,
    );
    let hpa = json!({"kind": "HorizontalPodAutoscaler", "name": "web"});
    cron_hpa(&state, "c", &hpa, None);
    cron_hpa(&state, "d", &hpa, Some("2026-01-01T00:00:00Z"));
    let seen = |state: &ClusterState| -> Vec<String> {
        let crons = state.scaling_view().crons;
        let name = |cron: &Arc<CheckedCronHpa>| cron.object.metadata.name.clone().unwrap();
        crons.iter().map(name).collect()
    };
    assert_eq!(
        seen(&state),
        ["a", "b", "c"],
        "without the one that is being deleted"
    );
    assert_eq!(scaled(&state), ["web"]);
    scaled_object(&state, "web", &json!({}));
    assert_eq!(
        scaled(&state).len(),
        2,
        "and the ScaledObject that has no HPA for it"
    );
    state.scaling().remove(Kind::CronHpa, "shop/b");
    assert_eq!(seen(&state).len(), 2);
    namespace(&state, &json!({}));
    assert!(seen(&state).is_empty(), "its namespace has opted out");
    namespace(&state, &json!({"evenkeel.dev/enabled": "true"}));
    state.serve(Kind::CronHpa, false);
    assert!(seen(&state).is_empty(), "the cluster serves none any more");
    assert!(scaled(&state).is_empty());
}

/// Rollouts of Argo, as a cluster serves them.
fn rollouts() -> CustomKind {
    let scaled = ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap();
    let definition = json!({"spec": {"versions": [{"name": "v1alpha1", "subresources": {
        "scale": {"specReplicasPath": ".spec.replicas"}}}]}});
    let definition = serde_json::from_value(definition).unwrap();
    let found = scaled.found("rollouts", Some(definition)).unwrap();
    found.into_kind()
}

fn rollout(state: &ClusterState, name: &str, annotations: &Value) {
    let object = json!({"metadata": meta(name, annotations), "spec": {"replicas": 2}});
    let workload = Workload::of_custom(rollouts(), serde_json::from_value(object).unwrap());
    state.apply_scaling_object(ScalingObject::Workload(Arc::new(workload)));
}

fn of_group(mut pod: Value, api_version: &str) -> Value {
    pod["metadata"]["ownerReferences"][0]["apiVersion"] = json!(api_version);
    pod
}

#[test]
fn a_custom_resource_has_the_pods_that_name_it_and_those_of_its_replica_sets() {
    let state = shop();
    state.serve(Kind::Custom(rollouts()), true);
    let direct = json!({"evenkeel.dev/scaling": "direct"});
    rollout(&state, "web", &direct);
    for replica_set in ["web-stable", "web-canary"] {
        let owner = Owner::new("argoproj.io/v1alpha1", "Rollout", "web");
        state.apply_owner(Kind::ReplicaSet, &set_key(replica_set), Some(owner));
        let pod = pod(replica_set, replica_set, ("ReplicaSet", replica_set));
        apply(&state, of_group(pod, "apps/v1"));
    }
    let own = pod("own", "web-x", ("Rollout", "web"));
    apply(&state, of_group(own, "argoproj.io/v1"));
    // OpenKruise has Rollouts, too.
    let other = pod("other", "web-y", ("Rollout", "web"));
    let mut other = of_group(other, "rollouts.kruise.io/v1");
    other["metadata"]["ownerReferences"][0]["uid"] = json!("uid-other");
    apply(&state, other);
    assert_eq!(names(&state), ["web-canary", "web-stable", "web-x"]);
    let target = one(&state).target;
    let named = target.object().to_string();
    assert_eq!(named, "rollouts.argoproj.io/scale shop/web");
}

#[test]
fn workloads_of_one_kind_in_two_groups_are_two() {
    let state = shop();
    let direct = json!({"evenkeel.dev/scaling": "direct"});
    workload(&state, Kind::StatefulSet, "db", &direct);
    for (name, api_version) in [("db-0", "apps/v1"), ("db-1", "apps.kruise.io/v1beta1")] {
        let mut pod = of_group(pod(name, name, ("StatefulSet", "db")), api_version);
        pod["metadata"]["ownerReferences"][0]["uid"] = json!(api_version);
        apply(&state, pod);
    }
    assert_eq!(names(&state), ["db-0"]);
}

#[test]
fn an_hpa_and_a_cron_hpa_find_their_custom_resource_while_its_kind_is_served() {
    let state = shop();
    let kind = Kind::Custom(rollouts());
    let reference = json!({"apiVersion": "argoproj.io/v1", "kind": "Rollout", "name": "web"});
    cron_hpa(&state, "sale", &reference, None);
    assert_eq!(scaled(&state), [""; 0]);
    state.serve(kind, true);
    rollout(&state, "web", &json!({}));
    assert_eq!(
        scaled(&state),
        ["web"],
        "it is named, though it asks for nothing"
    );
    let autoscaler = json!({"metadata": meta("web", &json!({})), "spec": {
        "maxReplicas": 5, "scaleTargetRef": reference}});
    let autoscaler = serde_json::from_value(autoscaler).unwrap();
    state.apply_scaling_object(ScalingObject::Autoscaler(Arc::new(autoscaler)));
    let target = one(&state);
    assert_eq!(target.workload.unwrap().replicas, 2);
    assert_eq!(target.target, TargetRef::of_kind(kind, "shop", "web"));
    state.serve(kind, false);
    let target = one(&state);
    assert!(target.autoscaler.is_some() && target.workload.is_none());
}

#[test]
fn nothing_is_scaled_before_custom_resources_are_known_and_a_missing_right_holds_up_none() {
    let state = shop();
    for kind in SCALING {
        state.set_synced(kind);
    }
    let is_synced = || state.scaling_view().synced;
    assert!(is_synced());
    state.scaling().custom_kinds.expect("rollout.argoproj.io");
    assert!(!is_synced(), "nobody has looked");
    let kind = Kind::Custom(rollouts());
    state.serve(kind, true);
    state
        .scaling()
        .custom_kinds
        .looked_for("rollout.argoproj.io");
    assert!(!is_synced(), "not yet listed");
    state.set_synced(kind);
    assert!(is_synced());
    rollout(&state, "web", &json!({"evenkeel.dev/scaling": "direct"}));
    assert_eq!(scaled(&state), ["web"]);
    state.set_unsynced(kind);
    assert_eq!(
        scaled(&state),
        [""; 0],
        "nobody would correct what was seen"
    );
    assert!(is_synced(), "and all else goes on");
    state.serve(kind, false);
    assert!(is_synced());
}

#[test]
fn what_an_operator_owns_is_tuned_and_what_a_deployment_owns_is_a_part_of_it() {
    let state = shop();
    for kind in SCALING {
        state.set_synced(kind);
    }
    let owned = |kind: Kind, name: &str| {
        let mut metadata = meta(name, &json!({"evenkeel.dev/tuning": "on"}));
        metadata["ownerReferences"] =
            json!([{"kind": "Database", "name": "db", "uid": "db", "controller": true}]);
        let metadata = serde_json::from_value(metadata).unwrap();
        state.apply_scaling_object(ScalingObject::Workload(Arc::new(Workload {
            metadata,
            kind,
            replicas: 3,
            selector: None,
            rollout: evenkeel_objects::rolling_update::Rollout::default(),
            progress: evenkeel_objects::rollout::RolloutProgress::Complete,
            custom: None,
        })));
    };
    owned(Kind::StatefulSet, "db");
    owned(Kind::Deployment, "web");
    owned(Kind::ReplicaSet, "web-1");
    workload(&state, Kind::ReplicaSet, "alone", &json!({}));
    let mode = evenkeel_objects::tuning_mode::TuningMode::Recommend;
    let tuned = state.scaling().tuned_workloads(mode).unwrap();
    let mut names: Vec<&str> = tuned
        .iter()
        .filter_map(|one| one.object.metadata.name.as_deref())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["alone", "db", "web"]);
}

/// The harm: a Pod with an owner reference to the UID of another namespace's ReplicaSet joined its
/// target. If it came first, it took the target's own Pods to its own namespace.
#[test]
fn a_pod_that_names_the_uid_of_another_namespaces_controller_joins_nobody() {
    for is_first in [true, false] {
        let state = shop();
        hpa(&state, "web", ("Deployment", "web"), &json!({}));
        let mut forged = ready(pod("forged", "forged", ("ReplicaSet", "set")), 1000);
        forged["metadata"]["namespace"] = json!("evil");
        let own = ready(pod("own", "own", ("ReplicaSet", "set")), 9);
        let [first, second] = if is_first {
            [forged.clone(), own]
        } else {
            [own, forged.clone()]
        };
        apply(&state, first);
        owns(&state, "set", Some("web"));
        apply(&state, second);
        assert_eq!(names(&state), ["own"], "forged first: {is_first}");
        let web = one(&state).target;
        assert_eq!(state.scaling().controllers_of(&web), [set_key("set")]);
        let stranger: Pod = serde_json::from_value(forged).unwrap();
        let named = state.workload(&stranger).unwrap();
        assert_eq!(named.kind, "ReplicaSet", "the owner of another's is told");
        state.remove_pod("forged", NOW);
        assert_eq!(names(&state), ["own"]);
    }
}
