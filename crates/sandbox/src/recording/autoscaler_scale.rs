//! An HPA as the simulated ones can be: bounds, and a target of cpu. Its other parts are named, so
//! that a reader knows what the replay leaves out.

use evenkeel_hpa::MetricSpec;
use evenkeel_hpa::autoscaler::{Autoscaler, AutoscalerSpec};
use evenkeel_metrics::signal::{MetricTarget, Signal};
use evenkeel_units::{Amount, Ratio, i64_as_f64};
use serde_json::Value;

use crate::scenario::{ScaleBy, ScenarioHpa};

/// The part of an HPA that is replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoscalerScale {
    /// `None` if it has no target of cpu, or its Pods request none.
    pub scale: Option<ScenarioHpa>,
    /// Parts that are not replayed, such as `behavior`.
    pub left_out: Vec<String>,
}

/// Reads the `spec` of an HPA whose Pods request this much cpu.
///
/// # Errors
/// It is no spec of an HPA, with the reason.
pub fn read_scale(spec: &Value, request: Amount) -> Result<AutoscalerScale, String> {
    let read: Autoscaler = serde_json::from_value(serde_json::json!({"spec": spec}))
        .map_err(|error| error.to_string())?;
    let AutoscalerSpec {
        min_replicas,
        max_replicas,
        ..
    } = read.spec;
    let min = min_replicas.unwrap_or(1);
    if min < 0 || max_replicas < min.max(1) {
        return Err(format!(
            "minReplicas {min} and maxReplicas {max_replicas} are not accepted: at least 0 to at \
             least 1, in this order"
        ));
    }
    let mut left_out = Vec::new();
    if min == 0 {
        left_out.push("minReplicas: 0 (1 is replayed)".to_owned());
    }
    if !spec["behavior"].is_null() {
        left_out.push("behavior (the default of Kubernetes is replayed)".to_owned());
    }
    let mut by = None;
    for metric in read.spec.hpa().metrics {
        match target(&metric, request) {
            Some(share) if by.is_none() => by = Some(ScaleBy::Cpu(share)),
            _ => left_out.push(name(&metric)),
        }
    }
    let bound = |count: i32| u32::try_from(count).unwrap_or(0).max(1);
    Ok(AutoscalerScale {
        scale: by.map(|by| ScenarioHpa {
            min: bound(min),
            max: bound(max_replicas),
            by,
        }),
        left_out,
    })
}

/// The share of the requested cpu; `None` for another metric, and without a request.
fn target(metric: &MetricSpec, request: Amount) -> Option<Ratio> {
    let MetricSpec::Known(signal, Some(target)) = metric else {
        return None;
    };
    if *signal != Signal::CPU || request == Amount::ZERO {
        return None;
    }
    let share = match target {
        MetricTarget::Utilization(percent) => f64::from(*percent) / 100.0,
        MetricTarget::AverageValue(milli) => i64_as_f64(*milli) / request.as_f64(),
        MetricTarget::Value(_) => return None,
    };
    // The simulated HPA has whole percentages.
    let percent = (share * 100.0).round().max(1.0);
    Ratio::share(percent / 100.0).ok()
}

fn name(metric: &MetricSpec) -> String {
    match metric {
        MetricSpec::Known(signal, _) => format!("the metric {}", signal.label()),
        MetricSpec::Unknown(kind) => format!("a metric of the type {kind}"),
    }
}
