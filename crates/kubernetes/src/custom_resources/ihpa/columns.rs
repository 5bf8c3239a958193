//! The columns of IntelligentHorizontalPodAutoscalers in `kubectl get`.

use serde_json::Value;

use crate::custom_resources::columns::{self, PrinterColumn};

/// The columns that are always shown.
const SHOWN: [PrinterColumn; 8] = [
    PrinterColumn {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of the workload.",
    },
    PrinterColumn {
        name: "Provider",
        kind: "string",
        path: ".status.currentPortraitValue.provider",
        description: "The provider whose value applies.",
    },
    PrinterColumn {
        name: "Wanted",
        kind: "integer",
        path: ".status.currentPortraitValue.replicas",
        description: "The replicas that it asks for.",
    },
    PrinterColumn {
        name: "Online",
        kind: "integer",
        path: ".status.desired.onlineReplicas",
        description: "The replicas that should be online now.",
    },
    PrinterColumn {
        name: "Gray",
        kind: "string",
        path: ".status.gray.phase",
        description: "The phase of the staged change in progress.",
    },
    PrinterColumn {
        name: "Active",
        kind: "string",
        path: ".status.conditions[?(@.type==\"ScalingActive\")].status",
        description: "Whether the workload is scaled.",
    },
    PrinterColumn {
        name: "Mode",
        kind: "string",
        path: ".spec.scaleMode",
        description: "Whether the workload has the computed replicas.",
    },
    PrinterColumn {
        name: "Age",
        kind: "date",
        path: ".metadata.creationTimestamp",
        description: "The age of the object.",
    },
];

/// Those that `-o wide` shows as well.
const WIDE: [PrinterColumn; 6] = [
    PrinterColumn {
        name: "Kind",
        kind: "string",
        path: ".spec.scaleTargetRef.kind",
        description: "The kind of the workload.",
    },
    PrinterColumn {
        name: "Min",
        kind: "integer",
        path: ".spec.minReplicas",
        description: "The minimum of replicas.",
    },
    PrinterColumn {
        name: "Max",
        kind: "integer",
        path: ".spec.maxReplicas",
        description: "The maximum of replicas.",
    },
    PrinterColumn {
        name: "Cutoff",
        kind: "integer",
        path: ".status.desired.cutoffReplicas",
        description: "The replicas that should run without traffic.",
    },
    PrinterColumn {
        name: "Standby",
        kind: "integer",
        path: ".status.desired.standbyReplicas",
        description: "The replicas that should be on standby with less resources.",
    },
    PrinterColumn {
        name: "Reason",
        kind: "string",
        path: ".status.conditions[?(@.type==\"ScalingActive\")].reason",
        description: "Why the workload is scaled, or why not.",
    },
];

/// The columns of `kubectl get ihpa`.
pub(in crate::custom_resources) fn columns() -> Value {
    columns::columns(&SHOWN, &WIDE)
}
