//! Random HPAs with their targets and Pods, each decided by its number.

use evenkeel_units::random::RandomSource;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Keeps a deleted Pod.
const FINALIZER: &str = "example.com/keep";

#[derive(Debug, Clone)]
pub(super) struct HpaSituation {
    pub(super) name: String,
    /// Of the target; it may differ from the number of Pods.
    pub(super) replicas: usize,
    pub(super) pods: Vec<SituationPod>,
    min: usize,
    max: usize,
    target: Value,
    behavior: Value,
}

#[derive(Debug, Clone)]
pub(super) struct SituationPod {
    state: PodState,
    /// In millicores.
    pub(super) measured: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PodState {
    Serving,
    Deleted,
    Pending,
    Failed,
    /// Started just now and not ready.
    Starting,
    /// Started just now and ready.
    New,
    /// Unready since shortly after its start, an hour ago.
    NeverReady,
}

const STATES: [PodState; 12] = [
    PodState::Serving,
    PodState::Serving,
    PodState::Serving,
    PodState::Serving,
    PodState::Serving,
    PodState::Serving,
    PodState::Deleted,
    PodState::Pending,
    PodState::Failed,
    PodState::Starting,
    PodState::New,
    PodState::NeverReady,
];

impl HpaSituation {
    pub(super) fn new(number: usize) -> Self {
        let name = format!("s{number:02}");
        let random = RandomSource::new(1).stream(&name);
        let count = 1 + random.below(0, 6);
        let load = random.stream("load").unit(0) * 1500.0;
        let min = 1 + random.below(3, 3);
        Self {
            replicas: (count + random.below(1, 3)).saturating_sub(random.below(2, 2)),
            pods: (0..count).map(|index| pod(random, index, load)).collect(),
            min,
            max: min + 2 + random.below(4, 12),
            target: match random.below(5, 3) {
                0 => json!({"type": "AverageValue", "averageValue":
                    format!("{}m", 100 + random.below(6, 900))}),
                _ => {
                    json!({"type": "Utilization", "averageUtilization": 20 + random.below(7, 100)})
                }
            },
            behavior: behavior(random),
            name,
        }
    }

    pub(super) fn pod_name(&self, index: usize) -> String {
        format!("{}-{index}", self.name)
    }

    pub(super) fn hpa(&self) -> Value {
        let mut hpa = json!({"metadata": {"name": self.name}, "spec": {
            "scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController",
                "name": self.name},
            "minReplicas": self.min, "maxReplicas": self.max,
            "metrics": [{"type": "Resource",
                "resource": {"name": "cpu", "target": self.target}}]}});
        if !self.behavior.is_null() {
            hpa["spec"]["behavior"] = self.behavior.clone();
        }
        hpa
    }

    /// Without its controller, it makes no Pods.
    pub(super) fn target(&self) -> Value {
        json!({"metadata": {"name": self.name}, "spec": {"replicas": self.replicas,
            "selector": {"app": self.name}, "template": {
                "metadata": {"labels": {"app": self.name}},
                "spec": {"containers": [{"name": "app", "image": "none"}]}}}})
    }

    pub(super) fn pod(&self, index: usize) -> Value {
        let keep = if self.pods[index].is_deleted() {
            json!([FINALIZER])
        } else {
            json!([])
        };
        json!({"metadata": {"name": self.pod_name(index), "labels": {"app": self.name},
            "finalizers": keep}, "spec": {"containers": [{"name": "app", "image": "none",
                "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}})
    }
}

fn pod(random: RandomSource, index: usize, load: f64) -> SituationPod {
    let step = u64::try_from(index).expect("few Pods");
    let state = STATES[random.stream("state").below(step, STATES.len())];
    let is_measured = random.stream("measured").below(step, 8) > 0;
    let factor = 0.5 + random.stream("factor").unit(step);
    #[allow(clippy::cast_possible_truncation)] // a few cores
    let milli = (load * factor) as i64;
    SituationPod {
        state,
        measured: is_measured.then_some(milli),
    }
}

fn behavior(random: RandomSource) -> Value {
    let random = random.stream("behavior");
    let policies = |step: u64| {
        json!([{"type": "Pods", "value": 1 + random.below(step, 3), "periodSeconds": 60},
            {"type": "Percent", "value": 20 + random.below(step + 1, 100), "periodSeconds": 60}])
    };
    match random.below(0, 5) {
        0 => json!({}),
        1 => json!({"scaleUp": {"policies": policies(1)},
            "scaleDown": {"stabilizationWindowSeconds": 0, "policies": policies(3)}}),
        2 => json!({"scaleUp": {"stabilizationWindowSeconds": 60, "selectPolicy": "Min"},
            "scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Min",
                "policies": policies(5)}}),
        3 => json!({"scaleUp": {"tolerance": "0.5"},
            "scaleDown": {"tolerance": "0.01", "stabilizationWindowSeconds": 0}}),
        _ => Value::Null,
    }
}

impl SituationPod {
    pub(super) fn is_deleted(&self) -> bool {
        self.state == PodState::Deleted
    }

    pub(super) fn status(&self, now: Timestamp) -> Value {
        let ago = |seconds: i64| format!("{:.0}", now - SignedDuration::from_secs(seconds));
        let (phase, start, ready, since) = match self.state {
            PodState::Serving | PodState::Deleted => ("Running", 3600, "True", 3500),
            PodState::Pending => ("Pending", 60, "False", 60),
            PodState::Failed => ("Failed", 3600, "False", 600),
            PodState::Starting => ("Running", 20, "False", 20),
            PodState::New => ("Running", 20, "True", 19),
            PodState::NeverReady => ("Running", 3600, "False", 3590),
        };
        json!({"status": {"phase": phase, "startTime": ago(start), "conditions": [
            {"type": "Ready", "status": ready, "lastTransitionTime": ago(since)}]}})
    }
}
