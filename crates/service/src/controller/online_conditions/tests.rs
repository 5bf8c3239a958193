use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::cluster::Settings;
use crate::controller::fake_api::{FakeApi, FakeApiBehavior, eventually};

const POD: &str = "/api/v1/namespaces/shop/pods/web-1/status";
const PROBED: &str =
    "/api/v1/namespaces/evenkeel-system/pods/evenkeel-could-write-a-condition/status";

fn cluster() -> ClusterState {
    let cluster = ClusterState::new(Settings::default());
    let profile = json!({"metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}});
    cluster.apply_profile(&serde_json::from_value(profile).unwrap());
    cluster
}

fn written(condition: &Value) -> Value {
    json!({
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "u",
            "creationTimestamp": "2026-11-25T08:00:00Z", "labels": {"app": "web"}},
        "spec": {"readinessGates": [{"conditionType": "evenkeel.dev/online"}]},
        "status": {"conditions": [{"type": "evenkeel.dev/online", "status": condition}]},
    })
}

fn show(cluster: &ClusterState, pod: &Value) {
    let pod = serde_json::from_value(pod.clone()).unwrap();
    cluster.apply_pod(&pod, Timestamp::UNIX_EPOCH);
}

fn writer(api: &FakeApi, cluster: &ClusterState, leadership: Leadership) -> OnlineConditions {
    OnlineConditions {
        client: api.client(),
        cluster: cluster.clone(),
        leadership,
        switch: WriteSwitch::new(Writes::Enabled),
        is_enabled: true,
        namespace: "evenkeel-system".to_owned(),
        metrics: ControllerMetrics::default(),
    }
}

fn condition(api: &FakeApi) -> Value {
    let pod = api.get(POD).unwrap();
    pod["status"]["conditions"][0]["status"].clone()
}

#[tokio::test]
async fn every_replica_opens_the_gate_of_a_new_pod_and_the_leader_first() {
    for leadership in [Leadership::leading(), Leadership::default()] {
        let (api, cluster, cancel) = (FakeApi::default(), cluster(), CancellationToken::new());
        let new = written(&json!("Unknown"));
        api.set(POD, new.clone());
        let running = writer(&api, &cluster, leadership).run(cancel.clone());
        let running = tokio::spawn(running);
        show(&cluster, &new);
        eventually("the gate is opened", || condition(&api) == "True").await;
        show(&cluster, &written(&json!("True")));
        assert!(cluster.profiles().due().is_empty());
        cancel.cancel();
        running.await.unwrap();
    }
}

#[test]
fn a_follower_leaves_a_pod_to_the_leader_for_a_moment() {
    let cluster = cluster();
    show(&cluster, &written(&json!("Unknown")));
    let now = clock::instant();
    let pods = cluster.profiles().due();
    let (mut leads, mut follows) = (AwaitedConditions::default(), AwaitedConditions::default());
    assert_eq!(leads.take_ready(&pods, true, now).len(), 1);
    assert!(follows.take_ready(&pods, false, now).is_empty());
    assert_eq!(follows.pause(now), FOLLOWS, "and looks again then");
    assert_eq!(follows.take_ready(&pods, false, now + FOLLOWS).len(), 1);
    // A Pod that is no longer due by then is forgotten.
    assert!(follows.take_ready(&[], false, now + FOLLOWS).is_empty());
    assert_eq!(follows.pause(now), LONGEST_PAUSE);
}

#[test]
fn what_failed_rests_for_longer_and_longer() {
    let cluster = cluster();
    show(&cluster, &written(&json!("Unknown")));
    let now = clock::instant();
    let pods = cluster.profiles().due();
    let mut waiting = AwaitedConditions::default();
    waiting.take_ready(&pods, true, now);
    let pauses = [WriteOutcome::Failed; 7].map(|outcome| {
        waiting.tried("u", outcome, now);
        waiting.pause(now).as_secs()
    });
    assert_eq!(pauses, [1, 2, 4, 8, 16, 16, 16]);
}

#[tokio::test]
async fn gates_are_given_while_a_condition_could_be_written_and_not_once_one_failed() {
    let (api, cluster, cancel) = (FakeApi::default(), cluster(), CancellationToken::new());
    let running = writer(&api, &cluster, Leadership::default()).run(cancel.clone());
    assert!(!cluster.is_gate_open(clock::instant()), "nobody has tried");
    let running = tokio::spawn(running);
    eventually("it could", || cluster.is_gate_open(clock::instant())).await;
    assert!(api.writes().iter().any(|(_, path)| path == PROBED));
    api.mood(FakeApiBehavior::Refuses(403));
    let new = written(&json!("Unknown"));
    show(&cluster, &new);
    eventually("it could not", || !cluster.is_gate_open(clock::instant())).await;
    api.mood(FakeApiBehavior::Answers);
    api.set(POD, new);
    eventually("it can again", || cluster.is_gate_open(clock::instant())).await;
    cancel.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn under_the_kill_switch_gates_are_opened_and_none_is_given() {
    let (api, cluster, cancel) = (FakeApi::default(), cluster(), CancellationToken::new());
    let new = written(&json!("Unknown"));
    api.set(POD, new.clone());
    let writer = writer(&api, &cluster, Leadership::default());
    writer.switch.set(Writes::Disabled);
    let running = tokio::spawn(writer.run(cancel.clone()));
    show(&cluster, &new);
    eventually("the gate is opened", || condition(&api) == "True").await;
    assert!(!cluster.is_gate_open(clock::instant()));
    cancel.cancel();
    running.await.unwrap();
}

/// The harm: one tenant's Pod with an unwritable status kept the gate from all others' Pods.
#[tokio::test]
async fn a_write_that_is_refused_for_one_pod_says_nothing_of_others() {
    let (api, cluster, cancel) = (FakeApi::default(), cluster(), CancellationToken::new());
    let opted_in = |name: &str| {
        let namespace = json!({"metadata": {"name": name,
            "annotations": {"evenkeel.dev/enabled": "true"}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        cluster.apply_namespace(&namespace, Timestamp::UNIX_EPOCH);
    };
    opted_in("shop");
    let profile = json!({"metadata": {"name": "web", "namespace": "other"},
        "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "web"}}});
    cluster.apply_profile(&serde_json::from_value(profile).unwrap());
    let profile = json!({"metadata": {"name": "db", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "web"}}});
    cluster.apply_profile(&serde_json::from_value(profile).unwrap());
    let owned = |condition: &str| {
        let mut pod = written(&json!(condition));
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet",
            "name": "web", "uid": "s", "controller": true}]);
        pod
    };
    let new: Pod = serde_json::from_value(owned("Unknown")).unwrap();
    let running = tokio::spawn(writer(&api, &cluster, Leadership::leading()).run(cancel.clone()));
    let gives = |namespace: &str| cluster.gives_gate(namespace, &new, clock::instant());
    eventually("gates are given", || gives("shop") && gives("other")).await;
    api.mood(FakeApiBehavior::RefusesPath(POD, 422));
    show(&cluster, &owned("Unknown"));
    eventually("not here", || !gives("shop")).await;
    assert!(gives("other"));
    show(&cluster, &owned("True"));
    eventually("and again", || gives("shop")).await;
    cancel.cancel();
    running.await.unwrap();
}

#[test]
fn a_pod_waits_since_its_condition_was_written_last() {
    let cluster = cluster();
    show(&cluster, &written(&json!("Unknown")));
    let now = clock::instant();
    let after = |seconds| now + Duration::from_secs(seconds);
    let pods = cluster.profiles().due();
    let mut waiting = AwaitedConditions::default();
    let since =
        |waiting: &AwaitedConditions| waiting.by_namespace(&pods, |_| true).0.get("shop").copied();
    waiting.take_ready(&pods, true, now);
    waiting.tried("u", WriteOutcome::Failed, after(1));
    assert_eq!(since(&waiting), Some(now));
    waiting.tried("u", WriteOutcome::Written, after(2));
    waiting.take_ready(&pods, true, after(3));
    assert_eq!(since(&waiting), Some(after(2)));
    let (awaited, refused) = waiting.by_namespace(&pods, |_| false);
    assert!(
        awaited.is_empty() && refused.is_empty(),
        "no profile is about it"
    );
    waiting.tried("u", WriteOutcome::Refused, after(3));
    let (_, refused) = waiting.by_namespace(&pods, |_| true);
    assert!(refused.contains("shop"));
}
