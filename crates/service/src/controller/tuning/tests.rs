use std::collections::HashMap;

use evenkeel_objects::annotations::{RESIZED, TUNING_STATUS};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::{Purpose, WriteOperation};
use evenkeel_objects::pod::Pod;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;
use serde_json::{Value, json};

use super::*;
use crate::cluster::{ScalingObject, Settings as ClusterSettings};
use crate::metrics::{ContainerName, ContainerUsage};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// A cluster with one node and a workload; the test is the leader.
struct World {
    cluster: ClusterState,
    settings: Settings,
    memory: TuningMemory,
    targets: Vec<Arc<evenkeel_scaling::status::dashboard::ScalingStatus>>,
    limits: Arc<ResizeLimits>,
}

impl World {
    fn new(annotations: &Value) -> Self {
        let cluster = ClusterState::new(ClusterSettings::default());
        let node = json!({"metadata": {"name": "a", "uid": "a"}, "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}});
        cluster.apply_node(&serde_json::from_value(node).unwrap(), at(0));
        let world = Self {
            cluster,
            settings: Settings {
                resizes: true,
                ..Settings::default()
            },
            memory: TuningMemory::default(),
            targets: Vec::new(),
            limits: Arc::default(),
        };
        world.namespace(true);
        world.deployment(annotations, 1);
        let set = crate::cluster::owners::Owner::new("apps/v1", "Deployment", "web");
        world.cluster.apply_owner(
            Kind::ReplicaSet,
            &ControllerKey::new("shop", "set"),
            Some(set),
        );
        for kind in crate::cluster::WATCHED {
            world.cluster.set_synced(kind);
        }
        world
    }

    fn namespace(&self, is_in: bool) {
        let enabled = if is_in { "true" } else { "false" };
        let namespace = json!({"metadata": {"name": "shop", "uid": "shop",
            "annotations": {"evenkeel.dev/enabled": enabled}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        self.cluster.apply_namespace(&namespace, at(0));
    }

    fn deployment(&self, annotations: &Value, replicas: i32) {
        self.named("web", annotations, replicas);
    }

    /// Another Deployment of one replica, with a ReplicaSet of its own.
    fn other(&self, name: &str, annotations: &Value) {
        self.named(name, annotations, 1);
        let owner = crate::cluster::owners::Owner::new("apps/v1", "Deployment", name);
        let set = ControllerKey::new("shop", &format!("{name}-set"));
        self.cluster
            .apply_owner(Kind::ReplicaSet, &set, Some(owner));
    }

    fn named(&self, name: &str, annotations: &Value, replicas: i32) {
        let object = json!({"metadata": {"name": name, "namespace": "shop", "uid": name,
            "annotations": annotations}, "spec": {"replicas": replicas}});
        let watched: crate::watched_types::WatchedDeployment =
            serde_json::from_value(object).unwrap();
        let workload = ScalingObject::Workload(Arc::new(watched.workload));
        self.cluster.apply_scaling_object(workload);
    }

    fn pod(&self, name: &str, annotations: &Value, resources: &Value) {
        self.pod_of("set", name, annotations, resources);
    }

    fn pod_of(&self, set: &str, name: &str, annotations: &Value, resources: &Value) {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
                "managedFields": [{"manager": "evenkeel", "fieldsV1": {
                    "f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}}}],
                "annotations": annotations,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": "web-1", "uid": set, "controller": true}]},
            "spec": {"nodeName": "a", "containers": [{"name": "app", "resources": resources}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "app",
                "resources": resources, "allocatedResources": resources["requests"]}]}}))
        .unwrap();
        self.cluster.apply_pod(&pod, at(0));
    }

    /// Five samples of a Pod until the time of the last turn before `until`.
    fn samples(&mut self, pod: &str, cpu: [u64; 5], until: i64) {
        let sets = ["set", "told-set"].into_iter();
        let known = sets.flat_map(|set| {
            self.cluster
                .resizable()
                .of(&ControllerKey::new("shop", set))
        });
        let by_name: HashMap<_, _> = known
            .map(|pod| ((Arc::clone(&pod.namespace), Arc::clone(&pod.name)), pod))
            .collect();
        for (minute, cpu) in (0..).zip(cpu) {
            let usage = ContainerUsage {
                name: ContainerName {
                    namespace: "shop".into(),
                    pod: pod.into(),
                    container: "app".into(),
                },
                used: CpuMemory {
                    cpu: Amount::new(cpu),
                    memory: Amount::new(100 << 20),
                },
                at: at(until - 60 * (4 - minute)),
            };
            self.memory.take_samples(&[usage], &by_name);
        }
    }

    /// A look that the turn of every node falls in.
    fn look(&mut self, second: i64) -> Vec<Write> {
        let now = at(second);
        self.memory.looked = now.checked_sub(self.settings.interval).ok();
        let workloads = self
            .cluster
            .scaling()
            .tuned_workloads(self.settings.mode)
            .unwrap();
        self.memory.see_replicas(&workloads, now);
        let rules = ResizeRules {
            may_restart: false,
            may_lower_memory_limits: true,
        };
        let following = ResizeTracker {
            cluster: self.cluster.clone(),
            settings: self.settings,
            rules,
            reporter: "evenkeel-0".to_owned(),
            metrics: TuningMetrics::default(),
            now,
        };
        let deciding = ResizePlanner {
            cluster: self.cluster.clone(),
            policy: Arc::new(
                crate::config::Config::load(&crate::config::ConfigSources::default())
                    .unwrap()
                    .policy,
            ),
            settings: self.settings,
            targets: Arc::new(self.targets.clone()),
            rules,
            limits: Arc::clone(&self.limits),
            reporter: "evenkeel-0".to_owned(),
            metrics: TuningMetrics::default(),
            now,
        };
        let mut writes = following.plan(&mut self.memory, &workloads);
        writes.extend(deciding.plan(&mut self.memory, &workloads));
        writes.extend(following.tell(&mut self.memory, &workloads));
        writes
    }
}

fn burstable() -> Value {
    json!({"requests": {"cpu": "300m", "memory": "200Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

fn begun(writes: &[Write]) -> Vec<(String, String)> {
    let resizes = writes
        .iter()
        .filter(|write| write.purpose == Purpose::Resize);
    let text = |write: &Write| match &write.operation {
        WriteOperation::Conditional(patch) => serde_json::to_string(&patch.to_patch()).unwrap(),
        other => format!("{other:?}"),
    };
    resizes
        .map(|write| (write.target.to_string(), text(write)))
        .collect()
}

fn status(writes: &[Write]) -> String {
    let told = writes
        .iter()
        .filter(|write| write.target.is(Kind::Deployment));
    let told: Vec<String> = told.map(|write| format!("{:?}", write.operation)).collect();
    told.concat()
}

const RISING: [u64; 5] = [400, 440, 480, 520, 560];

#[test]
fn a_pod_is_resized_in_mode_on_and_told_of_in_the_other() {
    for (mode, resized, told) in [("on", 1, true), ("recommend", 0, true), ("off", 0, false)] {
        let mut world = World::new(&json!({"evenkeel.dev/tuning": mode}));
        world.pod("p", &json!({}), &burstable());
        world.samples("p", RISING, 300);
        let writes = world.look(310);
        let begun = begun(&writes);
        assert_eq!(begun.len(), resized, "{mode}: {writes:?}");
        if let Some((target, patch)) = begun.first() {
            assert_eq!(target, "pods shop/p");
            // 480 times 1.2 is below the highest sample and 5 % of it.
            assert!(patch.contains(r#"\"cpu\":\"588m\""#), "{patch}");
            assert!(patch.contains(&RESIZED.replace('/', "~1")), "{patch}");
        }
        let status = status(&writes);
        assert_eq!(status.contains("588m"), told, "{mode}: {status}");
        let annotation = TUNING_STATUS.replace('/', "~1");
        assert_eq!(status.contains(&annotation), told, "{status}");
    }
}

#[test]
fn without_the_right_to_resize_mode_on_only_tells() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    world.settings.resizes = false;
    world.pod("p", &json!({}), &burstable());
    world.samples("p", RISING, 300);
    let writes = world.look(310);
    assert!(begun(&writes).is_empty());
    assert!(status(&writes).contains("recommend"), "{}", status(&writes));
}

#[test]
fn nothing_is_decided_on_fewer_than_five_samples_or_on_old_ones() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    world.pod("p", &json!({}), &burstable());
    assert!(world.look(310).is_empty());
    world.samples("p", RISING, 300);
    assert!(world.look(490).is_empty());
}

#[test]
fn a_workload_that_was_just_scaled_is_left_alone() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    world.pod("p", &json!({}), &burstable());
    world.look(0);
    world.deployment(&json!({"evenkeel.dev/tuning": "on"}), 2);
    world.samples("p", RISING, 100);
    let writes = world.look(110);
    assert!(begun(&writes).is_empty());
    assert!(
        status(&writes).contains("scaled recently"),
        "{}",
        status(&writes)
    );
    world.samples("p", RISING, 700);
    assert_eq!(begun(&world.look(710)).len(), 1);
}

#[test]
fn a_forecast_that_calls_for_replicas_comes_first() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    world.pod("p", &json!({}), &burstable());
    world.samples("p", RISING, 300);
    let mut called = crate::api::scaling::sample::status();
    called.namespace = "shop".into();
    called.workload = evenkeel_scaling::status::dashboard::ObjectName {
        kind: "Deployment".into(),
        name: "web".into(),
    };
    (called.mode, called.current, called.decided) = ("floor".into(), Some(1), Some(3));
    world.targets = vec![called.clone().into()];
    assert!(begun(&world.look(310)).is_empty());
    called.decided = Some(1);
    world.targets = vec![called.into()];
    assert_eq!(begun(&world.look(311)).len(), 1);
}

#[test]
fn the_headroom_of_a_node_is_given_away_once() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    // Less than 80 % of four cores, of which the two requests are counted: 199m are left.
    let large = json!({"requests": {"cpu": "1500m"}, "limits": {"cpu": "1500m"}});
    for pod in ["p", "q"] {
        world.pod(pod, &json!({}), &large);
    }
    for pod in ["p", "q"] {
        world.samples(pod, [1200, 1250, 1300, 1350, 1400], 300);
    }
    let begun = begun(&world.look(310));
    // A grant to the first Pod is not available to the second.
    for ((target, patch), (pod, limit)) in begun.iter().zip([("p", "1560m"), ("q", "1539m")]) {
        assert_eq!(*target, format!("pods shop/{pod}"));
        let limit = format!(r#"\"cpu\":\"{limit}\""#);
        assert!(patch.contains(&limit), "{patch}");
    }
    assert_eq!(begun.len(), 2);
}

#[test]
fn a_status_is_written_once_an_interval_and_again_until_it_stands() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "recommend"}));
    world.pod("p", &json!({}), &burstable());
    world.samples("p", RISING, 300);
    assert!(!status(&world.look(310)).is_empty());
    let falling = RISING.map(|cpu| 1000 - cpu);
    world.samples("p", falling, 660);
    assert!(
        status(&world.look(670)).is_empty(),
        "the turn of another node"
    );
    world.samples("p", falling, 960);
    let told = world.look(970);
    assert!(status(&told).contains("falls"), "{}", status(&told));
    // The write is lost on its way.
    world.samples("p", falling, 1560);
    assert_eq!(status(&world.look(1580)), status(&told));
}

#[test]
fn a_workload_whose_pods_another_autoscaler_changes_is_left_to_it() {
    for (mode, resized) in [("InPlaceOrRecreate", 0), ("Off", 1)] {
        let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
        let vertical = json!({"metadata": {"name": "vpa", "namespace": "shop"}, "spec": {
            "targetRef": {"kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": mode}}});
        let vertical = serde_json::from_value(vertical).unwrap();
        world.limits = Arc::new(ResizeLimits::with_vertical(&vertical));
        world.pod("p", &json!({}), &burstable());
        world.samples("p", RISING, 300);
        let writes = world.look(310);
        assert_eq!(begun(&writes).len(), resized, "{mode}");
        let is_told = status(&writes).contains("the VerticalPodAutoscaler vpa changes its Pods");
        assert_eq!(is_told, resized == 0, "{}", status(&writes));
    }
}

#[test]
fn a_pod_that_is_held_at_what_it_was_left_comes_before_those_that_use_most() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    let of = |cpu: &str| {
        let amounts = json!({"cpu": cpu, "memory": "200Mi"});
        json!({"requests": amounts, "limits": amounts})
    };
    let record = json!({"by": "tuning", "original": {"app": of("200m")}, "from": {"app": of("40m")},
        "to": {"app": of("20m")}, "at": "2026-01-01T00:00:00Z"});
    let marked = json!({"evenkeel.dev/resized": record.to_string()});
    world.pod("small", &marked, &of("20m"));
    world.samples("small", [20; 5], 300);
    for number in 0..10 {
        let name = format!("large-{number}");
        world.pod(&name, &json!({}), &of("250m"));
        world.samples(&name, [110, 115, 120, 125, 130], 300);
    }
    let begun = begun(&world.look(310));
    let small = begun.iter().find(|(pod, _)| pod == "pods shop/small");
    let (_, patch) = small.expect("it gets back what it was made with");
    assert!(
        patch.contains(r#"\"to\":{\"app\":{\"limits\":{\"cpu\":\"200m\""#),
        "{patch}"
    );
    assert_eq!(begun[0].0, "pods shop/small");
}

#[test]
fn pods_that_are_only_told_of_take_no_turn_of_those_that_are_resized() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    world.pod("p", &json!({}), &burstable());
    world.samples("p", RISING, 300);
    world.other("told", &json!({"evenkeel.dev/tuning": "recommend"}));
    for number in 0..10 {
        let name = format!("told-{number}");
        world.pod_of("told-set", &name, &json!({}), &burstable());
        world.samples(&name, [500, 520, 540, 560, 590], 300);
    }
    assert_eq!(begun(&world.look(310)).len(), 1);
}

#[test]
fn a_namespace_that_opts_out_gets_its_pods_back() {
    let mut world = World::new(&json!({"evenkeel.dev/tuning": "on"}));
    let record = json!({"by": "tuning",
        "original": {"app": burstable()}, "from": {"app": burstable()},
        "to": {"app": {"requests": {"cpu": "300m", "memory": "200Mi"},
            "limits": {"cpu": "800m", "memory": "400Mi"}}},
        "at": "2026-01-01T00:00:00Z"});
    let mut resized = burstable();
    resized["limits"]["cpu"] = json!("800m");
    world.pod(
        "p",
        &json!({"evenkeel.dev/resized": record.to_string()}),
        &resized,
    );
    assert!(begun(&world.look(0)).is_empty(), "it has what was decided");
    world.namespace(false);
    let begun = begun(&world.look(15));
    let [(target, patch)] = &begun[..] else {
        panic!("{begun:?}")
    };
    assert_eq!(target, "pods/resize shop/p");
    assert!(patch.contains("600m"), "{patch}");
    let following = ResizeTracker {
        cluster: world.cluster.clone(),
        settings: world.settings,
        rules: ResizeRules {
            may_restart: false,
            may_lower_memory_limits: true,
        },
        reporter: String::new(),
        metrics: TuningMetrics::default(),
        now: at(30),
    };
    let restored = following.restored(&[]);
    assert_eq!((restored.writes.len(), restored.left), (1, 0));
    assert_eq!(restored.writes[0].purpose, Purpose::Restore);
}
