//! A target's status for tests of readers and writers.

use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_scaling::status::HorizonParts;
use evenkeel_scaling::status::dashboard::{
    Floor, ForecastTrust, LoadForecast, LoadStatus, ObjectName, RiskStatus, ScalingStatus,
};
use evenkeel_scaling::targets::history_backfill::RefillState;
use jiff::Timestamp;

/// Deployment `shop/web` in mode floor, scaled by its HPA, with a trusted forecast.
pub fn status() -> ScalingStatus {
    let object = |kind: &str| ObjectName {
        kind: kind.into(),
        name: "web".into(),
    };
    ScalingStatus {
        namespace: "shop".into(),
        object: object("HorizontalPodAutoscaler"),
        workload: object("Deployment"),
        mode: "floor".into(),
        current: Some(4),
        min: Some(2),
        max: Some(20),
        decided: Some(6),
        plain_hpa: Some(6),
        limited_by: Some("ScaleUpPolicy".into()),
        reason: "forecast 7.2 cores".to_owned(),
        horizon_seconds: Some(75),
        horizon_parts: Some(HorizonParts {
            age: 0,
            half_window: 10,
            sync: 15,
            tick: 15,
            start_up: 35,
            node_start_up: 0,
        }),
        grounds: "forecast".into(),
        refill: RefillState::Done,
        loads: vec![cpu()],
        traffic: None,
        conditions: vec![Condition {
            kind: "ForecastTrusted".to_owned(),
            status: ConditionStatus::True,
            reason: "Trusted".to_owned(),
            message: String::new(),
            last_transition_time: Timestamp::UNIX_EPOCH,
            observed_generation: None,
        }],
        floor: Some(Floor {
            replicas: 5,
            until: Timestamp::UNIX_EPOCH,
        }),
        decisions: [].into(),
    }
}

pub(crate) fn cpu() -> LoadStatus {
    LoadStatus {
        resource: "cpu".into(),
        unit: "millicores".into(),
        now: Some(4100.0),
        at: None,
        measured_at: Some(Timestamp::UNIX_EPOCH),
        estimate: None,
        request: 1000.0,
        target: 0.8,
        forecast: Some(LoadForecast {
            at: Timestamp::UNIX_EPOCH,
            mean: 7200.0,
            lower80: 6000.0,
            upper80: 8000.0,
            lower95: 5000.0,
            upper95: 9000.0,
            model: "s-hpa".into(),
        }),
        waits_for: None,
        trust: Some(ForecastTrust {
            trusted: true,
            reason: "trusted".to_owned(),
            ratio: Some(0.83),
            coverage: None,
        }),
        risk: Some(RiskStatus {
            asked: 0.01,
            achieved: Some(0.013),
        }),
    }
}
