//! How far one step may go now: by policies, by the older limit without them, and by the bounds.

use serde::Serialize;

use super::input::{HpaDecisionInput, ScaleDirection};
use super::rescale_history::RescaleHistory;
use crate::status::reasons;
use crate::{
    DecisionTrace, ScalingRules, SelectPolicy, legacy_scale_up_limit, scale_down_limit,
    scale_up_limit,
};

/// The rule that keeps the count from what the metrics and windows ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundLimit {
    /// Reason of the condition `ScalingLimited`.
    pub reason: &'static str,
    /// The count before it, after windows.
    pub from: i32,
    pub replicas: i32,
}

/// The rules of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectionLimits {
    pub direction: &'static str,
    pub window_seconds: i64,
    /// `Max`, `Min` or `Disabled`; `None` without `behavior`.
    pub select_policy: Option<&'static str>,
    pub policies: Vec<PolicyLimit>,
    /// The count that the next step may reach, within policies and bounds.
    pub limit: i32,
    /// True if Events show all changes that the policies count.
    pub is_certain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyLimit {
    /// For example `Pods=4/15s`.
    pub policy: String,
    pub limit: i32,
}

pub(super) fn bound(trace: &DecisionTrace) -> Option<BoundLimit> {
    let normalized = trace
        .normalized
        .filter(|normalized| normalized.is_limited)?;
    Some(BoundLimit {
        reason: normalized.scaling_limited.reason,
        from: normalized.stabilized,
        replicas: normalized.replicas,
    })
}

impl BoundLimit {
    pub(super) fn is_by_max(&self) -> bool {
        self.reason == reasons::TOO_MANY_REPLICAS.reason
    }

    pub(super) fn is_by_min(&self) -> bool {
        self.reason == reasons::TOO_FEW_REPLICAS.reason
    }
}

impl DirectionLimits {
    pub(super) fn is_disabled(&self) -> bool {
        self.select_policy == Some(select_text(SelectPolicy::Disabled))
    }
}

pub(super) fn directions(
    input: &HpaDecisionInput<'_>,
    history: &RescaleHistory,
) -> Vec<DirectionLimits> {
    let Some(current) = input.current() else {
        return Vec::new();
    };
    ScaleDirection::ALL
        .map(|direction| one(input, history, current, direction))
        .to_vec()
}

fn one(
    input: &HpaDecisionInput<'_>,
    history: &RescaleHistory,
    current: i32,
    direction: ScaleDirection,
) -> DirectionLimits {
    let spec = &input.hpa.spec;
    let (min, max) = (spec.min_replicas, spec.max_replicas);
    let settings = &input.controller.settings;
    let downscale = settings.downscale_stabilization.as_secs();
    let Some(rules) = input.rules(direction) else {
        let (window, limit) = match direction {
            ScaleDirection::Up => (0, legacy_scale_up_limit(current, settings).min(max)),
            ScaleDirection::Down => (downscale, min),
        };
        return DirectionLimits {
            direction: direction.as_str(),
            window_seconds: window,
            select_policy: None,
            policies: Vec::new(),
            limit,
            is_certain: true,
        };
    };
    let events = &input.memory.scale_events;
    let limit = match direction {
        ScaleDirection::Up => {
            let (limit, _) = scale_up_limit(rules, current, events, input.now);
            limit.max(current).min(max)
        }
        ScaleDirection::Down => {
            let limit = scale_down_limit(rules, current, events, input.now);
            limit.min(current).max(min)
        }
    };
    let window = rules
        .stabilization_window_seconds
        .map_or(downscale, i64::from);
    DirectionLimits {
        direction: direction.as_str(),
        window_seconds: window,
        select_policy: Some(select_text(rules.select_policy)),
        policies: policies(input, rules, current, direction),
        limit,
        is_certain: history.shows_since(input, i64::from(rules.longest_period())),
    }
}

fn policies(
    input: &HpaDecisionInput<'_>,
    rules: &ScalingRules,
    current: i32,
    direction: ScaleDirection,
) -> Vec<PolicyLimit> {
    let events = &input.memory.scale_events;
    let limit = |policy: &crate::ScalingPolicy| {
        let start = events.period_start(current, policy.period_seconds, input.now);
        PolicyLimit {
            policy: policy.to_string(),
            limit: match direction {
                ScaleDirection::Up => policy.most_from(start),
                ScaleDirection::Down => policy.least_from(start),
            },
        }
    };
    rules.policies.iter().map(limit).collect()
}

const fn select_text(select: SelectPolicy) -> &'static str {
    match select {
        SelectPolicy::Max => "Max",
        SelectPolicy::Min => "Min",
        SelectPolicy::Disabled => "Disabled",
    }
}
