//! The columns of CronHPAs in `kubectl get`.

use serde_json::Value;

use crate::custom_resources::columns::{self, PrinterColumn};

/// The columns that are always shown.
const SHOWN: [PrinterColumn; 7] = [
    PrinterColumn {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of what is scaled.",
    },
    PrinterColumn {
        name: "Ready",
        kind: "string",
        path: ".status.conditions[?(@.type==\"Ready\")].status",
        description: "Whether the crons are in effect.",
    },
    PrinterColumn {
        name: "Min",
        kind: "integer",
        path: ".status.active.minReplicas",
        description: "The requested minimum of replicas, or the requested replicas.",
    },
    PrinterColumn {
        name: "Last",
        kind: "string",
        path: ".status.lastRun.cron",
        description: "The cron that ran last.",
    },
    PrinterColumn {
        name: "Next",
        kind: "string",
        path: ".status.nextRuns[0].localTime",
        description: "The next run or window.",
    },
    PrinterColumn {
        name: "Suspended",
        kind: "boolean",
        path: ".spec.suspend",
        description: "Whether all crons are suspended.",
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
        description: "The kind of what is scaled.",
    },
    PrinterColumn {
        name: "Reason",
        kind: "string",
        path: ".status.conditions[?(@.type==\"Ready\")].reason",
        description: "Why the crons are in effect, or why not.",
    },
];

/// The columns of `kubectl get chpa`.
pub(in crate::custom_resources) fn columns() -> Value {
    columns::columns(&SHOWN, &WIDE)
}
