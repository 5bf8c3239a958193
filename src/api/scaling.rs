//! `GET /api/v1/scaling[?namespace=]`: each target of scaling, with what is known of it and what
//! was decided.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) mod sample;

pub use evenkeel_kubernetes::condition::{Condition, ConditionStatus};
pub use evenkeel_kubernetes::plan::scaling::history_backfill::RefillState;
pub use evenkeel_kubernetes::plan::scaling::scaling_status::{
    Floor, ForecastTrust, LoadForecast, LoadStatus, ObjectName, RiskStatus, ScalingStatus,
    TrafficKindStatus, TrafficModelStatus, TrafficNeedStatus, TrafficStatus, Word,
};
pub use evenkeel_kubernetes::plan::scaling::status::HorizonParts;

/// The answer: all targets, or those of one namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetList {
    pub targets: Vec<Arc<ScalingStatus>>,
}
