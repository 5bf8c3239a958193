use std::collections::BTreeMap;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_placement::score_term_rules::ScoreTermRules;
use evenkeel_units::{Amount, Resource, Resources};
use serde_json::{Value, json};

use super::*;
use crate::cluster::{Settings, WATCHED};
use crate::controller::leader_rounds::tests::policy;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const KEY: &str = "score.evenkeel.dev/normal-c2";
/// A node that the watch has not shown: a Pod there changes no load.
const ELSEWHERE: Option<&str> = Some("elsewhere");

fn after(seconds: i64) -> Timestamp {
    NOW + SignedDuration::from_secs(seconds)
}

/// A leader's plans, and the labels of the nodes as the plans have made them.
struct PlannedLabels {
    rounds: ScoreLabelRounds,
    memory: ScoreLabelMemory,
    nodes: BTreeMap<String, BTreeMap<String, String>>,
}

impl PlannedLabels {
    fn new(nodes: usize) -> Self {
        let policy = SchedulingPolicy {
            score_labels: Some(ScoreTermRules::default()),
            ..policy()
        };
        let policy = Arc::new(policy);
        let cluster = ClusterState::new(Settings {
            expects_metrics: true,
            shape_policy: Some(Arc::clone(&policy)),
            ..Settings::default()
        });
        for kind in WATCHED {
            cluster.set_synced(kind);
        }
        let namespace =
            json!({"metadata": {"name": "shop", "annotations": {"evenkeel.dev/enabled": "true"}}});
        cluster.apply_namespace(&serde_json::from_value(namespace).unwrap(), NOW);
        let mut planned = Self {
            rounds: ScoreLabelRounds {
                cluster,
                policy,
                metrics: ControllerMetrics::default(),
            },
            memory: ScoreLabelMemory::default(),
            nodes: BTreeMap::new(),
        };
        for number in 0..nodes {
            planned.see(&format!("n{number:03}"), BTreeMap::new());
        }
        planned
    }

    /// The watch shows a node with these labels.
    fn see(&mut self, name: &str, labels: BTreeMap<String, String>) {
        let node = json!({"metadata": {"name": name, "labels": labels}, "status": {
            "allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]}});
        let node = serde_json::from_value(node).unwrap();
        self.rounds.cluster.apply_node(&node, NOW);
        self.nodes.insert(name.to_owned(), labels);
    }

    /// A measurement round; each node uses so many millicores more than the one before.
    fn measure(&self, step: u64, now: Timestamp) {
        let mut sample = UsageSample::default();
        for (number, name) in (0..).zip(self.nodes.keys()) {
            let mut row = Resources::default();
            row[Resource::Cpu] = Some(NodeSample {
                value: Amount::new(number * step),
                at: now,
                window: SignedDuration::ZERO,
            });
            sample.insert_node(name.as_str(), &row);
        }
        self.rounds.cluster.apply_sample(Arc::new(sample), now);
    }

    fn pod(&self, name: &str, node: Option<&str>) {
        self.pod_with(name, node, &json!([]));
    }

    /// A Pod with these preferred node terms.
    fn pod_with(&self, name: &str, node: Option<&str>, preferred: &Value) {
        let pod = json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": {"evenkeel.dev/profile": "normal"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                    "uid": "set", "controller": true}]},
            "spec": {"nodeName": node,
                "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
                "containers": [
                {"resources": {"requests": {"cpu": "50m", "memory": "0"}}}]}});
        let pod = serde_json::from_value(pod).unwrap();
        self.rounds.cluster.apply_pod(&pod, NOW);
    }

    /// Plans one second, and gives the planned patches by node.
    fn plan(&mut self, now: Timestamp) -> Vec<(String, Value)> {
        let writes = self.rounds.plan(&mut self.memory, now);
        let patch = |write: &Write| {
            let WriteOperation::Merge(patch) = &write.operation else {
                panic!("a merge patch")
            };
            (
                write.target.name.clone(),
                patch["metadata"]["labels"].clone(),
            )
        };
        writes.iter().map(patch).collect()
    }

    /// Makes the patches, as the writer and the watch do.
    fn make(&mut self, patches: &[(String, Value)]) {
        for (name, changes) in patches {
            let mut labels = self.nodes[name].clone();
            for (key, value) in changes.as_object().unwrap() {
                match value.as_str() {
                    Some(value) => labels.insert(key.clone(), value.to_owned()),
                    None => labels.remove(key),
                };
            }
            self.see(name, labels);
        }
    }

    fn labels(&self) -> Vec<&str> {
        let labels = self.nodes.values();
        labels
            .map(|labels| labels.get(KEY).map_or("", String::as_str))
            .collect()
    }
}

#[test]
fn labels_follow_the_shapes_of_pods_and_the_load_of_nodes() {
    let mut planned = PlannedLabels::new(3);
    planned.measure(300, NOW);
    assert_eq!(planned.plan(NOW), [], "no Pod takes part");
    planned.pod("p", None);
    assert_eq!(planned.plan(NOW), [], "it is not bound");
    planned.pod("p", ELSEWHERE);
    let patches = planned.plan(after(1));
    let first = patches.iter().map(|(name, _)| name.as_str());
    assert!(
        first.eq(["n002", "n001", "n000"]),
        "the largest change first"
    );
    assert_eq!(planned.plan(after(2)), [], "they are asked for");
    planned.make(&patches);
    assert_eq!(planned.labels(), ["4", "3", "1"]);
    assert_eq!(planned.plan(after(20)), []);
    // The node in the middle has too little headroom for the shape now.
    planned.measure(760, after(21));
    let patches = planned.plan(after(21));
    planned.make(&patches);
    assert_eq!(planned.labels(), ["4", "0", "0"]);
}

#[test]
fn a_patch_that_was_not_made_is_asked_for_again() {
    let mut planned = PlannedLabels::new(2);
    planned.measure(300, NOW);
    planned.pod("p", ELSEWHERE);
    let patches = planned.plan(NOW);
    assert_eq!(patches.len(), 2);
    assert_eq!(planned.plan(after(4)), []);
    assert_eq!(planned.plan(after(5)), patches);
}

#[test]
fn no_more_nodes_are_patched_in_a_second_than_allowed() {
    let mut planned = PlannedLabels::new(120);
    planned.measure(8, NOW);
    planned.pod("p", ELSEWHERE);
    let mut all = Vec::new();
    for second in 0..3 {
        let patches = planned.plan(after(second));
        assert_eq!(
            patches.len(),
            [50, 50, 20][usize::try_from(second).unwrap()]
        );
        all.extend(patches.iter().map(|(name, _)| name.clone()));
        planned.make(&patches);
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 120);
}

#[test]
fn a_bound_pod_changes_levels_before_the_next_measurement() {
    let mut planned = PlannedLabels::new(3);
    planned.measure(1, NOW);
    planned.pod("p0", ELSEWHERE);
    let patches = planned.plan(NOW);
    planned.make(&patches);
    let before = planned.labels().join("");
    for number in 0..16 {
        planned.pod(&format!("p{number}"), Some("n000"));
    }
    let patches = planned.plan(after(1));
    assert_eq!(patches.first().map(|(name, _)| name.as_str()), Some("n000"));
    planned.make(&patches);
    assert_ne!(planned.labels().join(""), before);
    assert!(planned.labels()[0] < planned.labels()[1]);
}

#[test]
fn labels_stay_without_fresh_measurements_and_go_where_score_labels_are_off() {
    let mut planned = PlannedLabels::new(2);
    planned.measure(300, NOW);
    planned.pod("p", ELSEWHERE);
    let patches = planned.plan(NOW);
    planned.make(&patches);
    assert_eq!(planned.labels(), ["4", "1"]);
    planned.rounds.cluster.advance(after(600));
    assert_eq!(
        planned.plan(after(600)),
        [],
        "no measurement for ten minutes"
    );
    planned.measure(0, after(601));
    let patches = planned.plan(after(601));
    planned.make(&patches);
    assert_eq!(
        planned.labels(),
        ["4", "4"],
        "only a measurement raises a level"
    );
    // As after a restart with another configuration.
    planned.rounds.policy = Arc::new(policy());
    planned.memory = ScoreLabelMemory::default();
    let patches = planned.plan(after(602));
    planned.make(&patches);
    assert_eq!(planned.labels(), ["", ""]);
}

#[test]
fn the_kill_switch_removes_labels_only_under_restore() {
    let mut planned = PlannedLabels::new(2);
    planned.see("n000", [(KEY.to_owned(), "3".to_owned())].into());
    let cluster = &planned.rounds.cluster;
    for writes in [Writes::Enabled, Writes::Disabled] {
        assert_eq!(restored(writes, cluster, NOW), []);
    }
    let writes = restored(Writes::Restore, cluster, NOW);
    let patch = json!({"metadata": {"labels": {KEY: null}}});
    let target = ObjectRef::of_cluster(Kind::Node, "n000");
    let expected = Write::new(Purpose::Restore, target, WriteOperation::Merge(patch));
    assert_eq!(writes, [expected]);
}

/// Writes that failed rest for a while, and must not hold up those of other nodes.
#[test]
fn labels_of_all_nodes_are_restored_though_some_writes_fail() {
    let mut planned = PlannedLabels::new(0);
    for number in 0..120 {
        planned.see(
            &format!("n{number:03}"),
            [(KEY.to_owned(), "3".to_owned())].into(),
        );
    }
    let mut all = std::collections::BTreeSet::new();
    for second in 0..3 {
        let writes = restored(Writes::Restore, &planned.rounds.cluster, after(second));
        assert_eq!(writes.len(), PATCHES_PER_SECOND);
        all.extend(writes.into_iter().map(|write| write.target.name.clone()));
    }
    assert_eq!(all.len(), 120);
}

#[test]
fn a_new_leader_changes_nothing_before_its_first_measurement() {
    let strange = "score.evenkeel.dev/?".to_owned();
    let planned = || {
        let mut planned = PlannedLabels::new(1);
        planned.see("n000", [(strange.clone(), "1".to_owned())].into());
        planned
    };
    let mut measured = planned();
    assert_eq!(measured.plan(NOW), []);
    measured.measure(1, after(1));
    assert_eq!(measured.plan(after(1)).len(), 1);
    let mut unmeasured = planned();
    assert_eq!(unmeasured.plan(NOW), []);
    let age = unmeasured.rounds.policy.max_age;
    let before = NOW + age - SignedDuration::from_secs(1);
    assert_eq!(unmeasured.plan(before), []);
    assert_eq!(unmeasured.plan(NOW + age).len(), 1);
}

/// Some Jobs end within a second, and the leader plans once a second.
#[test]
fn a_shape_is_in_use_though_its_pod_ended_before_the_plan() {
    let mut planned = PlannedLabels::new(1);
    let run = |planned: &PlannedLabels| {
        planned.pod("p", ELSEWHERE);
        planned.rounds.cluster.remove_pod("p", NOW);
    };
    run(&planned);
    assert_eq!(planned.plan(NOW), [], "there is no measurement yet");
    planned.measure(1, after(1));
    let patches = planned.plan(after(1));
    assert_eq!(patches.len(), 1);
    planned.make(&patches);
    assert_eq!(planned.labels(), ["4"]);
    // The next leader has not planned yet when the Pod comes and goes.
    let mut next = PlannedLabels::new(1);
    next.measure(1, NOW);
    assert_eq!(next.plan(NOW), []);
    run(&next);
    next.measure(1, NOW);
    assert_eq!(next.plan(after(1)).len(), 1);
    assert_eq!(
        next.rounds.cluster.take_label_plan().inputs.counts,
        BTreeMap::new()
    );
}

/// A replica that has just started does not know the usage that gave the Pod its shape.
#[test]
fn a_pod_with_terms_counts_under_the_shape_that_it_reads() {
    let mut planned = PlannedLabels::new(1);
    planned.measure(1, NOW);
    let read = |shape: &str| {
        let key = format!("score.evenkeel.dev/{shape}");
        let expression = json!({"key": key, "operator": "NotIn", "values": ["0"]});
        json!([{"weight": 25, "preference": {"matchExpressions": [expression]}}])
    };
    planned.pod_with("p", ELSEWHERE, &read("normal-n3-c2"));
    planned.pod_with("q", ELSEWHERE, &read("gone-c2"));
    let expected = json!({KEY: "4", "score.evenkeel.dev/normal-n3-c2": "4"});
    assert_eq!(planned.plan(NOW), [("n000".to_owned(), expected)]);
}

/// A replica without score labels still finds the labels of an earlier configuration.
#[test]
fn labels_of_an_earlier_configuration_are_removed() {
    let cluster = ClusterState::new(Settings::default());
    let mut planned = PlannedLabels::new(0);
    planned.rounds.cluster = cluster;
    planned.rounds.policy = Arc::new(policy());
    planned.see("a", BTreeMap::new());
    planned.see("b", [(KEY.to_owned(), "3".to_owned())].into());
    assert_eq!(planned.plan(NOW), [("b".to_owned(), json!({KEY: null}))]);
}
