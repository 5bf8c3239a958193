//! The schema of ReplicaProfile, its rules, and its columns in `kubectl get`.

use serde_json::{Value, json};

use super::columns::{self, PrinterColumn};
use super::schema::{conditions, flag, object, replicas, ruled, text, written};
use crate::replica_profile::{LONGEST_DRAIN, READINESS_GATE, WORKLOAD_DEFAULT};
use evenkeel_core::scaling::replica_profile::Direction;

const RULES_OF_SPEC: [(&str, &str); 1] = [(
    "(has(self.onlineReplicas) ? self.onlineReplicas : 0) \
     + (has(self.cutoffReplicas) ? self.cutoffReplicas : 0) \
     + (has(self.standbyReplicas) ? self.standbyReplicas : 0) <= 2147483647",
    "the sum of onlineReplicas, cutoffReplicas and standbyReplicas is the replicas of the \
     workload, at most 2147483647",
)];

const RULES_OF_REFERENCE: [(&str, &str); 2] = [
    (
        "self.kind in ['Deployment', 'StatefulSet', 'ReplicaSet']",
        "a ReplicaProfile needs a Deployment, a StatefulSet or a ReplicaSet",
    ),
    (
        "!has(self.apiVersion) || self.apiVersion.startsWith('apps/')",
        "Deployments, StatefulSets and ReplicaSets have the apiVersion apps/v1",
    ),
];

/// The columns that are always shown.
const SHOWN: [PrinterColumn; 7] = [
    PrinterColumn {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of the workload.",
    },
    PrinterColumn {
        name: "Online",
        kind: "integer",
        path: ".status.onlineReplicas",
        description: "The Pods that take traffic once they are ready.",
    },
    PrinterColumn {
        name: "Ready",
        kind: "integer",
        path: ".status.readyReplicas",
        description: "The Pods that take traffic.",
    },
    PrinterColumn {
        name: "Cutoff",
        kind: "integer",
        path: ".status.cutoffReplicas",
        description: "The Pods that run and take no traffic.",
    },
    PrinterColumn {
        name: "Standby",
        kind: "integer",
        path: ".status.standbyReplicas",
        description: "The Pods that take no traffic and have less resources than they request.",
    },
    PrinterColumn {
        name: "Ensured",
        kind: "string",
        path: ".status.conditions[?(@.type==\"Ensured\")].status",
        description: "Whether the Pods are as requested.",
    },
    PrinterColumn {
        name: "Age",
        kind: "date",
        path: ".metadata.creationTimestamp",
        description: "The age of the object.",
    },
];

/// Those that `-o wide` shows as well.
const WIDE: [PrinterColumn; 2] = [
    PrinterColumn {
        name: "Kind",
        kind: "string",
        path: ".spec.scaleTargetRef.kind",
        description: "The kind of the workload.",
    },
    PrinterColumn {
        name: "Reason",
        kind: "string",
        path: ".status.conditions[?(@.type==\"Ensured\")].reason",
        description: "Why the Pods are as requested, or why not.",
    },
];

/// The columns of `kubectl get rp`.
pub(super) fn columns() -> Value {
    columns::columns(&SHOWN, &WIDE)
}

/// The schema of the whole object.
pub(super) fn schema() -> Value {
    object(
        "ReplicaProfile sets how many Pods of a workload take traffic, how many run without \
         traffic, and how many are on standby with less resources. The sum is the replicas of the \
         workload. Pods that are cut off can take traffic again within a second or two. A Pod is \
         deleted only after it has been out of traffic for drainSeconds. If the ReplicaProfile is \
         deleted, every Pod takes traffic.",
        &["spec"],
        json!({
            "apiVersion": written("The version of the schema of this object."),
            "kind": written("The kind of this object."),
            // The API server knows it, and takes no other word on it.
            "metadata": {"type": "object"},
            "spec": spec(),
            "status": status(),
        }),
    )
}

fn spec() -> Value {
    let mut direction = text(
        "The directions in which onlineReplicas may change the workload. Default: Both. If a \
         change is not allowed, the Pods and the replicas of the workload stay as they are.",
        16,
    );
    direction["enum"] = Direction::ALL.map(Direction::as_str).to_vec().into();
    let properties = json!({
        "scaleTargetRef": reference(),
        "onlineReplicas": replicas("The Pods that take traffic. Default: 0."),
        "cutoffReplicas": replicas(
            "The Pods that run and take no traffic: the readiness gate evenkeel.dev/online keeps \
             them from being Ready. Default: 0. Together with standbyReplicas, they are limited by \
             maxUnavailable of the workload and its PodDisruptionBudgets.",
        ),
        "standbyReplicas": replicas(
            "The Pods that take no traffic and whose resources are lowered in place meanwhile. \
             Default: 0.",
        ),
        "paused": flag("True leaves Pods and replicas as they are."),
        "allowedScalingDirection": direction,
        "behavior": behavior(),
    });
    let spec = object(
        "The workload, and the number of its Pods in each state.",
        &["scaleTargetRef"],
        properties,
    );
    ruled(spec, &RULES_OF_SPEC)
}

fn reference() -> Value {
    let properties = json!({
        "apiVersion": text("Group and version. Default: apps/v1.", 128),
        "kind": text("Deployment, StatefulSet or ReplicaSet.", 64),
        "name": text("The name of the workload, in the namespace of the ReplicaProfile.", 253),
    });
    let description =
        "The workload. Nothing else may scale it, neither a HorizontalPodAutoscaler nor a CronHPA.";
    ruled(
        object(description, &["kind", "name"], properties),
        &RULES_OF_REFERENCE,
    )
}

/// How Pods are chosen and taken out of traffic, here and in an IntelligentHorizontalPodAutoscaler.
pub(super) fn behavior() -> Value {
    let only = |description: &str, accepted: &str| {
        let mut kind = text(description, 64);
        kind["enum"] = json!([accepted]);
        kind
    };
    let sorter = object(
        "The order in which Pods are taken out of traffic.",
        &[],
        json!({"type": only(
            "WorkloadDefault: as the controller of the workload would delete them.", WORKLOAD_DEFAULT)}),
    );
    let traffic = object(
        "How Pods are taken out of traffic.",
        &[],
        json!({"type": only(
            "ReadinessGate: by the gate evenkeel.dev/online of new Pods.", READINESS_GATE)}),
    );
    object(
        "How Pods are chosen and taken out of traffic.",
        &[],
        json!({
            "podSorter": sorter,
            "podTrafficController": traffic,
            "drainSeconds": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "maximum": LONGEST_DRAIN,
                "description": "The seconds for which a Pod takes no traffic before it is deleted. \
                     Default: 30.",
            },
        }),
    )
}

fn status() -> Value {
    let properties = json!({
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "The generation of the spec that the status describes.",
        },
        "onlineReplicas": replicas("The Pods that take traffic once they are ready."),
        "readyReplicas": replicas("The ready Pods among them."),
        "cutoffReplicas": replicas("The Pods that run and take no traffic."),
        "standbyReplicas": replicas("The Pods that take no traffic and have less resources than they request."),
        "conditions": conditions(),
    });
    object(
        "The Pods in each state, and whether they are as requested. Written by Evenkeel.",
        &[],
        properties,
    )
}
