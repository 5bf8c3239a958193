//! `GET /api/v1/scaling[?namespace=]`: each target of scaling, with what is known of it and what
//! was decided.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(any(test, feature = "testing"))]
pub mod sample;

use evenkeel_scaling::status::dashboard::ScalingStatus;

/// The answer: all targets, or those of one namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetList {
    pub targets: Vec<Arc<ScalingStatus>>,
}
