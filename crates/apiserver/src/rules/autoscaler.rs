//! HorizontalPodAutoscalers.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;

pub(super) fn defaults(hpa: &mut Value) {
    let spec = meta::child(hpa, "spec");
    meta::default(spec, "minReplicas", 1);
    if meta::list(spec, "/metrics").is_empty() {
        spec["metrics"] = json!([{"type": "Resource", "resource":
            {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    }
    if spec["behavior"].is_object() {
        let behavior = &mut spec["behavior"];
        let up = meta::child(behavior, "scaleUp");
        meta::default(up, "stabilizationWindowSeconds", 0);
        let policies = json!([
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]);
        scaling_rules(up, policies);
        let policies = json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]);
        scaling_rules(meta::child(behavior, "scaleDown"), policies);
    }
}

fn scaling_rules(rules: &mut Value, policies: Value) {
    meta::default(rules, "selectPolicy", "Max");
    meta::default(rules, "policies", policies);
}

pub(super) fn validate(hpa: &Value, causes: &mut Vec<Cause>) {
    let spec = &hpa["spec"];
    for field in ["kind", "name"] {
        if meta::text(&spec["scaleTargetRef"], &format!("/{field}")).is_empty() {
            causes.push(Cause::required(format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let most = meta::number(spec, "/maxReplicas").unwrap_or_default();
    let least = meta::number(spec, "/minReplicas").unwrap_or(1);
    if least < 0 {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid("spec.minReplicas", &least.into(), why));
    }
    let needs_no_pods =
        |metric: &Value| matches!(meta::text(metric, "/type"), "Object" | "External");
    if least == 0 && !meta::list(spec, "/metrics").iter().any(needs_no_pods) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        causes.push(Cause::forbidden("spec.metrics", why));
    }
    if most < 1 {
        let why = "must be set and greater than 0";
        causes.push(Cause::required("spec.maxReplicas", why));
    }
    if most < least {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &most.into(), why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kube-apiserver decides since 1.37, with `HPAScaleToZero` on.
    #[test]
    fn a_least_of_zero_needs_a_metric_that_needs_no_pods() {
        for (least, metric, refused) in [
            (1, "Resource", None),
            (0, "External", None),
            (0, "Object", None),
            (0, "Resource", Some("spec.metrics")),
            (0, "Pods", Some("spec.metrics")),
            (-1, "External", Some("spec.minReplicas")),
        ] {
            let hpa = json!({"spec": {"minReplicas": least, "maxReplicas": 3,
                "scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "metrics": [{"type": metric}]}});
            let mut causes = Vec::new();
            validate(&hpa, &mut causes);
            let fields: Vec<_> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, refused.into_iter().collect::<Vec<_>>(), "{hpa}");
        }
    }
}
