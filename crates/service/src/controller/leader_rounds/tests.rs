use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_placement::NodesToScore;
use evenkeel_placement::balance::{Normalization, ScoringStrategy};
use evenkeel_placement::plan::overload::Settings as Taints;
use evenkeel_placement::profile::ProfileTable;
use evenkeel_placement::score_term_rules::ScoreTermRules;
use evenkeel_units::{Ratio, Resources, max_age};
use serde_json::json;

use super::*;
use crate::cluster::{Settings, WATCHED};
use crate::controller::fake_api::FakeApi;
use crate::controller::scale_in::tests::lowering;
use crate::controller::writer;
use crate::controller::writer::Writer;
use crate::telemetry::{Registry, encode};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

pub(in crate::controller) fn policy() -> SchedulingPolicy {
    SchedulingPolicy {
        headroom: Ratio::share(0.8).unwrap(),
        headroom_by_priority_class: [].into(),
        profile_threshold: Ratio::share(0.15).unwrap(),
        no_headroom: NoHeadroom::Reject,
        nodes_to_score: NodesToScore::ALL,
        relax_after: None,
        scoring: ScoringStrategy::pure(Normalization::Joint),
        profiles: ProfileTable::default(),
        caps_as_demand: false,
        default_capacity: Resources::default(),
        scheduler_name: None,
        score_labels: None,
        max_age: max_age::DEFAULT,
    }
}

/// A namespace to be mirrored with a value to be told of, and a refused Pod that now fits.
fn cluster() -> ClusterState {
    let cluster = ClusterState::new(Settings::default());
    let namespace = json!({"metadata": {"name": "shop", "resourceVersion": "3", "annotations": {
        "evenkeel.dev/enabled": "true", "evenkeel.dev/headroom": "80%"}}});
    cluster.apply_namespace(&serde_json::from_value(namespace).unwrap(), NOW);
    let node = json!({"metadata": {"name": "a", "resourceVersion": "5"}, "status": {
        "allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}});
    cluster.apply_node(&serde_json::from_value(node).unwrap(), NOW);
    let pod = json!({
        "metadata": {"name": "p", "namespace": "shop", "uid": "1"},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False",
                                   "message": "0/1 nodes: 1 evenkeel: no headroom."}]}});
    cluster.apply_pod(&serde_json::from_value(pod).unwrap(), NOW);
    cluster
}

fn rounds(leadership: Leadership) -> (Rounds, Writer) {
    let (writer, queue) = Writer::new(
        FakeApi::default().client(),
        writer::Settings::default(),
        leadership.clone(),
        WriteSwitch::new(Writes::Enabled),
        ControllerMetrics::default(),
    );
    let rounds = Rounds {
        cluster: cluster(),
        policy: Arc::new(policy()),
        wake: WakeSettings::default(),
        overload: OverloadWatch::new(Taints::default(), max_age::DEFAULT, NOW),
        scale_ins: None,
        scaling: ScalingSettings {
            follows_profiles: true,
            ..ScalingSettings::default()
        },
        queue,
        leadership,
        switch: WriteSwitch::new(Writes::Enabled),
        identity: "evenkeel-0".to_owned(),
        metrics: ControllerMetrics::default(),
    };
    (rounds, writer)
}

fn purposes(writes: &[Write]) -> Vec<&'static str> {
    writes.iter().map(|write| write.purpose.as_str()).collect()
}

#[tokio::test]
async fn only_a_leader_that_has_seen_everything_plans() {
    let (follower, writer) = rounds(Leadership::default());
    for kind in WATCHED {
        follower.cluster.set_synced(kind);
    }
    follower.round(&mut LeaderMemory::default(), NOW).await;
    assert_eq!(writer.queued(), []);

    let (leader, writer) = rounds(Leadership::leading());
    let mut memory = LeaderMemory::default();
    leader.round(&mut memory, NOW).await;
    assert_eq!(writer.queued(), [], "not all has been listed");
    for kind in WATCHED {
        leader.cluster.set_synced(kind);
    }
    leader.round(&mut memory, NOW).await;
    let planned = writer.queued();
    let all = [
        Purpose::WakePods,
        Purpose::MirrorNamespace,
        Purpose::AnnotationWarning,
    ];
    assert_eq!(purposes(&planned), all.map(Purpose::as_str));
    // The Event and the wake-up are not repeated; the label is still missing.
    leader.round(&mut memory, NOW).await;
    assert_eq!(
        purposes(&writer.queued()),
        [Purpose::MirrorNamespace.as_str()]
    );
}

/// The alert for an extender that is not called leaves such clusters out.
#[tokio::test(start_paused = true)]
async fn a_page_shows_whether_score_labels_are_on() {
    for (score_labels, expected) in [(Some(ScoreTermRules::default()), 1), (None, 0)] {
        let (mut rounds, _writer) = rounds(Leadership::default());
        rounds.policy = Arc::new(SchedulingPolicy {
            score_labels,
            ..policy()
        });
        let mut registry = Registry::default();
        rounds.metrics.register(&mut registry);
        let cancel = CancellationToken::new();
        let end = cancel.clone();
        rounds.run(cancel, move || end.cancel()).await;
        let page = encode(&registry).unwrap();
        let line = format!("score_labels_on {expected}\n");
        assert!(page.contains(&line), "{page}");
    }
}

/// A Pod of a ReplicaSet with a cost of ours, from a scale-in that no replica remembers.
fn mark(rounds: &Rounds) {
    let pod = json!({
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1",
            "annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1",
                "evenkeel.dev/deletion-cost": "-1 balance"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "web", "uid": "set", "controller": true}]},
        "spec": {"nodeName": "a", "containers": []},
        "status": {"phase": "Running"}});
    let pod = serde_json::from_value(pod).unwrap();
    rounds.cluster.apply_pod(&pod, NOW);
    for kind in WATCHED {
        rounds.cluster.set_synced(kind);
    }
}

#[tokio::test]
async fn costs_that_are_left_are_the_leaders_to_take_away_and_no_followers() {
    let of_costs = |writer: &Writer| {
        let queued = writer.queued();
        let purposes = queued.iter().map(|write| write.purpose);
        let costs = [Purpose::DeletionCost, Purpose::Restore];
        purposes
            .filter(|purpose| costs.contains(purpose))
            .collect::<Vec<_>>()
    };
    let (follower, writer) = rounds(Leadership::default());
    mark(&follower);
    follower.round(&mut LeaderMemory::default(), NOW).await;
    assert_eq!(of_costs(&writer), []);

    let (leader, writer) = rounds(Leadership::leading());
    mark(&leader);
    let mut memory = LeaderMemory::default();
    for (writes, expected) in [
        (Writes::Disabled, vec![]),
        (Writes::Restore, vec![Purpose::Restore]),
        (Writes::Enabled, vec![Purpose::DeletionCost]),
    ] {
        leader.switch.set(writes);
        leader.round(&mut memory, NOW).await;
        assert_eq!(of_costs(&writer), expected, "{writes:?}");
    }
}

#[tokio::test]
async fn a_lowering_that_was_handed_over_is_not_made_by_who_leads_again() {
    let scale_ins = ScaleIns::default();
    let (mut follower, _writer) = rounds(Leadership::default());
    let (mut leader, writer) = rounds(Leadership::leading());
    for one in [&mut follower, &mut leader] {
        one.scale_ins = Some(scale_ins.clone());
        for kind in WATCHED {
            one.cluster.set_synced(kind);
        }
    }
    let lowered = || {
        let mut queued = writer.queued().into_iter();
        queued.any(|write| write.purpose == Purpose::ScalingReplicas)
    };
    let mut memory = LeaderMemory::default();
    let expect = || scale_ins.expect(vec![lowering("shop", "web", 3, 2)], NOW);
    expect();
    follower.round(&mut LeaderMemory::default(), NOW).await;
    leader.round(&mut memory, NOW).await;
    assert!(!lowered(), "the lease was lost in between");
    expect();
    leader.switch.set(Writes::Disabled);
    leader.round(&mut memory, NOW).await;
    leader.switch.set(Writes::Enabled);
    leader.round(&mut memory, NOW).await;
    assert!(!lowered(), "nothing was to be written in between");
    expect();
    leader.round(&mut memory, NOW).await;
    assert!(lowered(), "without a ReplicaSet it waits for nothing");
}

#[tokio::test]
async fn nothing_is_planned_that_the_kill_switch_stops() {
    let (leader, writer) = rounds(Leadership::leading());
    for kind in WATCHED {
        leader.cluster.set_synced(kind);
    }
    let mut memory = LeaderMemory::default();
    for writes in [Writes::Disabled, Writes::Restore] {
        leader.switch.set(writes);
        leader.round(&mut memory, NOW).await;
        assert_eq!(writer.queued(), [], "{writes:?}");
    }
    leader.switch.set(Writes::Enabled);
    leader.round(&mut memory, NOW).await;
    assert_eq!(
        writer.queued().len(),
        3,
        "nothing that was to be told is lost"
    );
}
