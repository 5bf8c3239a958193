use std::borrow::Cow;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Ratio, Resource, ResourceSet};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::NodesToScore;
use crate::balance::{Normalization, ScoringStrategy};
use crate::extender::explain::{explain, request};
use crate::extender::placement_rules::exemption;
use crate::node_table::{NodeTable, Settings};
use crate::snapshot::Namespaces;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

pub(in crate::extender) fn policy() -> SchedulingPolicy {
    SchedulingPolicy {
        headroom_by_priority_class: [("high".to_owned(), Ratio::share(0.95).unwrap())].into(),
        relax_after: Some(SignedDuration::from_mins(5)),
        ..crate::policy::shipped()
    }
}

/// Nodes of 1000 of everything that use this much of everything.
pub(in crate::extender) fn snapshot(nodes: &[(&str, u64)]) -> Snapshot {
    snapshot_of(&table(nodes))
}

pub(in crate::extender) fn table(nodes: &[(&str, u64)]) -> NodeTable {
    let mut table = NodeTable::new(Settings::default());
    let facts = NodeFacts {
        capacity: Resources::new([Some(Amount::new(1000)); 5]),
        schedulable: true,
        ..NodeFacts::default()
    };
    let mut sample = UsageSample::default();
    for (name, used) in nodes {
        table.apply_node(name, facts, NOW);
        let measured = NodeSample {
            value: Amount::new(*used),
            at: NOW,
            window: SignedDuration::ZERO,
        };
        sample.insert_node(*name, &Resources::new([Some(measured); 5]));
    }
    table.apply_sample(Arc::new(sample), NOW);
    table
}

fn snapshot_of(table: &NodeTable) -> Snapshot {
    Snapshot {
        nodes: table.nodes().clone(),
        namespaces: namespaces(&json!({"evenkeel.dev/enabled": "true"})),
        expects_metrics: true,
        synced: true,
        second_scheduler: None,
        labelled_shapes: Arc::default(),
    }
}

fn namespaces(shop: &Value) -> Arc<Namespaces> {
    let annotations = serde_json::from_value(shop.clone()).unwrap();
    let mut namespaces = Namespaces::default();
    namespaces.insert(
        "shop".into(),
        Arc::new(NamespacePolicy::parse(&annotations).0),
    );
    Arc::new(namespaces)
}

fn body(pod: &Value, names: &[&str]) -> Vec<u8> {
    json!({"Pod": pod, "Nodes": null, "NodeNames": names})
        .to_string()
        .into_bytes()
}

/// A Pod that requests 100 of CPU. Pods of its workload used `start_up` in their first minutes.
fn warming_up(start_up: u64, names: &[&str]) -> ExtenderRequest<'static> {
    let mut pod: Pod = serde_json::from_value(plain()).unwrap();
    pod.start_up[Resource::Cpu] = Amount::new(start_up);
    let names = names.iter().map(|name| Cow::Owned((*name).to_owned()));
    request(&pod, names.collect())
}

fn passing_nodes(request: &ExtenderRequest<'_>, snapshot: &Snapshot) -> Vec<String> {
    let policy = policy();
    let call = call(snapshot, &policy);
    let filtered = filter(request, &call, &VerdictCache::default());
    let passing = request.names.iter().enumerate();
    let passing = passing.filter(|(at, _)| filtered.passes(*at));
    let passing: Vec<String> = passing.map(|(_, name)| name.to_string()).collect();
    let explained = explain(&request.pod, &call);
    let shown = explained.nodes.iter().filter(|node| node.passes);
    assert_eq!(shown.count(), passing.len());
    passing
}

#[test]
fn nodes_with_room_for_the_first_minutes_come_before_those_with_room_for_the_demand() {
    let request = warming_up(600, &["a", "b"]);
    for (used, expected) in [
        ([300, 100], &["b"][..]),
        ([300, 300], &["a", "b"]),
        ([300, 750], &["a"]),
        ([750, 750], &[]),
    ] {
        let snapshot = snapshot(&[("a", used[0]), ("b", used[1])]);
        assert_eq!(passing_nodes(&request, &snapshot), expected, "{used:?}");
    }
}

/// The reason for the refusal may still hold on the nodes with room.
#[test]
fn a_pod_that_found_no_node_is_judged_by_its_demand_alone() {
    let snapshot = snapshot(&[("a", 300), ("b", 100)]);
    let mut request = warming_up(600, &["a", "b"]);
    assert_eq!(passing_nodes(&request, &snapshot), ["b"]);
    for (reason, expected) in [
        ("SchedulingGated", &["b"][..]),
        ("Unschedulable", &["a", "b"]),
    ] {
        let status =
            json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]});
        request.pod.status = serde_json::from_value(status).unwrap();
        assert_eq!(passing_nodes(&request, &snapshot), expected, "{reason}");
    }
}

#[test]
fn a_pod_whose_peak_fits_nowhere_goes_beside_no_other_that_warms_up() {
    let mut table = table(&[("a", 100), ("b", 100)]);
    let name = PodName::new("shop", "first");
    let mut facts = BoundPod::on(&name, None, Resources::default());
    facts.start_up[Resource::Cpu] = Amount::new(650);
    table.ask("first", &facts, NOW);
    table.place("first", "a", NearTies::default(), NOW);
    let request = warming_up(900, &["a", "b"]);
    let (snapshot, policy) = (snapshot_of(&table), policy());
    assert_eq!(passing_nodes(&request, &snapshot), ["b"]);
    let explained = explain(&request.pod, &call(&snapshot, &policy));
    assert!(explained.counts_warm_up && !explained.judged_by_first_minutes);
}

/// kube-scheduler does not ask about it, so the explanation judges it.
#[test]
fn a_cordoned_node_is_explained_by_the_demand_that_decided_for_the_others() {
    let mut table = table(&[("open", 100), ("cordoned", 300)]);
    let cordoned = NodeFacts {
        capacity: Resources::new([Some(Amount::new(1000)); 5]),
        ..NodeFacts::default()
    };
    table.apply_node("cordoned", cordoned, NOW);
    let (snapshot, policy) = (snapshot_of(&table), policy());
    for (start_up, expected) in [(0, (true, Some(0.4))), (600, (false, Some(0.9)))] {
        let explained = explain(&warming_up(start_up, &[]).pod, &call(&snapshot, &policy));
        let nodes = explained.nodes.iter();
        let found = nodes
            .filter(|node| node.name == "cordoned")
            .map(|node| (node.passes, node.resources.0[Resource::Cpu].ratio_after));
        assert_eq!(found.collect::<Vec<_>>(), [expected], "{start_up}");
        assert_eq!(explained.judged_by_first_minutes, start_up > 0);
        assert_eq!(explained.counts_warm_up, start_up > 0);
    }
}

#[test]
fn new_pods_that_may_use_more_refuse_others_only_where_there_is_room_elsewhere() {
    let mut table = table(&[("a", 100), ("b", 100)]);
    let (other, nodes) = (warming_up(0, &["a", "b"]), ["a", "b"]);
    // No node has room for a third of them in its first minutes, nor for another Pod beside two.
    for (number, expected) in [&["a", "b"][..], &["b"], &["a", "b"]]
        .into_iter()
        .enumerate()
    {
        let snapshot = snapshot_of(&table);
        assert_eq!(passing_nodes(&other, &snapshot), expected, "{number}");
        let uid = number.to_string();
        let name = PodName::new("shop", &uid);
        let mut demand = Resources::default();
        demand[Resource::Cpu] = Amount::new(100);
        let mut facts = BoundPod::on(&name, None, demand);
        facts.start_up[Resource::Cpu] = Amount::new(550);
        table.ask(&uid, &facts, NOW);
        let node = nodes[number % 2];
        table.place(&uid, node, NearTies::default(), NOW);
        let known = table.nodes().get(node).unwrap();
        assert_eq!(
            known.load.load[Resource::Cpu],
            Amount::new(200 + 100 * (number as u64 / 2))
        );
        assert_eq!(
            known.start_up[Resource::Cpu],
            Amount::new(550 + 550 * (number as u64 / 2))
        );
    }
}

fn plain() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "shop", "uid": "1"},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
    })
}

pub(in crate::extender) fn call<'a>(
    snapshot: &'a Snapshot,
    policy: &'a SchedulingPolicy,
) -> PlacementContext<'a> {
    PlacementContext {
        snapshot,
        policy,
        now: NOW,
        refused_since: None,
    }
}

fn filtered(pod: &Value, names: &[&str], call: &PlacementContext<'_>) -> FilterResult {
    let body = body(pod, names);
    filter(
        &ExtenderRequest::parse(&body).unwrap(),
        call,
        &VerdictCache::default(),
    )
}

fn passing<'n>(pod: &Value, names: &[&'n str], call: &PlacementContext<'_>) -> Vec<&'n str> {
    let filtered = filtered(pod, names, call);
    let passing = names
        .iter()
        .enumerate()
        .filter(|(at, _)| filtered.passes(*at));
    passing.map(|(_, name)| *name).collect()
}

#[test]
fn each_exemption_lets_every_node_pass() {
    let snapshot = snapshot(&[("full", 900)]);
    let policy = policy();
    let with = |path: &str, value: Value| {
        let mut pod = plain();
        let (parent, member) = path.rsplit_once('/').unwrap();
        pod.pointer_mut(parent).unwrap()[member] = value;
        pod
    };
    for (pod, why) in [
        (plain(), None),
        (
            with("/metadata/namespace", json!("other")),
            Some(Exemption::NamespaceUnknown),
        ),
        (
            with(
                "/metadata/annotations",
                json!({"evenkeel.dev/skip": "true"}),
            ),
            Some(Exemption::Skipped),
        ),
        (
            with("/metadata/annotations", json!({"evenkeel.dev/skip": "yes"})),
            None,
        ),
        (
            with(
                "/metadata/annotations",
                json!({"kubernetes.io/config.mirror": "x"}),
            ),
            Some(Exemption::Mirror),
        ),
        (
            with(
                "/metadata/ownerReferences",
                json!([{"kind": "DaemonSet", "controller": true}]),
            ),
            Some(Exemption::DaemonSet),
        ),
        (
            with("/spec/priorityClassName", json!("system-node-critical")),
            Some(Exemption::Critical),
        ),
    ] {
        let found = filtered(&pod, &["full"], &call(&snapshot, &policy));
        assert_eq!(found.exemption, why, "{pod}");
        assert_eq!(found.passes(0), why.is_some(), "{pod}");
        let parsed = serde_json::from_value(pod.clone()).unwrap();
        assert_eq!(exemption(&parsed, &call(&snapshot, &policy)), why, "{pod}");
    }
}

/// For Pods of all kinds: an explanation says of a node what filter and prioritize answer.
#[test]
fn an_explanation_agrees_with_both_answers_whatever_the_pod_is_exempt_from() {
    let policy = policy();
    let names = ["full", "light", "middle"];
    let kinds = [
        json!({}),
        json!({"metadata": {"annotations": {"evenkeel.dev/skip": "true"}}}),
        json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
        json!({"metadata": {"ownerReferences": [{"kind": "DaemonSet", "controller": true}]}}),
        json!({"spec": {"priorityClassName": "system-cluster-critical"}}),
        json!({"spec": {"priorityClassName": "system-node-critical"}}),
        json!({"metadata": {"namespace": "other"}}),
    ];
    let measured = snapshot(&[("full", 950), ("light", 100), ("middle", 500)]);
    let unsynced = Snapshot {
        synced: false,
        ..measured.clone()
    };
    for (snapshot, kind) in [&measured, &unsynced]
        .into_iter()
        .flat_map(|snapshot| kinds.iter().map(move |kind| (snapshot, kind)))
    {
        let mut pod = plain();
        json_patch::merge(&mut pod, kind);
        let call = call(snapshot, &policy);
        let parsed: Pod = serde_json::from_value(pod.clone()).unwrap();
        let explained = explain(&parsed, &call);
        let filtered = filtered(&pod, &names, &call);
        let passing: Vec<&str> = passing(&pod, &names, &call);
        let body = body(&pod, &passing);
        let prioritized = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
        let exempt_from_all = prioritized.exemption.is_some();
        let is_told = explained.unjudged.is_some();
        assert_eq!(is_told, filtered.exemption.is_some(), "{pod}");
        let is_scored = exemption(&parsed, &call).is_none_or(Exemption::is_scored);
        assert_eq!(is_scored, !exempt_from_all, "{pod}");
        if exempt_from_all {
            continue;
        }
        for node in &explained.nodes {
            let at = passing.iter().position(|name| *name == node.name);
            assert_eq!(node.passes, at.is_some(), "{pod}: {}", node.name);
            let score = at.map(|at| prioritized.scores[at]);
            assert_eq!(node.score, score, "{pod}: {}", node.name);
        }
        let best = prioritized.best.map(|at| passing[at]);
        assert_eq!(explained.best.as_deref(), best, "{pod}");
    }
}

#[test]
fn every_exemption_has_a_name_of_its_own_and_words_without_it() {
    for why in Exemption::ALL {
        assert_eq!(Exemption::named(why.as_str()), Some(why));
        assert!(!why.explanation().contains('_'), "{why}");
    }
    assert_eq!(Exemption::named("of_another_version"), None);
}

#[test]
fn a_cluster_that_is_not_seen_is_not_judged() {
    let policy = policy();
    let seen = snapshot(&[("full", 900)]);
    let unsynced = Snapshot {
        synced: false,
        ..seen.clone()
    };
    let out = Snapshot {
        namespaces: namespaces(&json!({})),
        ..seen.clone()
    };
    let mut table = NodeTable::new(Settings::default());
    table.apply_node("full", NodeFacts::default(), NOW);
    let unmeasured = Snapshot {
        nodes: table.nodes().clone(),
        ..seen
    };
    for (snapshot, why) in [
        (&unsynced, Exemption::NotSynced),
        (&out, Exemption::NotOptedIn),
        (&unmeasured, Exemption::NoMetrics),
    ] {
        let call = call(snapshot, &policy);
        let found = filtered(&plain(), &["full", "new"], &call);
        assert_eq!(
            (found.exemption, found.refused),
            (Some(why), vec![ResourceSet::NONE; 2])
        );
        let body = body(&plain(), &["full", "new"]);
        let found = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
        assert_eq!((found.exemption, found.scores), (Some(why), vec![0, 0]));
        assert_eq!(found.best, None);
    }
}

#[test]
fn headroom_is_of_the_priority_class_then_of_the_namespace_then_configured() {
    let policy = policy();
    let mut snapshot = snapshot(&[("a", 650), ("b", 750), ("c", 840)]);
    let all = ["a", "b", "c", "unknown"];
    let mut high = plain();
    high["spec"]["priorityClassName"] = "high".into();
    let passing =
        |snapshot: &Snapshot, pod: &Value| passing(pod, &all, &call(snapshot, &policy)).concat();
    assert_eq!(passing(&snapshot, &plain()), "aunknown");
    assert_eq!(passing(&snapshot, &high), "abcunknown");
    snapshot.namespaces =
        namespaces(&json!({"evenkeel.dev/enabled": "true", "evenkeel.dev/headroom": "0.7"}));
    assert_eq!(passing(&snapshot, &plain()), "unknown");
    assert_eq!(passing(&snapshot, &high), "abcunknown");
}

#[test]
fn the_least_loaded_pass_where_nothing_has_headroom_and_that_is_wanted() {
    let mut snapshot = snapshot(&[("a", 900), ("b", 800), ("c", 840)]);
    let policy = policy();
    let all = ["a", "b", "c"];
    let strict = call(&snapshot, &policy);
    assert!(passing(&plain(), &all, &strict).is_empty());
    // 0.9 after placement on b, 0.94 on c, 1.0 on a.
    let five = NOW - SignedDuration::from_mins(5);
    let waited = PlacementContext {
        refused_since: Some(five),
        ..strict
    };
    assert_eq!(passing(&plain(), &all, &waited), ["b", "c"]);
    assert!(filtered(&plain(), &all, &waited).relaxed);
    let soon = PlacementContext {
        refused_since: Some(five + SignedDuration::from_secs(1)),
        ..strict
    };
    assert!(passing(&plain(), &all, &soon).is_empty());

    let relaxed = SchedulingPolicy {
        no_headroom: NoHeadroom::Relax,
        ..policy.clone()
    };
    assert_eq!(
        passing(&plain(), &all, &call(&snapshot, &relaxed)),
        ["b", "c"]
    );
    // The window that the scheduler shows counts for the answer, the whole table for the rule.
    assert_eq!(passing(&plain(), &["a"], &call(&snapshot, &relaxed)), ["a"]);
    let never = json!({"evenkeel.dev/enabled": "true", "evenkeel.dev/relax-after": "0"});
    snapshot.namespaces = namespaces(&never);
    let waited = PlacementContext {
        refused_since: Some(Timestamp::MIN),
        ..call(&snapshot, &policy)
    };
    assert!(passing(&plain(), &all, &waited).is_empty());
    let own = json!({"evenkeel.dev/enabled": "true", "evenkeel.dev/no-headroom": "relax"});
    snapshot.namespaces = namespaces(&own);
    assert_eq!(
        passing(&plain(), &all, &call(&snapshot, &policy)),
        ["b", "c"]
    );
}

/// A Pod that is bound to a pool waits for no other pool.
#[test]
fn room_on_a_node_that_was_not_asked_about_keeps_the_rule_where_only_a_window_is_shown() {
    let names: Vec<String> = (0..200).map(|number| format!("n-{number:03}")).collect();
    let load = |at: usize| if at < 150 { 900 } else { 10 };
    let nodes: Vec<(&str, u64)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (&**name, load(at)))
        .collect();
    let snapshot = snapshot(&nodes);
    let full: Vec<&str> = names.iter().take(150).map(|name| &**name).collect();
    for (percent, shown, waits) in [
        (100, 150, false),
        (100, 20, false),
        (50, 150, true),
        (50, 100, true),
        // Fewer than it would have gone on to: there are no others.
        (50, 99, false),
    ] {
        let policy = SchedulingPolicy {
            no_headroom: NoHeadroom::Relax,
            nodes_to_score: NodesToScore::new(percent).unwrap(),
            ..policy()
        };
        let passing = passing(&plain(), &full[..shown], &call(&snapshot, &policy));
        assert_eq!(passing.is_empty(), waits, "{percent} {shown}");
    }
    let policy = policy();
    assert!(passing(&plain(), &full, &call(&snapshot, &policy)).is_empty());
}

#[test]
fn the_only_node_that_passes_is_known() {
    let snapshot = snapshot(&[("a", 900), ("b", 10), ("c", 10)]);
    let policy = policy();
    let call = call(&snapshot, &policy);
    for (names, only) in [
        (&["a", "b"][..], Some(1)),
        (&["b"], Some(0)),
        (&["b", "c"], None),
        (&["a"], None),
        (&[], None),
    ] {
        assert_eq!(filtered(&plain(), names, &call).only(), only, "{names:?}");
    }
}

/// Nodes with a Pod that is counted on the one and possible on the other.
fn in_doubt(nodes: &[(&str, u64)], counted: &str, possible: &str) -> Snapshot {
    let mut table = table(nodes);
    let name = PodName::new("shop", "earlier");
    let demand = Resources::new([300; 5]).map(Amount::new);
    table.ask("earlier", &BoundPod::on(&name, None, demand), NOW);
    let near = table.nodes().near(table.nodes().position(possible));
    table.place("earlier", counted, near, NOW);
    snapshot_of(&table)
}

#[test]
fn of_twins_one_stands_a_point_above_the_other_and_both_are_told() {
    let snapshot = snapshot(&[("a", 500), ("b", 100), ("c", 100)]);
    let policy = policy();
    let call = call(&snapshot, &policy);
    let body = body(&plain(), &["new", "a", "c", "b"]);
    let request = ExtenderRequest::parse(&body).unwrap();
    let found = prioritize(&request, &call);
    let (best, other) = match found.best {
        Some(2) => (2, 3),
        Some(3) => (3, 2),
        other => panic!("{other:?}: never an unknown one, nor a fuller one"),
    };
    let mut scores = [0, 0, 9, 9];
    scores[best] = 10;
    assert_eq!(found.scores, scores);
    let other = snapshot.nodes.position(&request.names[other]);
    assert_eq!(found.near, snapshot.nodes.near(other));
}

#[test]
fn small_differences_of_measurement_count_only_for_what_requests_do_not_tell() {
    let mut table = table(&[("a", 204), ("b", 200), ("c", 600)]);
    let name = PodName::new("shop", "sibling");
    let asked = Resources::new([10, 10, 0, 0, 0].map(Amount::new));
    // On b, where a little less is measured, stands a Pod like the next one.
    let sibling = BoundPod {
        first_started: Some(Timestamp::MIN),
        started: Some(Timestamp::MIN),
        ..BoundPod::on(&name, Some("b"), asked)
    };
    table.apply_pod("2", &sibling, NOW);
    let snapshot = snapshot_of(&table);
    let mut silent = plain();
    silent["spec"]["containers"][0]["resources"]["requests"] =
        json!({"cpu": "10m", "memory": "10"});
    let mut telling = silent.clone();
    telling["metadata"]["annotations"] = json!({"evenkeel.dev/network-io": "10"});
    let with = |significance| SchedulingPolicy {
        scoring: ScoringStrategy {
            normalization: Normalization::Joint,
            significance,
        },
        ..policy()
    };
    for (pod, significance, best) in [
        (&silent, 0.05, "a"),
        (&telling, 0.05, "b"),
        // Four thousandths of utilisation are no small difference any more.
        (&silent, 0.01, "b"),
        (&silent, 0.0, "b"),
    ] {
        let policy = with(significance);
        let body = body(pod, &["a", "b", "c"]);
        let request = ExtenderRequest::parse(&body).unwrap();
        let found = prioritize(&request, &call(&snapshot, &policy));
        let found = found.best.map(|at| &*request.names[at]);
        assert_eq!(found, Some(best), "{pod} {significance}");
    }
}

#[test]
fn the_twin_that_a_pod_may_have_gone_to_is_not_overfilled_by_the_next_one() {
    let policy = policy();
    let mut large = plain();
    large["metadata"]["annotations"] = json!({"evenkeel.dev/disk-io": "250"});
    for (counted, possible) in [("a", "b"), ("b", "a")] {
        let snapshot = in_doubt(&[("a", 300), ("b", 300)], counted, possible);
        let call = call(&snapshot, &policy);
        // 300 + 300 + 250 is over 800 on either, 300 + 250 on neither.
        let passing = |names: &[&'static str]| passing(&large, names, &call);
        assert!(
            passing(&["a", "b"]).contains(&possible),
            "a doubt refuses nobody"
        );
        assert_eq!(passing(&[possible]), [possible]);
        assert_eq!(
            passing(&["new", possible]),
            ["new"],
            "a node that is not known yet is another"
        );
        assert!(passing(&[counted]).is_empty());
        let snapshot = in_doubt(&[("a", 300), ("b", 300), ("c", 400)], counted, possible);
        let call = self::call(&snapshot, &policy);
        let found = self::passing(&large, &["a", "b", "c"], &call);
        assert_eq!(found, ["c"], "while there is another, both are left alone");
    }
}

/// The harm: `b` alone passed, and the earlier Pod may be there.
#[test]
fn room_for_first_minutes_does_not_come_before_room_for_a_pod_in_doubt() {
    let snapshot = in_doubt(&[("a", 500), ("b", 100), ("c", 300)], "c", "b");
    let request = warming_up(450, &["a", "b", "c"]);
    assert_eq!(passing_nodes(&request, &snapshot), ["a", "b", "c"]);
    let policy = policy();
    let filtered = filter(
        &request,
        &call(&snapshot, &policy),
        &VerdictCache::default(),
    );
    assert!(
        filtered.doubted,
        "a notice may leave b with room for the first minutes"
    );
}

/// The harm: all such Pods went to a node that kube-scheduler knew a moment before Evenkeel did.
#[test]
fn an_unknown_node_has_no_room_for_first_minutes() {
    let snapshot = snapshot(&[("a", 300), ("b", 300)]);
    let request = warming_up(600, &["new", "a", "b"]);
    let policy = policy();
    let filtered = filter(
        &request,
        &call(&snapshot, &policy),
        &VerdictCache::default(),
    );
    assert_eq!((filtered.passed(), filtered.only()), (3, None));
}

#[test]
fn the_node_that_others_were_preempted_on_passes_for_the_pod_they_went_for() {
    let snapshot = snapshot(&[("a", 900), ("b", 950)]);
    let policy = policy();
    let call = call(&snapshot, &policy);
    let mut nominated = plain();
    nominated["status"] = json!({"nominatedNodeName": "b"});
    assert_eq!(passing(&nominated, &["a", "b"], &call), ["b"]);
    assert!(filtered(&nominated, &["b"], &call).nominated);
    assert!(passing(&nominated, &["a"], &call).is_empty());
    nominated["status"] = json!({"nominatedNodeName": "elsewhere"});
    assert!(passing(&nominated, &["a", "b"], &call).is_empty());
}

#[test]
fn pods_that_ask_for_nothing_are_spread_and_refused_nowhere_for_it() {
    let snapshot = snapshot(&[("a", 500), ("b", 300)]);
    let policy = policy();
    let mut silent = plain();
    silent["spec"]["containers"] = json!([{}]);
    let call = call(&snapshot, &policy);
    assert_eq!(passing(&silent, &["a", "b"], &call), ["a", "b"]);
    let body = body(&silent, &["a", "b"]);
    let found = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
    assert_eq!(found.best, Some(1));
    silent["spec"]["containers"] =
        json!([{"resources": {"requests": {"cpu": "0", "memory": "0"}}}]);
    let body = self::body(&silent, &["a", "b"]);
    let found = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
    assert_eq!(
        (found.best, found.scores),
        (None, vec![10, 10]),
        "no demand, no lead"
    );
}

#[test]
fn a_resource_is_dominant_from_the_namespaces_share_where_it_has_one() {
    let (mut snapshot, policy) = (snapshot(&[("a", 0), ("b", 0)]), policy());
    for (annotation, expected) in [(None, "normal"), (Some("0.05"), "compute")] {
        let shop = json!({"evenkeel.dev/enabled": "true"});
        let mut shop = shop.as_object().unwrap().clone();
        shop.extend(
            annotation.map(|share| ("evenkeel.dev/profile-threshold".into(), json!(share))),
        );
        snapshot.namespaces = namespaces(&Value::Object(shop));
        let body = body(&plain(), &["a", "b"]);
        let found = prioritize(
            &ExtenderRequest::parse(&body).unwrap(),
            &call(&snapshot, &policy),
        );
        assert_eq!(found.profile.as_deref(), Some(expected), "{annotation:?}");
    }
}

#[test]
fn an_annotated_profile_counts_if_it_is_known() {
    let snapshot = snapshot(&[("a", 100), ("b", 100)]);
    let policy = policy();
    let call = call(&snapshot, &policy);
    for (annotated, expected) in [
        (json!("io"), "io"),
        (json!("odd"), "normal"),
        (json!(null), "normal"),
    ] {
        let mut pod = plain();
        pod["metadata"]["annotations"] = json!({"evenkeel.dev/profile": annotated});
        let body = body(&pod, &["a", "b"]);
        let found = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
        assert_eq!(found.profile.as_deref(), Some(expected), "{annotated}");
    }
    let mut greedy = plain();
    greedy["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "200m".into();
    let body = body(&greedy, &["a", "b"]);
    let found = prioritize(&ExtenderRequest::parse(&body).unwrap(), &call);
    assert_eq!(found.profile.as_deref(), Some("compute"));
}

proptest! {
    /// The cache answers what the rule says of each node.
    #[test]
    fn verdicts_are_those_of_the_rule(loads in prop::collection::vec(0_u64..1000, 1..20), cpu in 0_u64..500) {
        let names: Vec<String> = (0..loads.len()).map(|n| format!("n{n}")).collect();
        let nodes: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(loads).collect();
        let snapshot = snapshot(&nodes);
        let policy = policy();
        let mut pod = plain();
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = format!("{cpu}m").into();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let passing = passing(&pod, &names, &call(&snapshot, &policy));
        let demand = Resources::new([cpu, 0, 0, 0, 0]).map(Amount::new);
        let expected: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| headroom::fits(&demand, &snapshot.nodes.get(name).unwrap().load, policy.headroom))
            .collect();
        prop_assert_eq!(passing, expected);
    }
}
