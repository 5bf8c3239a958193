//! `spec.behavior` of an HPA: as given, and as Kubernetes completes it.

use std::fmt;

use evenkeel_quantity::Quantity;
use evenkeel_units::replicas_ceil;

/// Unit of a policy's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyType {
    Pods,
    /// Percent of the count at the start of the period.
    Percent,
}

/// Limits the change within a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScalingPolicy {
    pub policy_type: PolicyType,
    /// Most Pods or percent.
    pub value: i32,
    pub period_seconds: i32,
}

impl ScalingPolicy {
    /// Percents of `start`, the count at the start of the period, are rounded up, or a small target
    /// could never grow; a sum of Pods beyond 32 bits wraps around, as in Go.
    pub fn most_from(&self, start: i32) -> i32 {
        match self.policy_type {
            PolicyType::Pods => start.wrapping_add(self.value),
            PolicyType::Percent => {
                replicas_ceil(f64::from(start) * (1.0 + f64::from(self.value) / 100.0))
            }
        }
    }

    /// The fraction of a percentage of `start` is cut off, so that the last replica can go too.
    pub fn least_from(&self, start: i32) -> i32 {
        match self.policy_type {
            PolicyType::Pods => start.wrapping_sub(self.value),
            PolicyType::Percent => {
                let left = f64::from(start) * (1.0 - f64::from(self.value) / 100.0);
                replicas_ceil(left.trunc())
            }
        }
    }
}

impl fmt::Display for ScalingPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            policy_type,
            value,
            period_seconds,
        } = self;
        write!(f, "{policy_type:?}={value}/{period_seconds}s")
    }
}

/// `selectPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectPolicy {
    Max,
    Min,
    /// No change.
    Disabled,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScalingRules {
    /// The most careful recommendation of the window counts, in seconds; `None` stands for the
    /// controller's downscale window.
    pub stabilization_window_seconds: Option<i32>,
    pub select_policy: SelectPolicy,
    pub policies: Vec<ScalingPolicy>,
    /// Share of the target; `None` stands for the controller's tolerance.
    pub tolerance: Option<Quantity>,
}

/// With the defaults of Kubernetes.
#[derive(Debug, Clone, PartialEq)]
pub struct Behavior {
    pub scale_up: ScalingRules,
    pub scale_down: ScalingRules,
}

impl ScalingRules {
    fn default_scale_up() -> Self {
        Self {
            stabilization_window_seconds: Some(0),
            select_policy: SelectPolicy::Max,
            policies: vec![
                ScalingPolicy {
                    policy_type: PolicyType::Pods,
                    value: 4,
                    period_seconds: 15,
                },
                ScalingPolicy {
                    policy_type: PolicyType::Percent,
                    value: 100,
                    period_seconds: 15,
                },
            ],
            tolerance: None,
        }
    }

    fn default_scale_down() -> Self {
        Self {
            stabilization_window_seconds: None,
            select_policy: SelectPolicy::Max,
            policies: vec![ScalingPolicy {
                policy_type: PolicyType::Percent,
                value: 100,
                period_seconds: 15,
            }],
            tolerance: None,
        }
    }

    /// In seconds; 0 without policies.
    pub fn longest_period(&self) -> i32 {
        let periods = self.policies.iter().map(|policy| policy.period_seconds);
        periods.max().unwrap_or(0)
    }
}

/// As given, each part optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesSpec {
    pub stabilization_window_seconds: Option<i32>,
    pub select_policy: Option<SelectPolicy>,
    pub policies: Option<Vec<ScalingPolicy>>,
    pub tolerance: Option<Quantity>,
}

impl RulesSpec {
    fn over(self, default: ScalingRules) -> ScalingRules {
        let Self {
            stabilization_window_seconds,
            select_policy,
            policies,
            tolerance,
        } = self;
        ScalingRules {
            stabilization_window_seconds: stabilization_window_seconds
                .or(default.stabilization_window_seconds),
            select_policy: select_policy.unwrap_or(default.select_policy),
            policies: policies.unwrap_or(default.policies),
            tolerance: tolerance.or(default.tolerance),
        }
    }
}

/// `spec.behavior` as given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BehaviorSpec {
    pub scale_up: Option<RulesSpec>,
    pub scale_down: Option<RulesSpec>,
}

impl BehaviorSpec {
    /// Fills in the defaults of Kubernetes.
    pub fn defaulted(self) -> Behavior {
        let Self {
            scale_up,
            scale_down,
        } = self;
        Behavior {
            scale_up: scale_up
                .unwrap_or_default()
                .over(ScalingRules::default_scale_up()),
            scale_down: scale_down
                .unwrap_or_default()
                .over(ScalingRules::default_scale_down()),
        }
    }
}
