//! The status in the schema of an IntelligentHorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::custom_resources::schema::{conditions, list, object, replicas, time, written};
use crate::ihpa::{MOST_CHECKERS, MOST_PROVIDERS};

pub(super) fn status() -> Value {
    object(
        "The requested replicas, the state of a change, and the reasons. Written by Evenkeel.",
        &[],
        json!({
            "observedGeneration": number("The generation of the spec that the status describes."),
            "currentReplicas": replicas("The replicas that the workload has."),
            "desired": counts("The replicas in each state that are requested now."),
            "previousPortraitValue": value("The value that applied before."),
            "currentPortraitValue": value("The value that applies; absent if no provider has a value."),
            "portraits": list("The result of each provider.", MOST_PROVIDERS, portrait()),
            "gray": gray(),
            "stability": stability(),
            "lastScaleTime": time("When the counts were last changed."),
            "conditions": conditions(),
        }),
    )
}

fn number(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "description": description})
}

fn counts(description: &str) -> Value {
    object(
        description,
        &["onlineReplicas", "cutoffReplicas", "standbyReplicas"],
        json!({
            "onlineReplicas": replicas("Replicas that take traffic."),
            "cutoffReplicas": replicas("Replicas that run without traffic."),
            "standbyReplicas": replicas("Replicas on standby with less resources."),
        }),
    )
}

fn value(description: &str) -> Value {
    object(
        description,
        &["provider", "replicas"],
        json!({
            "provider": written("The provider that asks for it."),
            "replicas": replicas("The replicas that should be online."),
            "expireTime": time("Until when it applies."),
        }),
    )
}

fn portrait() -> Value {
    object(
        "The result of one provider.",
        &["provider", "priority", "outcome"],
        json!({
            "provider": written("The provider."),
            "priority": number("Its priority."),
            "outcome": written(
                "Value; Absent, if it asks for nothing now; Expired, if it was not renewed; or \
                 Failed.",
            ),
            "replicas": replicas("The replicas that it asks for."),
            "expireTime": time("Until when the outcome applies."),
            "reason": written("The reason in one word, if it failed."),
            "message": written("The reason in words."),
            "since": time("Since when the outcome has been the same."),
        }),
    )
}

fn gray() -> Value {
    object(
        "The staged change in progress, or the one that has just ended.",
        &["grayPercent"],
        json!({
            "grayPercent": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100,
                "description": "How far it has come."},
            "lastUpdateTime": time("When the last step took place, or was complete if that took longer."),
            "oppositeUpdateTime": time("The same for the last change in the other direction."),
            "progress": written("The state of the last step: Made, Pending, Limited or Finished."),
            "from": counts("The replicas in each state at its beginning."),
            "toReplicas": replicas("The replicas that should be online at the end."),
            "onlineReplicas": replicas("The replicas that should be online now."),
            "phase": written("Stepping, Observing, Waiting, Paused, RolledBack or, once done, Settled."),
            "nextTime": time("When it continues by itself."),
        }),
    )
}

fn stability() -> Value {
    let hold = object(
        "The checks that pause a change, and since when.",
        &["action", "direction", "since"],
        json!({
            "action": written("Pause or Rollback."),
            "direction": written("The direction of the change, up or down; changes in the other \
                direction are not paused."),
            "since": time("Since when it has been paused."),
            "checkers": list("The checks that failed last.", MOST_CHECKERS, json!({"type": "string"})),
            "coolDownSeconds": number("How long all checks must pass before it continues."),
            "passesSince": time("Since when all checks have passed."),
        }),
    );
    let checker = object(
        "The result of one check.",
        &["name", "verdict"],
        json!({
            "name": written("The check."),
            "verdict": written("Pass, Fail, or Unknown if its data are missing or too old."),
            "message": written("The reason in words."),
            "since": time("Since when the verdict has been the same."),
        }),
    );
    object(
        "The results of the stability checks.",
        &[],
        json!({
            "holds": list("The paused changes, at most one for each direction.", 2, hold),
            "checkers": list("The result of each check.", MOST_CHECKERS, checker),
        }),
    )
}
