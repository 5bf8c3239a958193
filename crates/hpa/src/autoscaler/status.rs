//! The status of an HPA, from its JSON and back, as the HPA algorithm reads and makes it.

use std::borrow::Cow;

use evenkeel_objects::json::{lenient, lenient_time, list};
use evenkeel_objects::pod;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::signal;
use super::signal::{Metric, MetricValueJson};
use crate::{CurrentValue, HpaCondition, HpaStatus, MetricStatus};

/// The part of a status that says what its controller found and asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaReplicaStatus {
    #[serde(default, deserialize_with = "lenient")]
    current_replicas: Option<i32>,
    #[serde(default, deserialize_with = "lenient")]
    desired_replicas: Option<i32>,
    #[serde(default, deserialize_with = "list")]
    conditions: Vec<pod::PodCondition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaStatusJson {
    #[serde(flatten)]
    reported: HpaReplicaStatus,
    #[serde(default, deserialize_with = "lenient_time")]
    last_scale_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "metrics")]
    current_metrics: Vec<MetricStatus>,
}

/// The `status` of an autoscaler, as far as those that watch it read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "HpaReplicaStatus")]
pub struct AutoscalerStatus {
    pub current_replicas: Option<i32>,
    pub desired_replicas: Option<i32>,
    /// True where it can read its metrics and scales; `None` while it does not say.
    pub scaling_active: Option<bool>,
}

impl From<HpaReplicaStatus> for AutoscalerStatus {
    fn from(reported: HpaReplicaStatus) -> Self {
        let mut conditions = reported.conditions.iter();
        let active = conditions.find(|condition| condition.kind == "ScalingActive");
        Self {
            current_replicas: reported.current_replicas,
            desired_replicas: reported.desired_replicas,
            scaling_active: active.and_then(|active| match active.status.as_str() {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            }),
        }
    }
}

fn metrics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MetricStatus>, D::Error> {
    let written: Vec<Value> = list(deserializer)?;
    Ok(written.into_iter().map(metric).collect())
}

/// An entry that cannot be read is as good as one without a value.
fn metric(written: Value) -> MetricStatus {
    let read = Metric::deserialize(written).ok().and_then(Metric::read);
    let Some((signal, source)) = read else {
        return MetricStatus::default();
    };
    let MetricValueJson {
        average_utilization,
        average_value,
        value,
        target_type: _,
    } = source.current.unwrap_or_default();
    MetricStatus {
        signal: Some(signal),
        current: CurrentValue {
            average_utilization,
            average_value: average_value.and_then(|text| text.as_ref().parse().ok()),
            value: value.and_then(|text| text.as_ref().parse().ok()),
        },
    }
}

/// The status of an HPA; what is absent or cannot be read is as in an HPA that is new.
pub fn read(status: Value) -> HpaStatus {
    let Ok(written) = HpaStatusJson::deserialize(status) else {
        return HpaStatus::default();
    };
    let HpaReplicaStatus {
        current_replicas,
        desired_replicas,
        conditions,
    } = written.reported;
    let condition = |written: pod::PodCondition| HpaCondition {
        condition_type: written.kind.as_str().into(),
        status: written.status.as_str().into(),
        reason: Cow::Owned(written.reason),
        message: Cow::Owned(written.message),
        last_transition_time: written.last_transition_time,
        observed_generation: written.observed_generation,
    };
    HpaStatus {
        current_replicas: current_replicas.unwrap_or_default(),
        desired_replicas: desired_replicas.unwrap_or_default(),
        last_scale_time: written.last_scale_time,
        current_metrics: written.current_metrics,
        conditions: conditions.into_iter().map(condition).collect(),
    }
}

/// The status of an HPA as it is written. Times are in whole seconds, as Kubernetes stores them.
pub fn write(status: &HpaStatus) -> Value {
    let HpaStatus {
        current_replicas,
        desired_replicas,
        last_scale_time,
        current_metrics,
        conditions,
    } = status;
    json!({
        "currentReplicas": current_replicas,
        "desiredReplicas": desired_replicas,
        "lastScaleTime": last_scale_time.map(seconds),
        "currentMetrics": current_metrics.iter().map(write_metric).collect::<Vec<_>>(),
        "conditions": conditions.iter().map(write_condition).collect::<Vec<_>>(),
    })
}

/// The value of a metric in the status; of one without a value only an empty type is written.
pub fn write_metric(metric: &MetricStatus) -> Value {
    let Some(signal) = &metric.signal else {
        return json!({"type": ""});
    };
    let CurrentValue {
        average_utilization,
        average_value,
        value,
    } = &metric.current;
    let mut current = json!({});
    if let Some(percent) = average_utilization {
        current["averageUtilization"] = json!(percent);
    }
    if let Some(quantity) = average_value {
        current["averageValue"] = json!(quantity.to_string());
    }
    if let Some(quantity) = value {
        current["value"] = json!(quantity.to_string());
    }
    signal::write(signal, &current)
}

fn write_condition(condition: &HpaCondition) -> Value {
    let HpaCondition {
        condition_type,
        status,
        reason,
        message,
        last_transition_time,
        observed_generation,
    } = condition;
    let mut written = json!({
        "type": condition_type.as_str(),
        "status": status.as_str(),
        "reason": reason,
        "message": message,
        "lastTransitionTime": last_transition_time.map(seconds),
    });
    if let Some(generation) = observed_generation {
        written["observedGeneration"] = json!(generation);
    }
    written
}

fn seconds(time: Timestamp) -> String {
    format!("{time:.0}")
}
