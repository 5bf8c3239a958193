//! Targets of zero replicas: switched off by hand, or scaled to zero by their HPA, as the condition
//! `ScaledToZero` says. Metrics of such a target are read only behind the gate `HPAScaleToZero` and
//! only if the HPA itself set the condition.

use super::reconciliation::HpaReconciliation;
use super::status::ConditionType;

/// How a target came to zero replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zero {
    /// The gate is on, and the condition `ScaledToZero` holds.
    pub scaled_to_zero: bool,
    /// Besides, a metric needs no Pods to have a value.
    pub can_scale_from_zero: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroReplicas {
    pub needs_metric_computation: bool,
    pub should_disable: bool,
}

impl Zero {
    pub(crate) fn of(round: &HpaReconciliation<'_>) -> Self {
        let is_gate_on = round.controller.feature_gates.hpa_scale_to_zero;
        let scaled_to_zero = is_gate_on && round.status.holds(&ConditionType::ScaledToZero);
        Self {
            scaled_to_zero,
            can_scale_from_zero: scaled_to_zero && round.hpa.spec.has_object_or_external_metric(),
        }
    }
}

/// A minimum above zero that was set after scaling to zero is enough to compute metrics.
pub const fn zero_replicas(min_replicas: i32, zero: Zero) -> ZeroReplicas {
    let is_needed = (min_replicas != 0 && zero.scaled_to_zero) || zero.can_scale_from_zero;
    ZeroReplicas {
        needs_metric_computation: is_needed,
        should_disable: !is_needed,
    }
}
