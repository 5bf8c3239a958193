//! The status of an HPA: counts, what is measured, and the three conditions.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use serde_json::{Value, json};

use crate::objects::condition_since;

/// What a round came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub(super) current: i32,
    pub(super) desired: i32,
    /// Type, whether it holds, reason and message; those not named stay as they are.
    pub(super) conditions: Vec<Condition>,
    pub(super) metrics: Vec<Value>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) holds: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Report {
    /// Notes a condition, in place of an earlier one of its type.
    pub(super) fn set(&mut self, kind: &'static str, holds: bool, because: (&'static str, String)) {
        let (reason, message) = because;
        self.conditions.retain(|condition| condition.kind != kind);
        self.conditions.push(Condition {
            kind,
            holds,
            reason,
            message,
        });
    }

    /// The status to write; conditions keep the time of their last change.
    pub(super) fn status(&self, hpa: &HorizontalPodAutoscaler, now: &str) -> Value {
        let before = json!(hpa.status);
        let mut conditions: Vec<Value> =
            before["conditions"].as_array().cloned().unwrap_or_default();
        for condition in &self.conditions {
            let Condition {
                kind,
                holds,
                reason,
                message,
            } = condition;
            let holds = if *holds { "True" } else { "False" };
            let new = json!({
                "type": kind, "status": holds, "reason": reason, "message": message,
                "lastTransitionTime": condition_since(&before, kind, holds, now),
            });
            match conditions.iter_mut().find(|is| is["type"] == *kind) {
                Some(is) => *is = new,
                None => conditions.push(new),
            }
        }
        let scaled = self.desired != self.current;
        let last = if scaled {
            json!(now)
        } else {
            before["lastScaleTime"].clone()
        };
        json!({
            "observedGeneration": hpa.metadata.generation,
            "currentReplicas": self.current,
            "desiredReplicas": self.desired,
            "currentMetrics": self.metrics,
            "conditions": conditions,
            "lastScaleTime": last,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_keep_the_time_of_their_last_change() {
        let mut hpa = HorizontalPodAutoscaler::default();
        let mut report = Report {
            current: 2,
            desired: 2,
            ..Report::default()
        };
        report.set("AbleToScale", true, ("SucceededGetScale", "a".to_owned()));
        report.set("AbleToScale", true, ("ReadyForNewScale", "b".to_owned()));
        report.set("ScalingActive", true, ("ValidMetricFound", String::new()));
        let first = report.status(&hpa, "2026-01-01T00:00:00Z");
        assert_eq!(first["conditions"].as_array().map(Vec::len), Some(2));
        hpa.status = serde_json::from_value(first.clone()).unwrap();
        assert_eq!(report.status(&hpa, "2026-01-01T00:00:09Z"), first);
        report.set(
            "ScalingActive",
            false,
            ("FailedGetResourceMetric", String::new()),
        );
        report.desired = 3;
        let second = report.status(&hpa, "2026-01-01T00:00:09Z");
        assert_eq!(second["conditions"][0], first["conditions"][0]);
        let times = [
            &second["conditions"][1]["lastTransitionTime"],
            &second["lastScaleTime"],
        ];
        assert_eq!(times, ["2026-01-01T00:00:09Z", "2026-01-01T00:00:09Z"]);
    }
}
