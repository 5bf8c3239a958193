//! The status in the schema of an IntelligentHorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::custom_resources::schema::{conditions, list, object, replicas, time, written};
use crate::ihpa::{MOST_CHECKERS, MOST_PROVIDERS};

pub(super) fn status() -> Value {
    object(
        "What is asked for, where a change stands, and why. Written by Evenkeel.",
        &[],
        json!({
            "observedGeneration": number("The generation of the spec that the status tells of."),
            "currentReplicas": replicas("The replicas that the workload has."),
            "desired": counts("The replicas in each state that are asked for by now."),
            "previousPortraitValue": value("The value that held before."),
            "currentPortraitValue": value("The value that holds; absent where nobody has one."),
            "portraits": list("What each provider comes to.", MOST_PROVIDERS, portrait()),
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
            "onlineReplicas": replicas("Those that take traffic."),
            "cutoffReplicas": replicas("Those that run without traffic."),
            "standbyReplicas": replicas("Those that stand by with less resources."),
        }),
    )
}

fn value(description: &str) -> Value {
    object(
        description,
        &["provider", "replicas"],
        json!({
            "provider": written("The provider that asks for it."),
            "replicas": replicas("The replicas that are to be online."),
            "expireTime": time("Until when it is known to stand."),
        }),
    )
}

fn portrait() -> Value {
    object(
        "What one provider comes to.",
        &["provider", "priority", "outcome"],
        json!({
            "provider": written("The provider."),
            "priority": number("Its priority."),
            "outcome": written(
                "Value; Absent, where it asks for nothing at present; Expired, where nobody has renewed it; or Failed.",
            ),
            "replicas": replicas("The replicas that it asks for."),
            "expireTime": time("Until when the outcome is known to stand."),
            "reason": written("The reason in one word, where it failed."),
            "message": written("The reason in words."),
            "since": time("Since when the outcome is what it is."),
        }),
    )
}

fn gray() -> Value {
    object(
        "The staged change that is under way, or was until a moment ago.",
        &["grayPercent"],
        json!({
            "grayPercent": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100,
                "description": "How far it has come."},
            "lastUpdateTime": time("When the last step was made, or had come about where that took longer."),
            "oppositeUpdateTime": time("When that of the last change in the other direction was."),
            "progress": written("Made, Pending, Limited or Finished, as its last step is."),
            "from": counts("The replicas in each state at its begin."),
            "toReplicas": replicas("The replicas that are to be online in the end."),
            "onlineReplicas": replicas("Those that are to be online by now."),
            "phase": written("Stepping, Observing, Waiting, Paused, RolledBack or, once done, Settled."),
            "nextTime": time("When it moves again by itself."),
        }),
    )
}

fn stability() -> Value {
    let hold = object(
        "The checks that hold a change, and since when.",
        &["action", "direction", "since"],
        json!({
            "action": written("Pause or Rollback."),
            "direction": written("The direction of the change, up or down: one in the other is free."),
            "since": time("Since when it is held."),
            "checkers": list("The checks that failed last.", MOST_CHECKERS, json!({"type": "string"})),
            "coolDownSeconds": number("How long all checks have to pass before it goes on."),
            "passesSince": time("Since when they do."),
        }),
    );
    let checker = object(
        "What one check says.",
        &["name", "verdict"],
        json!({
            "name": written("The check."),
            "verdict": written("Pass, Fail, or Unknown where its data are missing or too old."),
            "message": written("The reason in words."),
            "since": time("Since when the verdict is what it is."),
        }),
    );
    object(
        "What the stability checks say.",
        &[],
        json!({
            "holds": list("What is held, of each direction one at most.", 2, hold),
            "checkers": list("What each check says.", MOST_CHECKERS, checker),
        }),
    )
}
