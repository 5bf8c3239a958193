//! Cells of HorizontalPodAutoscalers.

use jiff::Timestamp;
use serde_json::Value;

use crate::meta;

/// More metrics are only counted.
const SHOWN: usize = 2;

pub(super) fn reference(hpa: &Value, _: Timestamp) -> Value {
    let target = &hpa["spec"]["scaleTargetRef"];
    format!(
        "{}/{}",
        meta::text(target, "/kind"),
        meta::text(target, "/name")
    )
    .into()
}

pub(super) fn targets(hpa: &Value, _: Timestamp) -> Value {
    let current = meta::list(hpa, "/status/currentMetrics");
    let metrics = meta::list(hpa, "/spec/metrics");
    let mut texts: Vec<String> = metrics
        .iter()
        .enumerate()
        .take(SHOWN)
        .map(|(index, metric)| target(metric, current.get(index)))
        .collect();
    if metrics.is_empty() {
        return "<none>".into();
    }
    if metrics.len() > SHOWN {
        let more = format!(" + {} more...", metrics.len() - SHOWN);
        if let Some(last) = texts.last_mut() {
            last.push_str(&more);
        }
    }
    texts.join(", ").into()
}

/// The present and the desired value: `cpu: 40%/80%`.
fn target(metric: &Value, current: Option<&Value>) -> String {
    let source = match meta::text(metric, "/type") {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = &metric[source]["target"];
    let is = current.map_or(&Value::Null, |status| &status[source]["current"]);
    let ratio = if let Some(percent) = meta::number(wanted, "/averageUtilization") {
        let is = meta::number(is, "/averageUtilization");
        format!(
            "{}/{percent}%",
            is.map_or("<unknown>".to_owned(), |n| format!("{n}%"))
        )
    } else {
        let field = if wanted["averageValue"].is_null() {
            "value"
        } else {
            "averageValue"
        };
        let unit = if field == "averageValue" && matches!(source, "object" | "external") {
            " (avg)"
        } else {
            ""
        };
        let text = |value: &Value| value[field].as_str().map(str::to_owned);
        let is = text(is).unwrap_or("<unknown>".to_owned());
        format!("{is}/{}{unit}", text(wanted).unwrap_or_default())
    };
    match source {
        "resource" | "containerResource" => {
            format!("{}: {ratio}", meta::text(&metric[source], "/name"))
        }
        _ => ratio,
    }
}

pub(super) fn minimum(hpa: &Value, _: Timestamp) -> Value {
    meta::number(hpa, "/spec/minReplicas")
        .map_or("<unset>".to_owned(), |n| n.to_string())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn targets_show_what_is_and_what_is_wanted() {
        let cpu = json!({"type": "Resource", "resource":
            {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        let pods = json!({"type": "Pods", "pods":
            {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}});
        let hpa = json!({
            "spec": {"metrics": [cpu, pods, pods]},
            "status": {"currentMetrics": [{"resource": {"current": {"averageUtilization": 40}}}]},
        });
        let shown = targets(&hpa, Timestamp::UNIX_EPOCH);
        assert_eq!(shown, "cpu: 40%/80%, <unknown>/10 + 1 more...");
    }
}
