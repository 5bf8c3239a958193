//! The schema of HorizontalPortrait, its rules, and its columns in `kubectl get`.

use serde_json::{Value, json};

use super::columns::{self, Column};
use super::portrait::{self, data};
use super::reference::workload;
use super::schema::{conditions, object, ruled, written};

/// The columns that are always shown.
const SHOWN: [Column; 5] = [
    Column {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of the workload.",
    },
    Column {
        name: "Type",
        kind: "string",
        path: ".spec.portraitType",
        description: "The type of the portrait.",
    },
    Column {
        name: "Generated",
        kind: "string",
        path: ".status.conditions[?(@.type==\"PortraitGenerated\")].status",
        description: "Whether there is a portrait.",
    },
    Column {
        name: "Expires",
        kind: "string",
        path: ".status.portraitData.expireTime",
        description: "When it is no longer believed.",
    },
    Column {
        name: "Age",
        kind: "date",
        path: ".metadata.creationTimestamp",
        description: "The age of the object.",
    },
];

/// Those that `-o wide` shows as well.
const WIDE: [Column; 3] = [
    Column {
        name: "Algorithm",
        kind: "string",
        path: ".spec.algorithm.type",
        description: "What makes the portrait.",
    },
    Column {
        name: "Generator",
        kind: "string",
        path: ".spec.externalGeneratorName",
        description: "Who makes the portrait, where Evenkeel does not.",
    },
    Column {
        name: "Reason",
        kind: "string",
        path: ".status.conditions[?(@.type==\"PortraitGenerated\")].reason",
        description: "Why there is a portrait, or why not.",
    },
];

/// The columns of `kubectl get hp`.
pub(super) fn columns() -> Value {
    columns::columns(&SHOWN, &WIDE)
}

/// The schema of the whole object.
pub(super) fn schema() -> Value {
    object(
        "HorizontalPortrait holds the portrait that somebody else than Evenkeel makes for an \
         IntelligentHorizontalPodAutoscaler: how many replicas a workload is to have, now and over time. It is named after \
         the autoscaler and the type of the portrait, in lower case with a hyphen between them. Its maker writes \
         status.portraitData; the job of an external algorithm leaves it in a ConfigMap, and Evenkeel writes it.",
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
    let mut properties = portrait::properties();
    properties["scaleTargetRef"] = workload("The workload that the portrait is of.");
    let required: Vec<&str> = [&portrait::REQUIRED[..], &["scaleTargetRef"]].concat();
    let spec = object(
        "What the portrait is of, and how it is made.",
        &required,
        properties,
    );
    ruled(spec, &portrait::RULES)
}

fn status() -> Value {
    object(
        "What the portrait says.",
        &[],
        json!({
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation of the spec that the status tells of.",
            },
            "portraitData": data(),
            "conditions": conditions(),
        }),
    )
}
