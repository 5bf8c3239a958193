//! The schema of HorizontalPortrait, its rules, and its columns in `kubectl get`.

use serde_json::{Value, json};

use super::columns::{self, PrinterColumn};
use super::portrait::{self, data};
use super::reference::workload;
use super::schema::{conditions, object, ruled, written};

/// The columns that are always shown.
const SHOWN: [PrinterColumn; 5] = [
    PrinterColumn {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of the workload.",
    },
    PrinterColumn {
        name: "Type",
        kind: "string",
        path: ".spec.portraitType",
        description: "The type of the portrait.",
    },
    PrinterColumn {
        name: "Generated",
        kind: "string",
        path: ".status.conditions[?(@.type==\"PortraitGenerated\")].status",
        description: "Whether there is a portrait.",
    },
    PrinterColumn {
        name: "Expires",
        kind: "string",
        path: ".status.portraitData.expireTime",
        description: "When it expires.",
    },
    PrinterColumn {
        name: "Age",
        kind: "date",
        path: ".metadata.creationTimestamp",
        description: "The age of the object.",
    },
];

/// Those that `-o wide` shows as well.
const WIDE: [PrinterColumn; 3] = [
    PrinterColumn {
        name: "Algorithm",
        kind: "string",
        path: ".spec.algorithm.type",
        description: "What makes the portrait.",
    },
    PrinterColumn {
        name: "Generator",
        kind: "string",
        path: ".spec.externalGeneratorName",
        description: "The external generator that makes the portrait, if Evenkeel does not.",
    },
    PrinterColumn {
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
        "HorizontalPortrait holds a portrait for an IntelligentHorizontalPodAutoscaler that \
         Evenkeel does not compute itself: how many replicas a workload should have, now and over \
         time. Its name is that of the autoscaler and the type of the portrait, in lower case with \
         a hyphen between them. Its generator writes status.portraitData. The job of an external \
         algorithm writes it to a ConfigMap, and Evenkeel copies it.",
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
    properties["scaleTargetRef"] = workload("The workload of the portrait.");
    let required: Vec<&str> = [&portrait::REQUIRED[..], &["scaleTargetRef"]].concat();
    let spec = object(
        "The workload of the portrait, and how it is made.",
        &required,
        properties,
    );
    ruled(spec, &portrait::RULES)
}

fn status() -> Value {
    object(
        "The value of the portrait.",
        &[],
        json!({
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation of the spec that the status describes.",
            },
            "portraitData": data(),
            "conditions": conditions(),
        }),
    )
}
