//! The book-keeping of the targets between two ticks.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;

use super::isolated::{Step, breaks};
use super::*;
use crate::controller::scaling::Traces;
use evenkeel_core::forecast::Shared;
use evenkeel_core::scaling::Mode;
use evenkeel_kubernetes::annotations::SCALING;
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;
use evenkeel_kubernetes::plan::scaling::{Pods, Settings, TargetRef};
use evenkeel_kubernetes::plan::{Operation, Write};
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::scaling_policy::Predict;
use evenkeel_kubernetes::watched::WatchedDeployment;

fn key(name: &str) -> Key {
    Key {
        namespace: "shop".into(),
        autoscaler: None,
        workload: TargetRef::new("apps/v1", "Deployment", "shop", name),
    }
}

#[test]
fn a_target_that_comes_while_its_namespace_is_filled_is_filled_after() {
    let running = |asked| {
        Box::new(TargetState {
            refill: Some(RefillState::Running),
            asked,
            ..TargetState::default()
        })
    };
    let mut targets = Targets {
        states: HashMap::from([(key("early"), running(3)), (key("late"), running(4))]),
        tick: 5,
    };
    let state = |targets: &Targets| ["early", "late"].map(|name| targets.states[&key(name)].refill);
    targets.filled(&Asked::from([("other".into(), 9), ("shop".into(), 3)]));
    assert_eq!(
        state(&targets),
        [Some(RefillState::Done), Some(RefillState::Running)]
    );
    targets.filled(&Asked::from([("shop".into(), 4)]));
    assert_eq!(state(&targets), [Some(RefillState::Done); 2]);
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A Deployment of one Pod with an HPA of this name, which recommends.
fn observed(name: &str, mode: &str) -> Observed {
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let metric = json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
    let autoscaler = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
                     "annotations": {SCALING: mode}},
        "spec": {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 10,
                 "metrics": [metric]},
        "status": {"currentReplicas": 2, "desiredReplicas": 2},
    });
    let workload: WatchedDeployment = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "shop", "uid": "d", "resourceVersion": "1"},
        "spec": {"replicas": 2},
    }))
    .unwrap();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "one", "namespace": "shop"},
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap();
    let opted_in = [("evenkeel.dev/enabled".to_owned(), "true".to_owned())].into();
    Observed {
        namespace: "shop".into(),
        namespace_policy: Arc::new(NamespacePolicy::parse(&opted_in).0),
        autoscaler: Some(Arc::new(serde_json::from_value(autoscaler).unwrap())),
        scaled_object: None,
        workload: Some(Arc::new(workload.workload)),
        target: TargetRef::new("apps/v1", "Deployment", "shop", name),
        pods: Pods {
            members: vec![Arc::new((&pod).into())],
            start_to_ready: Vec::new(),
        },
    }
}

/// Three targets, of which the one in the middle may break.
struct Three {
    targets: Targets,
    traces: Traces,
    middle: Observed,
}

impl Three {
    fn new() -> Self {
        Self {
            targets: Targets::default(),
            traces: Traces::default(),
            middle: observed("b", "recommend"),
        }
    }

    fn tick(&mut self, at: i64, breaks: &[Step]) -> Ticked {
        let key = Key::of(&self.middle);
        let breaks: Vec<_> = breaks.iter().map(|step| (key.clone(), *step)).collect();
        breaks::set(&breaks);
        let all = [
            observed("a", "recommend"),
            self.middle.clone(),
            observed("c", "recommend"),
        ];
        let tick = Tick {
            now: second(at),
            settings: Settings {
                mode: Mode::Recommend,
                predict: Predict::Auto,
                interval: SignedDuration::from_secs(15),
                max_age: SignedDuration::from_mins(3),
            },
            shared: &Shared::default(),
            sample: None,
            decides: true,
            leads: Some("pod-a"),
            has_past: false,
            traces: &self.traces,
        };
        self.targets.tick(&all, &tick)
    }
}

const WAITS: &str = "no fresh measurement of the load: replicas stays 2";

fn reasons(ticked: &Ticked) -> Vec<&str> {
    let shown = ticked.shown.iter();
    shown.map(|entry| entry.status.reason.as_str()).collect()
}

/// The reasons of the Events that are to be told.
fn events(ticked: &Ticked) -> Vec<String> {
    let reason = |write: &Write| match &write.operation {
        Operation::Create(event) => event["reason"].as_str().map(str::to_owned),
        Operation::Merge(_) => None,
    };
    ticked.writes.iter().filter_map(reason).collect()
}

#[test]
fn a_target_whose_work_panics_rests_and_the_others_go_on() {
    for step in [Step::Begin, Step::Tell] {
        let mut three = Three::new();
        assert_eq!(reasons(&three.tick(0, &[])), [WAITS; 3]);
        let broken = three.tick(15, &[step]);
        let [a, b, c] = reasons(&broken)[..] else {
            panic!("{:?}", reasons(&broken));
        };
        assert_eq!([a, c], [WAITS; 2], "{step:?}");
        let why = format!(
            "a defect of Evenkeel: the work on this target panicked: {step:?} is to break; it rests \
             until 2027-01-15T08:05:15Z, or until its objects change"
        );
        assert_eq!(b, why);
        assert_eq!(events(&broken), ["Quarantined"]);
        assert_eq!(broken.quarantined, 1);
        let rests = three.tick(30, &[]);
        assert_eq!(reasons(&rests), [WAITS, &why, WAITS], "{step:?}");
        assert_eq!(rests.quarantined, 1);
        let later = three.tick(315, &[]);
        assert_eq!(reasons(&later), [WAITS; 3], "{step:?}: its time is over");
        assert_eq!(later.quarantined, 0);
    }
}

#[test]
fn a_target_in_quarantine_is_tried_again_once_its_objects_change() {
    let mut three = Three::new();
    three.tick(0, &[Step::Begin]);
    assert_eq!(three.tick(15, &[]).quarantined, 1);
    three.middle = observed("b", "floor");
    let changed = three.tick(30, &[]);
    assert_eq!(changed.quarantined, 0);
    assert!(
        reasons(&changed)[1].starts_with("no fresh measurement"),
        "{changed:?}"
    );
    let again = three.tick(45, &[Step::Begin]);
    assert!(
        reasons(&again)[1].contains("rests until 2027-01-15T08:10:45Z"),
        "twice as long"
    );
}
