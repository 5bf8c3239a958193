use std::collections::{BTreeMap, HashSet};

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_objects::plan::conditional_patch::apply;
use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::deletion_cost::DeletionBasis;
use crate::node_table;
use crate::node_table::NodeTable;
use crate::policy::shipped;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn at(second: i64) -> Timestamp {
    NOW + SignedDuration::from_secs(second)
}

fn set() -> ControllerKey {
    ControllerKey::new("shop", "set")
}

/// A ready Pod of the ReplicaSet `web` with these annotations.
fn object_of(name: &str, node: &str, annotations: &Value) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": annotations,
            "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                "uid": "set", "controller": true}]},
        "spec": {"nodeName": node, "topologySpreadConstraints": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn removable(object: &Value) -> Arc<RemovablePod> {
    let pod: Pod = serde_json::from_value(object.clone()).unwrap();
    Arc::new(RemovablePod::of(&pod).unwrap())
}

fn pod(name: &str, node: &str) -> Arc<RemovablePod> {
    removable(&object_of(name, node, &json!(null)))
}

/// The first Pods to go. Each of `pods` uses a core; each node has 10, with so many in use.
fn chosen(
    pods: &[Arc<RemovablePod>],
    around: &[Arc<RemovablePod>],
    nodes: &[(&str, u64, &str)],
    count: usize,
) -> Result<Vec<(String, i32, DeletionBasis)>, DeletionCostRefusal> {
    let mut table = NodeTable::new(node_table::Settings::default());
    let mut labels = NodeLabels::default();
    for (name, used, zone) in nodes {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"zone": zone,
                "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "10"},
                "conditions": [{"type": "Ready", "status": "True"}]}}))
        .unwrap();
        let (facts, _) = node_facts(&node, &evenkeel_objects::capacities::Capacities::default());
        table.apply_node(name, facts, NOW);
        labels.insert((*name).into(), Arc::new(node.labels));
        let name_of = evenkeel_objects::pod_name::PodName::new("x", name);
        let mut demand = Resources::default();
        demand[Resource::Cpu] = Amount::new(used * 1000);
        let other: Pod = serde_json::from_value(object_of(name, name, &json!(null))).unwrap();
        table.apply_pod(name, &other.facts(&name_of, demand, NOW), NOW);
    }
    let usage = |_: &str| {
        let mut usage = Resources::default();
        usage[Resource::Cpu] = Amount::new(1000);
        usage
    };
    let situation = Situation {
        nodes: table.nodes(),
        labels: &labels,
        policy: &shipped(),
        namespace: &NamespacePolicy::default(),
        usage: &usage,
        around: &|| Arc::new(around.to_vec()),
    };
    let costs = choose(pods, count, &situation)?;
    let mut all: Vec<_> = costs
        .into_iter()
        .map(|(uid, cost)| (uid.to_string(), cost.cost, cost.ground))
        .collect();
    all.sort_by_key(|(_, cost, _)| *cost);
    Ok(all)
}

fn named(name: &str, cost: i32, ground: DeletionBasis) -> (String, i32, DeletionBasis) {
    (name.to_owned(), cost, ground)
}

#[test]
fn those_on_the_fullest_nodes_go_first_and_one_over_the_line_before_all() {
    let pods = [pod("a", "cool"), pod("b", "warm"), pod("c", "hot")];
    let nodes = [("cool", 2, "z"), ("warm", 6, "z"), ("hot", 9, "z")];
    let found = chosen(&pods, &pods, &nodes, 2).unwrap();
    assert_eq!(
        found,
        [
            named("c", -2, DeletionBasis::Headroom),
            named("b", -1, DeletionBasis::Balance)
        ]
    );
}

#[test]
fn constraints_count_the_pods_that_they_select_by_the_domains_of_their_nodes() {
    let spread = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}}}]);
    let spreading = |name: &str, node: &str| {
        let mut object = object_of(name, node, &json!(null));
        object["spec"]["topologySpreadConstraints"] = spread.clone();
        removable(&object)
    };
    let pods = [
        spreading("a", "hot"),
        spreading("b", "cool"),
        spreading("c", "cool"),
    ];
    let nodes = [("cool", 2, "one"), ("hot", 7, "other")];
    let found = chosen(&pods, &pods, &nodes, 1).unwrap();
    assert_eq!(found, [named("b", -1, DeletionBasis::Spread)]);
    // Two Pods of another workload in the other zone count too: then it has more.
    let around = pods
        .iter()
        .cloned()
        .chain([pod("x", "hot"), pod("y", "hot")]);
    let around: Vec<_> = around.collect();
    let found = chosen(&pods, &around, &nodes, 1).unwrap();
    assert_eq!(found[0].0, "a");
}

/// A Pod with so many constraints, and a label of its own by which they are narrowed or not.
fn constrained(name: &str, count: usize, narrowed: bool) -> Arc<RemovablePod> {
    let keys = if narrowed { json!(["own"]) } else { json!([]) };
    let spread = |at: usize| {
        json!({"maxSkew": 1, "topologyKey": format!("zone-{at}"),
            "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": keys,
            "labelSelector": {"matchLabels": {"app": "web"}}})
    };
    let mut object = object_of(name, "n", &json!(null));
    object["metadata"]["labels"]["own"] = json!(name);
    object["spec"]["topologySpreadConstraints"] = (0..count).map(spread).collect();
    removable(&object)
}

#[test]
fn no_more_constraints_are_gone_by_than_one_template_has() {
    let nodes = [("n", 2, "z")];
    let chosen = |pods: &[Arc<RemovablePod>]| chosen(pods, pods, &nodes, 1).map(|_| ());
    let pods = |count, narrowed| -> Vec<_> {
        let names = (0..30).map(|at| format!("p{at:02}"));
        names
            .map(|name| constrained(&name, count, narrowed))
            .collect()
    };
    assert_eq!(chosen(&pods(12, false)), Ok(()), "labels narrow nothing");
    assert_eq!(
        chosen(&pods(13, false)),
        Err(DeletionCostRefusal::Constraints)
    );
    assert_eq!(
        chosen(&pods(1, true)),
        Err(DeletionCostRefusal::Constraints)
    );
    assert_eq!(DeletionCostRefusal::Constraints.reason(), "constraints");
    let mut long = object_of("p", "n", &json!(null));
    let values: Vec<_> = (0..300).map(|at| format!("v{at}")).collect();
    long["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "zone",
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": values}]}}]);
    assert_eq!(
        chosen(&[removable(&long)]),
        Err(DeletionCostRefusal::Constraints)
    );
}

#[test]
fn pods_without_constraints_keep_to_the_default_of_the_scheduler() {
    // The cool node has five of them, the hot one a single one: without it the skew would be 5.
    let on = |at: usize, node: &str| pod(&format!("{node}-{at}"), node);
    let pods: Vec<_> = (0..5).map(|at| on(at, "cool")).collect();
    let pods: Vec<_> = pods.into_iter().chain([on(0, "hot")]).collect();
    let nodes = [("cool", 1, "z"), ("hot", 7, "z")];
    let found = chosen(&pods, &[], &nodes, 1).unwrap();
    assert_eq!(found, [named("cool-0", -1, DeletionBasis::Spread)]);
    // With three there it is no more than is wanted.
    let found = chosen(&pods[2..], &[], &nodes, 1).unwrap();
    assert_eq!(found, [named("hot-0", -1, DeletionBasis::Balance)]);
}

#[test]
fn the_pods_of_a_namespace_are_read_where_a_constraint_counts_them() {
    let (asked, table) = (
        std::cell::Cell::new(0),
        NodeTable::new(node_table::Settings::default()),
    );
    let ask = |pods: &[Arc<RemovablePod>]| {
        let situation = Situation {
            nodes: table.nodes(),
            labels: &NodeLabels::default(),
            policy: &shipped(),
            namespace: &NamespacePolicy::default(),
            usage: &|_| Resources::default(),
            around: &|| {
                asked.set(asked.get() + 1);
                NamespacePods::default()
            },
        };
        choose(pods, 1, &situation).unwrap();
        asked.get()
    };
    assert_eq!(ask(&[pod("a", "n"), pod("b", "n")]), 0);
    assert_eq!(ask(&[constrained("a", 3, false)]), 1);
}

#[test]
fn a_cost_of_the_users_leaves_the_replica_set_alone_and_its_pod_untouched() {
    let users = removable(&object_of("b", "n", &json!({POD_DELETION_COST: "7"})));
    let pods = [pod("a", "n"), Arc::clone(&users)];
    let why = chosen(&pods, &pods, &[("n", 2, "z")], 1).unwrap_err();
    assert_eq!(why, DeletionCostRefusal::UsersCost("b".to_owned()));
    assert_eq!(why.reason(), "users_cost");
    let cost = Cost {
        cost: -1,
        ground: DeletionBasis::Balance,
    };
    assert_eq!(write(&users, Some(&cost), Purpose::DeletionCost), None);
    let told = |now| left_alone(&users, &why, "evenkeel-0", now).unwrap();
    assert_eq!(told(at(0)).target, told(at(60)).target, "told once");
}

/// The annotations of a Pod after a write.
fn after(object: &Value, cost: Option<&Cost>) -> Option<Value> {
    let write = write(&removable(object), cost, Purpose::DeletionCost)?;
    assert_eq!(write.target.to_string(), "pods shop/a");
    let WriteOperation::Conditional(patch) = &write.operation else {
        panic!("{:?}", write.operation);
    };
    let mut object = object.clone();
    if object["metadata"]["annotations"].is_null() {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    }
    apply(&mut object, patch).unwrap();
    let mut raced = object.clone();
    raced["metadata"]["annotations"][POD_DELETION_COST] = json!("9");
    assert!(
        apply(&mut raced, patch).is_err(),
        "somebody gave it one meanwhile"
    );
    Some(object["metadata"]["annotations"].clone())
}

#[test]
fn a_cost_is_written_beside_what_says_that_it_is_ours_and_both_go_together() {
    let cost = Cost {
        cost: -2,
        ground: DeletionBasis::Spread,
    };
    let ours = json!({POD_DELETION_COST: "-2", DELETION_COST: "-2 spread"});
    let bare = object_of("a", "n", &json!(null));
    assert_eq!(after(&bare, Some(&cost)), Some(ours.clone()));
    let marked = object_of("a", "n", &ours);
    assert_eq!(
        write(&removable(&marked), Some(&cost), Purpose::DeletionCost),
        None
    );
    let cleared = write(&removable(&marked), None, Purpose::Restore).unwrap();
    assert_eq!(cleared.purpose, Purpose::Restore);
    assert_eq!(after(&marked, None), Some(json!({})));
    // The user has changed it since: what is left of ours goes, and the cost stays.
    let changed = json!({POD_DELETION_COST: "5", DELETION_COST: "-2 spread"});
    let write = write(
        &removable(&object_of("a", "n", &changed)),
        None,
        Purpose::DeletionCost,
    );
    let WriteOperation::Conditional(patch) = write.unwrap().operation else {
        panic!("a patch that tests");
    };
    let mut object = object_of("a", "n", &changed);
    apply(&mut object, &patch).unwrap();
    assert_eq!(
        object["metadata"]["annotations"],
        json!({POD_DELETION_COST: "5"})
    );
}

#[test]
fn a_round_a_minute_stands_until_the_scale_in_has_been_over_for_two() {
    let costs = |uid: &str| {
        let cost = Cost {
            cost: -1,
            ground: DeletionBasis::Balance,
        };
        DeletionCostChoice {
            costs: BTreeMap::from([(uid.into(), cost)]),
            from: 3,
            to: 2,
        }
    };
    let mut rounds = Rounds::default();
    rounds.pass(at(0));
    assert!(rounds.is_due(&set(), at(0)));
    rounds.begin(&set(), costs("a"), at(0));
    assert!(!rounds.is_due(&set(), at(59)) && rounds.is_due(&set(), at(60)));
    let bare = [pod("a", "n"), pod("b", "n")];
    assert_eq!(rounds.writes(&set(), &bare).awaited.len(), 1);
    assert!(!rounds.is_settled(&set(), &bare));
    rounds.fail(&set(), &bare, &HashSet::from([object(&bare[1])]));
    assert!(!rounds.is_settled(&set(), &bare), "none that was chosen");
    rounds.fail(&set(), &bare, &HashSet::from([object(&bare[0])]));
    let DueCostWrites { awaited, again } = rounds.writes(&set(), &bare);
    assert_eq!((awaited.len(), again.len()), (0, 1));
    assert!(rounds.is_settled(&set(), &bare));
    assert_eq!(rounds.told(&set(), &bare, "evenkeel-0", at(1)), None);

    let ours = json!({POD_DELETION_COST: "-1", DELETION_COST: "-1 balance"});
    let marked = [removable(&object_of("a", "n", &ours)), pod("b", "n")];
    assert!(rounds.is_settled(&set(), &marked));
    let told = rounds.told(&set(), &marked, "evenkeel-0", at(2)).unwrap();
    let WriteOperation::Create(event) = &told.operation else {
        panic!("{:?}", told.operation);
    };
    let note = event["note"].as_str().unwrap();
    assert!(
        note.starts_with("scale-in from 3 to 2: deleted first: a on n ("),
        "{note}"
    );
    assert_eq!(event["regarding"]["kind"], "ReplicaSet");
    assert_eq!(
        rounds.told(&set(), &marked, "evenkeel-0", at(3)),
        None,
        "told once"
    );

    rounds.want(&set(), at(30));
    rounds.pass(at(149));
    assert_eq!(rounds.clear(&marked, at(149)), [], "it still stands");
    rounds.pass(at(150));
    assert_eq!(rounds.clear(&marked, at(150)).len(), 1);
    let mut new = Rounds::default();
    new.pass(at(150));
    assert_eq!(
        new.clear(&marked, at(200)),
        [],
        "who has just begun knows nothing yet"
    );
    assert_eq!(new.clear(&marked, at(270)).len(), 1);
}

#[test]
fn as_many_are_marked_as_may_go_until_the_next_round() {
    for (removed, pods, marked) in [
        (1, 10, 4),
        (2, 10, 8),
        (3, 4, 3),
        (30, 100, 30),
        (900, 1000, 200),
        (1, 1, 0),
    ] {
        assert_eq!(count_to_mark(removed, pods), marked, "{removed} of {pods}");
    }
}
