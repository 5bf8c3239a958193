use evenkeel_metrics::usage::NodeSample;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::node_table::NearTies;
use evenkeel_placement::snapshot::{OptIn, SnapshotGap};
use evenkeel_units::{Amount, Resource, Resources};
use serde_json::{Value, json};

use super::*;
use crate::cluster::owners::Owner;
use crate::cluster::{PLACEMENT, WATCHED};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn state() -> ClusterState {
    ClusterState::new(Settings {
        capacities: Capacities::new(
            Vec::new(),
            Resources::new([None, None, Some(Amount::new(1000)), None, None]),
        ),
        expects_metrics: true,
        ..Settings::default()
    })
}

fn synced() -> ClusterState {
    let state = state();
    for kind in WATCHED {
        state.set_synced(kind);
    }
    state
}

fn node(name: &str, annotations: &Value) -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": name, "resourceVersion": "7", "annotations": annotations},
        "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap()
}

fn namespace(name: &str, annotations: &Value) -> Namespace {
    serde_json::from_value(json!({"metadata": {"name": name, "annotations": annotations}})).unwrap()
}

fn pod(uid: &str, node: Option<&str>, message: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": format!("pod-{uid}"), "namespace": "shop", "uid": uid},
        "spec": {"nodeName": node,
                 "containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": if node.is_some() { "True" } else { "False" },
                                   "message": message, "lastTransitionTime": "1970-01-01T00:01:00Z"}]},
    }))
    .unwrap()
}

/// A Pod on node `a` that claims so much of the network, a tenth of a core requested.
fn claiming(uid: &str, rate: &str) -> Pod {
    let mut pod = pod(uid, Some("a"), "");
    let annotations = &mut pod.metadata.annotations;
    annotations.insert("evenkeel.dev/network-io".to_owned(), rate.to_owned());
    pod
}

fn opt(state: &ClusterState, value: &str) {
    state.apply_namespace(
        &namespace("shop", &json!({"evenkeel.dev/enabled": value})),
        NOW,
    );
}

/// The network load of node `a`, which is known from demands alone.
fn network(state: &ClusterState) -> u64 {
    load(state, Resource::NetworkIo)
}

fn load(state: &ClusterState, resource: Resource) -> u64 {
    let snapshot = state.snapshot();
    snapshot.nodes.get("a").unwrap().load.load[resource].get()
}

const REFUSED: &str = "0/3 nodes are available: 3 evenkeel: no headroom.";

#[test]
fn nothing_is_decided_before_everything_was_listed() {
    let state = state();
    state.apply_node(&node("a", &json!({})), NOW);
    state.apply_namespace(
        &namespace("shop", &json!({"evenkeel.dev/enabled": "true"})),
        NOW,
    );
    for (listed, kind) in PLACEMENT.into_iter().enumerate() {
        assert_eq!(state.snapshot().opt_in("shop"), OptIn::Unknown);
        assert_eq!(state.unsynced(), PLACEMENT[listed..]);
        assert_eq!(state.snapshot().blind(), Some(SnapshotGap::NotSynced));
        state.set_synced(kind);
    }
    assert_eq!(state.unsynced(), []);
    assert_eq!(state.snapshot().blind(), Some(SnapshotGap::NoMetrics));
    assert_eq!(state.snapshot().nodes.len(), 1);
    assert!(matches!(state.snapshot().opt_in("shop"), OptIn::In(_)));
}

#[test]
fn measurements_end_blindness_and_their_age_brings_it_back() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    let measured = NodeSample {
        value: Amount::new(500),
        at: NOW,
        window: jiff::SignedDuration::ZERO,
    };
    let mut sample = UsageSample::default();
    sample.insert_node("a", &Resources::new([Some(measured); 5]));
    state.apply_sample(Arc::new(sample), NOW);
    assert_eq!(state.snapshot().blind(), None);
    let later = NOW + jiff::SignedDuration::from_mins(4);
    state.advance(later);
    assert_eq!(state.snapshot().blind(), Some(SnapshotGap::NoMetrics));
}

#[test]
fn a_picture_is_published_only_when_it_shows_a_change() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    let before = state.snapshot();
    state.apply_node(&node("a", &json!({})), NOW);
    state.apply_pod(&pod("1", None, REFUSED), NOW);
    state.apply_namespace(&namespace("other", &json!({})), NOW);
    let namespaces = state.snapshot();
    assert!(!Arc::ptr_eq(&before, &namespaces), "a namespace has come");
    state.apply_namespace(&namespace("other", &json!({"other.dev/a": "b"})), NOW);
    assert!(Arc::ptr_eq(&namespaces, &state.snapshot()));
    state.apply_pod(&pod("1", Some("a"), ""), NOW);
    assert_ne!(before.nodes.version(), state.snapshot().nodes.version());
}

#[test]
fn defaults_stand_in_for_what_a_node_does_not_tell() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    state.apply_node(
        &node("b", &json!({"evenkeel.dev/network-capacity": "80bps"})),
        NOW,
    );
    let capacity = |name| state.snapshot().nodes.get(name).unwrap().load.capacity;
    assert_eq!(capacity("a")[Resource::NetworkIo], Some(Amount::new(1000)));
    assert_eq!(capacity("b")[Resource::NetworkIo], Some(Amount::new(10)));
    assert_eq!(capacity("a")[Resource::Cpu], Some(Amount::new(4000)));
    assert_eq!(state.node_version("a").as_deref(), Some("7"));
    state.remove_node("a");
    assert_eq!(state.node_version("a"), None);
    state.retain_nodes(|_| false);
    assert!(state.snapshot().nodes.is_empty() && state.node_names().is_empty());
}

#[test]
fn a_namespace_opts_in_and_out_and_goes() {
    let state = synced();
    let opt_in = |state: &ClusterState| match state.snapshot().opt_in("shop") {
        OptIn::Unknown => "unknown",
        OptIn::Out => "out",
        OptIn::In(_) => "in",
    };
    assert_eq!(opt_in(&state), "unknown");
    for (value, expected) in [
        ("true", "in"),
        ("false", "out"),
        ("True", "out"),
        ("true", "in"),
    ] {
        state.apply_namespace(
            &namespace("shop", &json!({"evenkeel.dev/enabled": value})),
            NOW,
        );
        assert_eq!(opt_in(&state), expected, "{value}");
    }
    assert_eq!(state.namespaces().len(), 1);
    state.remove_namespace("shop", NOW);
    assert_eq!(opt_in(&state), "unknown");
}

#[test]
fn a_pod_waits_from_its_refusal_until_it_is_bound_or_gone() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    state.apply_pod(
        &pod("1", None, "0/3 nodes are available: 3 Insufficient cpu."),
        NOW,
    );
    assert!(state.waiting().is_empty(), "somebody else refused it");
    for uid in ["1", "2", "3"] {
        state.apply_pod(&pod(uid, None, REFUSED), NOW);
    }
    assert_eq!(state.waiting().len(), 3);
    let later = NOW + jiff::SignedDuration::from_hours(1);
    state.apply_pod(&pod("1", None, REFUSED), later);
    let since = state.refused_since("1");
    assert_eq!(since, Some(NOW), "from the first refusal on");
    state.apply_pod(&pod("1", Some("a"), ""), NOW);
    assert_eq!(state.refused_since("1"), None);
    state.remove_pod("2", NOW);
    state.retain_pods(|uid| uid == "1", NOW);
    assert!(state.waiting().is_empty());
}

#[test]
fn what_the_condition_says_of_time_counts_only_where_nothing_better_is_known() {
    let written: Timestamp = "1970-01-01T00:01:00Z".parse().unwrap();
    let now = NOW + jiff::SignedDuration::from_hours(1);
    let fresh = state();
    fresh.apply_pod(&pod("1", None, REFUSED), now);
    assert_eq!(fresh.refused_since("1"), Some(written), "in the first list");
    let running = synced();
    running.apply_pod(&pod("1", None, REFUSED), now);
    assert_eq!(
        running.refused_since("1"),
        Some(now),
        "it may have waited for an hour for other reasons"
    );
}

#[test]
fn an_annotation_that_is_not_accepted_is_warned_of_once() {
    let state = synced();
    let mut odd = pod("1", None, "");
    odd.metadata
        .annotations
        .insert("evenkeel.dev/network-io".to_owned(), "fast".to_owned());
    state.apply_pod(&odd, NOW);
    assert_eq!(state.take_warnings(9), [], "the namespace has not opted in");
    state.apply_namespace(
        &namespace("shop", &json!({"evenkeel.dev/enabled": "true"})),
        NOW,
    );
    state.apply_pod(&odd, NOW);
    state.apply_pod(&odd, NOW);
    state.apply_node(
        &node("a", &json!({"evenkeel.dev/disk-io-capacity": "?"})),
        NOW,
    );
    state.apply_namespace(
        &namespace("b", &json!({"evenkeel.dev/headroom": "80%"})),
        NOW,
    );
    let mut kinds: Vec<_> = state
        .take_warnings(9)
        .iter()
        .map(|warning| warning.regarding.kind)
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [Kind::Node, Kind::Namespace, Kind::Pod]);
    assert_eq!(state.take_warnings(9), []);
}

#[test]
fn claims_count_while_their_namespace_has_opted_in() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    state.apply_pod(&claiming("1", "300"), NOW);
    assert_eq!(network(&state), 0, "a namespace that has not been seen");
    assert_eq!(load(&state, Resource::Cpu), 100, "requests count always");
    for (value, counted) in [("false", 0), ("true", 300), ("false", 0), ("true", 300)] {
        opt(&state, value);
        assert_eq!(network(&state), counted, "{value}");
        // Its status changes again and again.
        state.apply_pod(&claiming("1", "300"), NOW);
        assert_eq!(network(&state), counted, "{value}");
    }
    state.remove_namespace("shop", NOW);
    assert_eq!(network(&state), 0);
    opt(&state, "true");
    state.retain_namespaces(|_| false, NOW);
    assert_eq!(network(&state), 0);
    opt(&state, "true");
    state.apply_pod(&claiming("2", "50"), NOW);
    state.retain_pods(|uid| uid == "2", NOW);
    assert_eq!(network(&state), 50);
    state.remove_pod("2", NOW);
    opt(&state, "false");
    assert_eq!(network(&state), 0);
    assert_eq!(state.lock().claims.iter().count(), 0);
}

fn place(state: &ClusterState, pod: &Pod) {
    state.ask(pod, NOW);
    state.place(pod.uid(), "a", NearTies::default(), NOW);
}

#[test]
fn a_claim_counts_for_no_more_than_the_largest_node_has() {
    let state = synced();
    opt(&state, "true");
    state.apply_pod(&claiming("1", "1TB/s"), NOW);
    let with = |capacity: &str| node("b", &json!({"evenkeel.dev/network-capacity": capacity}));
    state.apply_node(&node("a", &json!({})), NOW);
    assert_eq!(network(&state), 1000, "the default capacity");
    state.apply_node(&with("5000"), NOW);
    assert_eq!(network(&state), 5000);
    state.apply_node(&with("3000"), NOW);
    assert_eq!(network(&state), 3000);
    state.remove_node("b");
    state.advance(NOW);
    assert_eq!(network(&state), 1000);
    let mut unbound = claiming("2", "1TB/s");
    unbound.spec.node_name = None;
    place(&state, &unbound);
    assert_eq!(network(&state), 2000, "what is proposed is capped as well");
}

#[test]
fn a_claim_above_any_node_is_warned_of() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    let mut unbound = claiming("1", "1TB/s");
    unbound.spec.node_name = None;
    state.apply_pod(&unbound, NOW);
    assert_eq!(state.take_warnings(9), [], "the namespace has not opted in");
    opt(&state, "true");
    state.apply_pod(&unbound, NOW);
    let warnings = state.take_warnings(9);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].note.contains("largest node has 1 kB/s"),
        "{warnings:?}"
    );
}

#[test]
fn what_is_claimed_after_the_binding_does_not_count() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    opt(&state, "true");
    state.apply_pod(&claiming("1", "300"), NOW);
    for (rate, counted) in [
        ("900", 300),
        ("200", 200),
        ("900", 200),
        ("fast", 0),
        ("900", 0),
    ] {
        state.apply_pod(&claiming("1", rate), NOW);
        assert_eq!(network(&state), counted, "{rate}");
    }
}

#[test]
fn claims_of_pods_that_no_rule_has_judged_do_not_count() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    opt(&state, "true");
    for kind in ["DaemonSet", "critical", "skip", "mirror"] {
        let mut pod = claiming("1", "1TB/s");
        let annotations = &mut pod.metadata.annotations;
        match kind {
            "DaemonSet" => {
                let owner = json!({"kind": kind, "name": "d", "uid": "2", "controller": true});
                pod.metadata.owner_references = serde_json::from_value(json!([owner])).unwrap();
            }
            "critical" => {
                pod.spec.priority_class_name = Some("system-node-critical".to_owned());
            }
            "skip" => drop(annotations.insert("evenkeel.dev/skip".to_owned(), "true".to_owned())),
            _ => drop(annotations.insert("kubernetes.io/config.mirror".to_owned(), "x".to_owned())),
        }
        place(&state, &pod);
        assert_eq!(network(&state), 0, "{kind}, proposed");
        state.apply_pod(&pod, NOW);
        assert_eq!(network(&state), 0, "{kind}");
        state.remove_pod("1", NOW);
    }
}

#[test]
fn the_workload_is_at_the_end_of_the_owner_chain() {
    let state = synced();
    let pod_of = |kind: &str, uid: &str| -> Pod {
        serde_json::from_value(json!({"metadata": {"ownerReferences": [
            {"kind": kind, "name": "web-7c64", "uid": uid, "controller": true}]}}))
        .unwrap()
    };
    let owner = |kind: &str, name: &str| Owner::new("", kind, name);
    let pod = pod_of("ReplicaSet", "rs");
    assert_eq!(state.workload(&pod), Some(owner("ReplicaSet", "web-7c64")));
    let (set, job) = (ControllerKey::new("", "rs"), ControllerKey::new("", "job"));
    state.apply_owner(Kind::ReplicaSet, &set, Some(owner("Deployment", "web")));
    assert_eq!(state.workload(&pod), Some(owner("Deployment", "web")));
    assert_eq!(
        state.workload(&pod_of("Job", "rs")),
        Some(owner("Job", "web-7c64"))
    );
    state.apply_owner(Kind::Job, &job, Some(owner("CronJob", "nightly")));
    assert_eq!(
        state.workload(&pod_of("Job", "job")),
        Some(owner("CronJob", "nightly"))
    );
    state.retain_owners(Kind::ReplicaSet, |_| false);
    state.remove_owner(Kind::Job, &job);
    assert_eq!(state.workload(&pod), Some(owner("ReplicaSet", "web-7c64")));
    assert_eq!(
        state.workload(&pod_of("Job", "job")),
        Some(owner("Job", "web-7c64"))
    );
    assert_eq!(state.workload(&Pod::default()), None);
}

/// A Pod of the ReplicaSet `web` that started at `NOW` if it is on a node.
fn replica(uid: &str, node: Option<&str>) -> Pod {
    let mut pod = pod(uid, node, "");
    let owner = json!([{"kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true}]);
    pod.metadata.owner_references = serde_json::from_value(owner).unwrap();
    let status = json!({"containerStatuses": [
        {"name": "app", "state": {"running": {"startedAt": NOW.to_string()}}}]});
    if node.is_some() {
        pod.status = serde_json::from_value(status).unwrap();
    }
    pod
}

#[test]
fn new_pods_take_the_room_that_earlier_ones_used_in_their_first_minutes() {
    // The runs of a crash loop are not those of new Pods.
    for (opted_in, restarts, expected) in [("true", 0, 400), ("false", 0, 0), ("true", 1, 0)] {
        let state = synced();
        state.apply_node(&node("a", &json!({})), NOW);
        opt(&state, opted_in);
        for uid in ["1", "2"] {
            let mut pod = replica(uid, Some("a"));
            pod.status.container_statuses[0].restart_count = restarts;
            state.apply_pod(&pod, NOW);
        }
        for second in [15, 200] {
            let mut round = UsageSample::default();
            for name in ["pod-1", "pod-2"] {
                let used = Resources::new([Some(Amount::new(500)); 5]);
                round.insert_pod(&PodName::new("shop", name), &used);
            }
            state.remember_usage(&round, NOW + jiff::SignedDuration::from_secs(second));
        }
        // Only a measurement tells of it, whatever the Pod's author writes.
        let mut third = replica("3", None);
        let forged = r#"{"cpu":100,"startUp":{"cpu":4000}}"#;
        let annotations = &mut third.metadata.annotations;
        annotations.insert("evenkeel.dev/demand".to_owned(), forged.to_owned());
        state.add_history(&mut third);
        place(&state, &third);
        let snapshot = state.snapshot();
        let start_up = snapshot.nodes.get("a").unwrap().start_up;
        let case = format!("{opted_in}, {restarts}");
        assert_eq!(start_up[Resource::Cpu], Amount::new(expected), "{case}");
        assert_eq!(start_up[Resource::Memory], Amount::ZERO);
    }
}

#[test]
fn a_lock_that_a_panic_poisoned_goes_on_working() {
    let state = synced();
    state.apply_node(&node("a", &json!({})), NOW);
    let panicking = state.clone();
    let ended = std::thread::spawn(move || panicking.retain_nodes(|_| panic!("on purpose")));
    assert!(ended.join().is_err());
    state.apply_node(&node("b", &json!({})), NOW);
    assert!(state.snapshot().nodes.get("b").is_some());
}
