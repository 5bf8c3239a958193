//! The steps of changes in the schema of an IntelligentHorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::custom_resources::replica_profile::behavior as profile_behavior;
use crate::custom_resources::schema::{flag, object, ruled};

const ONE_SIZE: (&str, &str) = (
    "has(self.changePercent) != has(self.changeCount)",
    "a step needs either changePercent or changeCount",
);

pub(super) fn behavior() -> Value {
    object(
        "How changes are made. Default: at once.",
        &[],
        json!({
            "scaleUp": way(
                "Scaling out. Pods that wait without traffic are used first, then new Pods.",
                &["Online"],
                "The state of Pods in the steps: Online.",
            ),
            "scaleDown": way(
                "Scaling in.",
                &["Cutoff", "Standby", "Deleted"],
                "The state of Pods in the steps. Cutoff takes them out of traffic; Standby also \
                 lowers their resources. In both cases they are deleted after all steps and the \
                 observation. Deleted deletes them in each step.",
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
        "The steps. The first step takes place at once.",
        &["grayState", "changeIntervalSeconds"],
        json!({
            "grayState": {"type": "string", "enum": states, "description": of_state},
            "changePercent": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100,
                "description": "The size of a step, in percent of the whole change; at least one Pod."},
            "changeCount": {"type": "integer", "format": "int32", "minimum": 1,
                "description": "The size of a step, in Pods."},
            "changeIntervalSeconds": seconds("The time from one step to the next.", 1),
            "observationSeconds": seconds(
                "The time after the last step in which waiting Pods are kept and stability checks \
                 can still pause the change or roll it back. Default: 0.",
                0,
            ),
        }),
    );
    object(
        description,
        &[],
        json!({
            "disabled": flag("True disables changes in this direction."),
            "grayStrategy": ruled(strategy, &[ONE_SIZE]),
        }),
    )
}
