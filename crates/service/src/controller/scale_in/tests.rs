use std::cell::RefCell;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::WriteOperation;
use evenkeel_scaling::targets::reference::TargetRef;
use jiff::SignedDuration;
use json_patch::PatchOperation;
use serde_json::{Value, json};

use super::*;
use crate::cluster::{Settings, WATCHED};
use crate::controller::leader_rounds::tests::policy;

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const OWN: &str = "evenkeel.dev/deletion-cost";

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

/// A cluster of one node, with ReplicaSets of namespaces that have opted in.
struct World {
    costs: Costs,
    memory: ScaleInMemory,
}

impl World {
    fn new() -> Self {
        let cluster = ClusterState::new(Settings {
            balances_scale_in: true,
            ..Settings::default()
        });
        let node = json!({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
        cluster.apply_node(&serde_json::from_value(node).unwrap(), at(0));
        for kind in WATCHED {
            cluster.set_synced(kind);
        }
        let costs = Costs {
            cluster,
            policy: Arc::new(policy()),
            scale_ins: Some(ScaleIns::default()),
            reporter: "evenkeel-0".to_owned(),
            metrics: ControllerMetrics::default(),
        };
        let world = Self {
            costs,
            memory: ScaleInMemory::default(),
        };
        world.opt("shop", true);
        world
    }

    fn opt(&self, namespace: &str, enabled: bool) {
        let object = json!({"metadata": {"name": namespace,
            "annotations": {"evenkeel.dev/enabled": enabled.to_string()}}});
        let object = serde_json::from_value(object).unwrap();
        self.costs.cluster.apply_namespace(&object, at(0));
    }

    fn pod(&self, namespace: &str, set: &str, name: &str, annotations: &Value) {
        let pod = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}/{name}"),
                "annotations": annotations,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set,
                    "uid": format!("{namespace}/{set}"), "controller": true}]},
            "spec": {"nodeName": "a", "containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let pod = serde_json::from_value(pod).unwrap();
        self.costs.cluster.apply_pod(&pod, at(0));
    }

    fn set(&self, namespace: &str, set: &str, pods: usize) {
        for pod in 0..pods {
            self.pod(namespace, set, &format!("{set}-{pod:03}"), &json!({}));
        }
    }

    fn show(&self, set: &str, writes: &[Write]) {
        for write in writes.iter().filter(|write| is_cost(write)) {
            let WriteOperation::Conditional(patch) = &write.operation else {
                panic!("{:?}", write.operation);
            };
            let mut object = json!({"metadata": {"name": write.target.name, "namespace": "shop",
                "uid": format!("shop/{}", write.target.name), "annotations": {}}});
            let changes = patch.to_patch().0.into_iter();
            let changes = changes.filter(|one| !matches!(one, PatchOperation::Test(_)));
            json_patch::patch(&mut object, &changes.collect::<Vec<_>>()).unwrap();
            let annotations = &object["metadata"]["annotations"];
            self.pod("shop", set, &write.target.name, annotations);
        }
    }

    fn expect(&self, scale_ins: Vec<PendingScaleIn>, now: Timestamp) {
        let expected = self.costs.scale_ins.as_ref().unwrap();
        expected.expect(scale_ins, now);
    }

    fn plan(&mut self, now: Timestamp) -> DeletionCostPlan {
        self.costs.plan(&mut self.memory, &HashSet::new(), now)
    }

    fn metrics(&self) -> String {
        let mut registry = prometheus_client::registry::Registry::default();
        self.costs.metrics.register(&mut registry);
        crate::telemetry::encode(&registry).unwrap()
    }
}

fn is_cost(write: &Write) -> bool {
    write.purpose == Purpose::DeletionCost
}

fn costs(plan: &DeletionCostPlan) -> usize {
    plan.writes.iter().filter(|write| is_cost(write)).count()
}

fn freed(plan: &DeletionCostPlan) -> Vec<&str> {
    let freed = plan.freed.iter();
    freed
        .map(|held| held.lowering.write.target.name.as_str())
        .collect()
}

/// A ReplicaSet that Evenkeel lowers from so many replicas to so many.
pub(in crate::controller) fn lowering(
    namespace: &str,
    set: &str,
    from: i32,
    to: i32,
) -> PendingScaleIn {
    let target = ObjectRef::in_namespace(Kind::ReplicaSet, namespace, set);
    let operation = WriteOperation::Merge(json!({"spec": {"replicas": to}}));
    PendingScaleIn {
        target: TargetRef::new("apps/v1", "ReplicaSet", namespace, set),
        namespace_policy: Arc::new(NamespacePolicy::default()),
        from,
        to,
        lowering: Some(ScaleInWrite {
            write: Write::new(Purpose::ScalingReplicas, target, operation),
            told: Vec::new(),
        }),
    }
}

#[test]
fn a_lowering_waits_until_the_costs_are_there_or_for_ten_seconds() {
    let mut world = World::new();
    world.set("shop", "web", 3);
    world.expect(vec![lowering("shop", "web", 3, 2)], at(0));
    let first = world.plan(at(0));
    assert_eq!((costs(&first), freed(&first)), (2, vec![]));
    assert_eq!(freed(&world.plan(at(9))), Vec::<&str>::new());
    assert_eq!(freed(&world.plan(at(10))), ["web"], "they do not come");

    world.expect(vec![lowering("shop", "web", 3, 2)], at(15));
    let again = world.plan(at(15));
    assert_eq!(freed(&again), Vec::<&str>::new());
    world.show("web", &again.writes);
    assert_eq!(freed(&world.plan(at(16))), ["web"], "they are there");
}

fn event(name: &str) -> Write {
    let target = ObjectRef::in_namespace(Kind::Event, "shop", name);
    let operation = WriteOperation::Create(json!({"reason": "FloorLowered"}));
    Write::new(Purpose::ScalingEvent, target, operation)
}

#[test]
fn a_lowering_is_told_when_it_is_let_go_and_not_before() {
    let mut world = World::new();
    world.set("shop", "web", 3);
    let lowering = |to: i32, told: &[&str]| {
        let mut one = lowering("shop", "web", 3, to);
        let told = told.iter().map(|name| event(name)).collect();
        one.lowering.as_mut().unwrap().told = told;
        vec![one]
    };
    let gone = |world: &mut World, second: i64| {
        let plan = world.plan(at(second));
        let events = plan.writes.iter().filter(|write| !is_cost(write)).count();
        assert_eq!(events, 0, "nothing is told meanwhile");
        let (scale_ins, put) = (world.costs.scale_ins.clone().unwrap(), RefCell::default());
        let keep = |write: Write| {
            let names: &RefCell<Vec<String>> = &put;
            names.borrow_mut().push(write.target.name);
        };
        world.memory.let_go(&scale_ins, plan.freed, keep);
        put.into_inner()
    };
    world.expect(lowering(2, &["first"]), at(0));
    assert_eq!(gone(&mut world, 0), Vec::<String>::new());
    // The next tick decides the same, of which its plan has told already.
    world.expect(lowering(2, &[]), at(5));
    assert_eq!(gone(&mut world, 5), Vec::<String>::new());
    assert_eq!(gone(&mut world, 10), ["web", "first"]);
    // A renewed lowering replaces the one before, and one that is given up is not reported.
    world.expect(lowering(2, &["second"]), at(20));
    assert_eq!(gone(&mut world, 20), Vec::<String>::new());
    world.expect(lowering(1, &["third"]), at(25));
    assert_eq!(gone(&mut world, 30), ["web", "third"]);
    world.expect(lowering(2, &["fourth"]), at(40));
    assert_eq!(gone(&mut world, 40), Vec::<String>::new());
    world.expect(Vec::new(), at(45));
    assert_eq!(gone(&mut world, 60), Vec::<String>::new());
}

#[test]
fn a_cost_that_cannot_be_written_is_waited_for_no_longer_and_tried_again() {
    let mut world = World::new();
    world.set("shop", "web", 2);
    world.expect(vec![lowering("shop", "web", 2, 1)], at(0));
    let first = world.plan(at(0));
    let mut failed: HashSet<ObjectRef> = first
        .writes
        .iter()
        .map(|write| write.target.clone())
        .collect();
    failed.insert(ObjectRef::of_cluster(Kind::Node, "a"));
    let second = world.costs.plan(&mut world.memory, &failed, at(1));
    assert_eq!(freed(&second), ["web"]);
    assert_eq!(costs(&second), 1);
}

#[test]
fn a_newer_tick_keeps_an_older_lowering_from_taking_the_place_of_its_raise() {
    let mut world = World::new();
    world.set("shop", "web", 3);
    world.expect(vec![lowering("shop", "web", 3, 2)], at(0));
    world.plan(at(0));
    let plan = world.plan(at(10));
    assert_eq!(freed(&plan), ["web"]);
    // The tick that raises it has come between the plan and its writes.
    world.expect(Vec::new(), at(10));
    let scale_ins = world.costs.scale_ins.clone().unwrap();
    let put = |_| panic!("it is not wanted any more");
    world.memory.let_go(&scale_ins, plan.freed, put);
    assert_eq!(freed(&world.plan(at(11))), Vec::<&str>::new());
}

#[test]
fn what_a_tick_long_past_has_decided_is_made_no_more() {
    let mut world = World::new();
    world.set("shop", "web", 3);
    world.expect(vec![lowering("shop", "web", 3, 2)], at(0));
    let plan = world.plan(at(30));
    assert_eq!((costs(&plan), freed(&plan)), (0, vec![]));
    world.expect(vec![lowering("shop", "web", 3, 2)], at(30));
    let released = |world: &mut World, now| {
        let scale_ins = world.costs.scale_ins.clone();
        release(scale_ins.as_ref(), &mut world.memory, now).len()
    };
    assert_eq!(released(&mut world, at(60)), 0);
    world.expect(vec![lowering("shop", "web", 3, 2)], at(60));
    assert_eq!(
        released(&mut world, at(61)),
        1,
        "nobody is left to wait for"
    );
    world.expect(vec![lowering("shop", "web", 3, 2)], at(62));
    world.plan(at(62));
    assert_eq!(released(&mut world, at(63)), 1, "what was held, too");
}

#[test]
fn large_scale_ins_fill_no_queue_with_costs_and_go_on_without() {
    let mut world = World::new();
    let sets = ["one", "two", "three"];
    for set in sets {
        world.set("shop", set, 210);
    }
    let expected = sets.map(|set| lowering("shop", set, 210, 5));
    world.expect(expected.into(), at(0));
    for second in 0..10 {
        let plan = world.plan(at(second));
        assert_eq!((costs(&plan), freed(&plan)), (200, vec![]), "{second}");
    }
    assert!(world.metrics().contains("scale_ins_waiting 2"));
    assert_eq!(world.plan(at(10)).freed.len(), 3);
    let page = world.metrics();
    let busy = r#"scale_ins_left_alone_total{reason="busy"} 2"#;
    assert!(page.contains(busy), "{page}");
    assert!(page.contains("scale_ins_waiting 0"), "{page}");
    // Costs that do not come, or that another writer removes, delay those of others no longer.
    world.set("shop", "four", 210);
    world.expect(vec![lowering("shop", "four", 210, 5)], at(15));
    assert_eq!(costs(&world.plan(at(15))), 400);
}

#[test]
fn many_workloads_are_looked_at_round_by_round_and_one_namespace_delays_no_other() {
    let mut world = World::new();
    world.opt("zoo", true);
    let mut expected = Vec::new();
    for set in 0..30 {
        let name = format!("web-{set:02}");
        world.set("shop", &name, 3);
        expected.push(lowering("shop", &name, 3, 2));
    }
    world.set("zoo", "small", 3);
    expected.push(lowering("zoo", "small", 3, 2));
    world.expect(expected, at(0));
    let first = world.plan(at(0));
    assert_eq!(costs(&first), 20 * 2);
    let of_zoo = |write: &Write| write.target.namespace.as_deref() == Some("zoo");
    assert!(first.writes.iter().any(of_zoo), "its turn is the second");
    assert_eq!(costs(&world.plan(at(1))), 31 * 2);
}

#[test]
fn a_users_cost_and_an_opt_out_end_a_round_at_once() {
    let mut world = World::new();
    let begin = |world: &mut World, set: &str, second| {
        world.set("shop", set, 3);
        world.expect(vec![lowering("shop", set, 3, 2)], at(second));
        let plan = world.plan(at(second));
        assert_eq!(costs(&plan), 2);
        world.show(set, &plan.writes);
        assert_eq!(costs(&world.plan(at(second + 1))), 0);
    };
    begin(&mut world, "web", 0);
    world.pod("shop", "web", "web-002", &json!({COST: "7"}));
    assert_eq!(costs(&world.plan(at(2))), 2, "both are taken away");
    // Again for as long as they are there.
    assert_eq!(costs(&world.plan(at(3))), 2);
    world.pod("shop", "web", "web-000", &json!({}));
    world.pod("shop", "web", "web-001", &json!({}));
    assert_eq!(costs(&world.plan(at(4))), 0);

    begin(&mut world, "api", 10);
    world.opt("shop", false);
    let left = world.plan(at(12));
    assert_eq!(costs(&left), 2, "{:?}", left.writes);
    let text = format!("{:?}", left.writes);
    assert!(text.contains(&OWN.replace('/', "~1")), "{text}");
}
