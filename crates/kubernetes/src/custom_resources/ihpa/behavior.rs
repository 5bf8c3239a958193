//! The steps of changes in the schema of an IntelligentHorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::custom_resources::replica_profile::behavior as profile_behavior;
use crate::custom_resources::schema::{flag, object, ruled};

const ONE_SIZE: (&str, &str) = (
    "has(self.changePercent) != has(self.changeCount)",
    "a step has either changePercent or changeCount",
);

pub(super) fn behavior() -> Value {
    object(
        "How changes are made; at once unless said.",
        &[],
        json!({
            "scaleUp": way(
                "Scaling out. Pods that wait without traffic are taken first, then new ones.",
                &["Online"],
                "What becomes of Pods in the steps: Online.",
            ),
            "scaleDown": way(
                "Scaling in.",
                &["Cutoff", "Standby", "Deleted"],
                "What becomes of Pods in the steps: Cutoff takes them out of traffic, Standby lowers their resources as \
                 well, and either way they are deleted once all steps are made and observed; Deleted deletes \
                 them in each step.",
            ),
            "replicaProfile": profile_behavior(),
        }),
    )
}

fn way(description: &str, states: &[&str], of_state: &str) -> Value {
    let seconds = |description: &str, least: i64| {
        json!({"type": "integer", "format": "int64", "minimum": least, "maximum": 86400,
            "description": description})
    };
    let strategy = object(
        "The steps. The first is made at once.",
        &["grayState", "changeIntervalSeconds"],
        json!({
            "grayState": {"type": "string", "enum": states, "description": of_state},
            "changePercent": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100,
                "description": "The size of a step, in percent of the whole change; one Pod at least."},
            "changeCount": {"type": "integer", "format": "int32", "minimum": 1,
                "description": "The size of a step, in Pods."},
            "changeIntervalSeconds": seconds("The time from one step to the next.", 1),
            "observationSeconds": seconds(
                "The time after the last step for which Pods that wait are kept and stability checks may still hold \
                 the change or roll it back; 0 unless said.",
                0,
            ),
        }),
    );
    object(
        description,
        &[],
        json!({
            "disabled": flag("True makes no change in this direction."),
            "grayStrategy": ruled(strategy, &[ONE_SIZE]),
        }),
    )
}
