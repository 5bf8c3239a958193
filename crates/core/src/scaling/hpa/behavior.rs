//! `spec.behavior` of an HPA: as given, and as Kubernetes completes it.

use std::fmt;

use crate::units::{Quantity, replicas_ceil};

/// The unit of a policy's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyType {
    Pods,
    /// Percent of the count at the start of the period.
    Percent,
}

/// A limit on the change within a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScalingPolicy {
    /// The unit of `value`.
    pub policy_type: PolicyType,
    /// The most Pods or percent.
    pub value: i32,
    /// The period in seconds.
    pub period_seconds: i32,
}

impl ScalingPolicy {
    /// The most replicas that may follow on `start`, the count at the start of the period. Percents
    /// are rounded up, or a small target could never grow; a sum of Pods beyond 32 bits wraps
    /// around, as it does in Go.
    #[must_use]
    pub fn most_from(&self, start: i32) -> i32 {
        match self.policy_type {
            PolicyType::Pods => start.wrapping_add(self.value),
            PolicyType::Percent => {
                replicas_ceil(f64::from(start) * (1.0 + f64::from(self.value) / 100.0))
            }
        }
    }

    /// The fewest replicas that may follow on `start`, the count at the start of the period. The
    /// fraction of a percentage is cut off, so that the last replica can go too.
    #[must_use]
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

/// The rule by which one of several policies decides (`selectPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectPolicy {
    /// The one that allows the most change.
    Max,
    /// The one that allows the least change.
    Min,
    /// None: there is no change.
    Disabled,
}

/// The rules of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingRules {
    /// The window over which the most careful recommendation counts, in seconds; `None` stands for
    /// the controller's own downscale window.
    pub stabilization_window_seconds: Option<i32>,
    /// The rule by which one policy decides.
    pub select_policy: SelectPolicy,
    pub policies: Vec<ScalingPolicy>,
    /// The tolerance of this direction, as a share of the target; `None` stands for the
    /// controller's.
    pub tolerance: Option<Quantity>,
}

/// The rules of both directions, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Behavior {
    /// The rules of scaling out.
    pub scale_up: ScalingRules,
    /// The rules of scaling in.
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

    /// The longest period of the policies in seconds; 0 without policies.
    pub fn longest_period(&self) -> i32 {
        let periods = self.policies.iter().map(|policy| policy.period_seconds);
        periods.max().unwrap_or(0)
    }
}

/// The rules of one direction as given, each part optional.
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
    /// The rules with what is absent filled in as Kubernetes does.
    #[must_use]
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
