//! References to the workload that is scaled.

use serde_json::{Value, json};

use super::schema::{object, ruled, text};

const RULES: [(&str, &str); 1] = [(
    "!(self.kind in ['HorizontalPodAutoscaler', 'DaemonSet'])",
    "scaleTargetRef must be a workload with the subresource scale, such as a Deployment or a \
     StatefulSet",
)];

/// A reference to a workload.
pub(super) fn workload(description: &str) -> Value {
    let properties = json!({
        "apiVersion": text("Group and version. Default: apps/v1.", 128),
        "kind": text("The kind, for example Deployment.", 64),
        "name": text("The name of the workload, in the namespace of this object.", 253),
    });
    ruled(object(description, &["kind", "name"], properties), &RULES)
}
