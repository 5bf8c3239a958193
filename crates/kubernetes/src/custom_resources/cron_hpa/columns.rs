//! The columns of CronHPAs in `kubectl get`.

use serde_json::Value;

use crate::custom_resources::columns::{self, Column};

/// The columns that are always shown.
const SHOWN: [Column; 7] = [
    Column {
        name: "Target",
        kind: "string",
        path: ".spec.scaleTargetRef.name",
        description: "The name of what is scaled.",
    },
    Column {
        name: "Ready",
        kind: "string",
        path: ".status.conditions[?(@.type==\"Ready\")].status",
        description: "Whether the crons are in effect.",
    },
    Column {
        name: "Min",
        kind: "integer",
        path: ".status.active.minReplicas",
        description: "The requested minimum of replicas, or the requested replicas.",
    },
    Column {
        name: "Last",
        kind: "string",
        path: ".status.lastRun.cron",
        description: "The cron that ran last.",
    },
    Column {
        name: "Next",
        kind: "string",
        path: ".status.nextRuns[0].localTime",
        description: "The next run or window.",
    },
    Column {
        name: "Suspended",
        kind: "boolean",
        path: ".spec.suspend",
        description: "Whether all crons are suspended.",
    },
    Column {
        name: "Age",
        kind: "date",
        path: ".metadata.creationTimestamp",
        description: "The age of the object.",
    },
];

/// Those that `-o wide` shows as well.
const WIDE: [Column; 2] = [
    Column {
        name: "Kind",
        kind: "string",
        path: ".spec.scaleTargetRef.kind",
        description: "The kind of what is scaled.",
    },
    Column {
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
