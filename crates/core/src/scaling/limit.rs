//! The rule that kept a decision from the count that the load asks for.

use std::fmt;

use jiff::Timestamp;

use super::behavior::ScalingPolicy;

/// The rule that held a decision back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// The user's `minReplicas`.
    MinReplicas(i32),
    /// The user's `maxReplicas`.
    MaxReplicas(i32),
    /// A policy of the HPA's `behavior.scaleUp`.
    ScaleUpPolicy(ScalingPolicy),
    /// `behavior.scaleUp.selectPolicy: Disabled`.
    ScaleUpDisabled,
    /// The HPA controller's own limit where there is no `behavior`.
    DefaultScaleUp,
    /// The pause after the last scale-out or scale-in by prediction.
    CoolDown {
        /// The end of the pause.
        until: Timestamp,
    },
    /// No fresh measurement of the load.
    MissingData,
}

impl LimitedBy {
    /// The kind of limit, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::MinReplicas(_) => "MinReplicas",
            Self::MaxReplicas(_) => "MaxReplicas",
            Self::ScaleUpPolicy(_) => "ScaleUpPolicy",
            Self::ScaleUpDisabled => "ScaleUpDisabled",
            Self::DefaultScaleUp => "DefaultScaleUp",
            Self::CoolDown { .. } => "CoolDown",
            Self::MissingData => "MissingData",
        }
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinReplicas(min) => write!(f, "minReplicas {min}"),
            Self::MaxReplicas(max) => write!(f, "maxReplicas {max}"),
            Self::ScaleUpPolicy(policy) => write!(f, "scaleUp policy {policy}"),
            Self::ScaleUpDisabled => f.write_str("scaleUp selectPolicy Disabled"),
            Self::DefaultScaleUp => f.write_str("the HPA's default of twice the count or 4"),
            Self::CoolDown { until } => write!(f, "the cool-down until {until:.0}"),
            Self::MissingData => f.write_str("missing data"),
        }
    }
}
