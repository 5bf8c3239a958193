//! HorizontalPodAutoscalers in autoscaling/v1: one CPU target, everything else in annotations, so
//! that nothing is lost in the old version.

use serde_json::{Value, json};

use crate::meta;
use crate::resources::resource::Conversion;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const TARGET: &str = "targetCPUUtilizationPercentage";

/// Between v1 and the stored v2.
pub(crate) const CONVERSION: Conversion = Conversion {
    renamed: &[],
    to_storage,
    from_storage,
};

fn cpu_target(metric: &Value) -> Option<i64> {
    let is_cpu = metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    let percent = meta::number(metric, "/resource/target/averageUtilization");
    percent.filter(|_| is_cpu)
}

fn from_storage(mut hpa: Value) -> Value {
    hpa["apiVersion"] = "autoscaling/v1".into();
    let mut kept = Vec::new();
    let spec = meta::child(&mut hpa, "spec");
    let metrics = meta::remove(spec, "metrics").unwrap_or_default();
    for metric in metrics.as_array().into_iter().flatten() {
        match cpu_target(metric) {
            Some(percent) if spec[TARGET].is_null() => spec[TARGET] = percent.into(),
            _ => kept.push(metric.clone()),
        }
    }
    if spec[TARGET].is_null() {
        meta::remove(spec, TARGET);
    }
    let behavior = meta::remove(spec, "behavior");
    let status = meta::child(&mut hpa, "status");
    let current = meta::remove(status, "currentMetrics").filter(|value| !value.is_null());
    let conditions = meta::remove(status, "conditions");
    let mut used = current.iter().flat_map(|list| meta::list(list, ""));
    let percent = used.find_map(|m| meta::number(m, "/resource/current/averageUtilization"));
    meta::put(
        status,
        "currentCPUUtilizationPercentage",
        percent.map(Value::from),
    );
    let kept = (!kept.is_empty()).then_some(Value::Array(kept));
    let notes = [
        (METRICS, kept),
        (BEHAVIOR, behavior),
        (CURRENT, current),
        (CONDITIONS, conditions),
    ];
    for (key, value) in notes
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    {
        let annotations = meta::child(meta::child(&mut hpa, "metadata"), "annotations");
        annotations[key] = value.to_string().into();
    }
    hpa
}

fn to_storage(mut hpa: Value) -> Value {
    hpa["apiVersion"] = "autoscaling/v2".into();
    let mut note = |key: &str| -> Option<Value> {
        let annotations = hpa.pointer_mut("/metadata/annotations")?;
        let text = meta::remove(annotations, key)?;
        serde_json::from_str(text.as_str()?).ok()
    };
    let [kept, behavior, current, conditions] =
        [METRICS, BEHAVIOR, CURRENT, CONDITIONS].map(&mut note);
    let spec = meta::child(&mut hpa, "spec");
    let mut metrics = Vec::new();
    if let Some(percent) = meta::remove(spec, TARGET).filter(|value| !value.is_null()) {
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": percent}}}));
    }
    metrics.extend(kept.iter().flat_map(|kept| meta::list(kept, "")).cloned());
    let some = !metrics.is_empty();
    meta::put(spec, "metrics", some.then_some(Value::Array(metrics)));
    meta::put(spec, "behavior", behavior);
    let status = meta::child(&mut hpa, "status");
    meta::remove(status, "currentCPUUtilizationPercentage");
    meta::put(status, "currentMetrics", current);
    meta::put(status, "conditions", conditions);
    hpa
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way_through_v1() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}});
        let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rps"}}});
        let hpa = json!({
            "apiVersion": "autoscaling/v2", "metadata": {"name": "a", "annotations": {"own": "x"}},
            "spec": {"maxReplicas": 3, "metrics": [cpu, pods], "behavior": {"scaleUp": {}}},
            "status": {"conditions": [{"type": "AbleToScale"}], "desiredReplicas": 0},
        });
        let old = from_storage(hpa.clone());
        assert_eq!(old["spec"][TARGET], 50);
        assert!(old["spec"].get("metrics").is_none());
        assert_eq!(to_storage(old), hpa);
    }
}
