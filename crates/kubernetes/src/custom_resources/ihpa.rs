//! The schema of IntelligentHorizontalPodAutoscaler and its rules.

mod behavior;
mod checkers;
mod columns;
mod status;

use serde_json::{Value, json};

use super::portrait::{self, constant, cron};
use super::reference::workload;
use super::schema::{flag, list, object, replicas, ruled, written};
use crate::ihpa::MOST_PROVIDERS;

pub(super) use self::columns::columns;

const RULES_OF_SPEC: [(&str, &str); 2] = [
    (
        "self.minReplicas <= self.maxReplicas",
        "minReplicas must be at most maxReplicas",
    ),
    (
        "self.portraitProviders.all(a, !has(a.dynamic) || self.portraitProviders.exists_one(b, \
         has(b.dynamic) && b.dynamic.portraitType.lowerAscii() == a.dynamic.portraitType.lowerAscii()))",
        "each dynamic provider needs a unique portraitType",
    ),
];

const RULES_OF_PROVIDER: [(&str, &str); 3] = [
    (
        "self.type == 'Static' ? has(self.static) && !has(self.cron) && !has(self.dynamic) : true",
        "type Static goes with static alone",
    ),
    (
        "self.type == 'Cron' ? has(self.cron) && !has(self.static) && !has(self.dynamic) : true",
        "type Cron goes with cron alone",
    ),
    (
        "self.type == 'Dynamic' ? has(self.dynamic) && !has(self.static) && !has(self.cron) : true",
        "type Dynamic goes with dynamic alone",
    ),
];

/// The schema of the whole object.
pub(super) fn schema() -> Value {
    object(
        "IntelligentHorizontalPodAutoscaler scales a workload by portraits: replica counts from \
         several providers, by the calendar, by the present load, by a forecast, or by a job of \
         your own. Of the providers that have a value, the highest priority applies; with equal \
         priority, the larger value. Changes can be made in steps, with Pods that wait without \
         traffic before they are deleted, and with stability checks between the steps.",
        &["spec"],
        json!({
            "apiVersion": written("The version of the schema of this object."),
            "kind": written("The kind of this object."),
            // The API server knows it, and takes no other word on it.
            "metadata": {"type": "object"},
            "spec": spec(),
            "status": status::status(),
        }),
    )
}

fn spec() -> Value {
    let mut most = replicas("The maximum of online replicas.");
    most["minimum"] = json!(1);
    let mut providers = list(
        "The sources of replica counts. If one fails or expires, the others still count.",
        MOST_PROVIDERS,
        provider(),
    );
    providers["minItems"] = json!(1);
    let spec = object(
        "The workload, the providers of its replicas, and how changes are made.",
        &[
            "scaleTargetRef",
            "minReplicas",
            "maxReplicas",
            "portraitProviders",
        ],
        json!({
            "scaleTargetRef": workload("The workload. Nothing else may scale it."),
            "paused": flag("True leaves the workload as it is."),
            "minReplicas": replicas("The minimum of online replicas."),
            "maxReplicas": most,
            "scaleMode": {
                "type": "string", "enum": ["Auto", "Preview"], "default": "Auto",
                "description": "Preview computes everything and shows it in the status, and changes nothing.",
            },
            "portraitProviders": providers,
            "behavior": behavior::behavior(),
            "stabilityCheckers": checkers::checkers(),
        }),
    );
    ruled(spec, &RULES_OF_SPEC)
}

fn provider() -> Value {
    let dynamic = object(
        "A portrait that is updated all the time.",
        &portrait::REQUIRED,
        portrait::properties(),
    );
    let provider = object(
        "One provider of portraits.",
        &["type", "priority"],
        json!({
            "type": {"type": "string", "enum": ["Static", "Cron", "Dynamic"],
                "description": "Which of the fields applies."},
            "priority": {"type": "integer", "format": "int32",
                "description": "Of the providers that have a value, the highest priority applies; \
                     with equal priority, the larger value."},
            "static": constant(),
            "cron": cron(),
            "dynamic": ruled(dynamic, &portrait::RULES),
        }),
    );
    ruled(provider, &RULES_OF_PROVIDER)
}
