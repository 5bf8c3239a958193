//! Targets of zero replicas: switched off by hand, or scaled to zero by their HPA.
//!
//! The condition `ScaledToZero` tells them apart. Only behind the gate `HPAScaleToZero`, and only
//! where the HPA itself set it, are the metrics of a target without replicas looked at.

use super::reconciliation::HpaReconciliation;
use super::status::ConditionType;

/// The way in which a target came to zero replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zero {
    /// The gate is on, and the condition `ScaledToZero` holds.
    pub scaled_to_zero: bool,
    /// Besides, a metric needs no Pods to have a value.
    pub can_scale_from_zero: bool,
}

/// The consequence for a target of zero replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroReplicas {
    /// Its metrics are computed.
    pub needs_metric_computation: bool,
    /// Scaling is switched off.
    pub should_disable: bool,
}

impl Zero {
    pub(super) fn of(round: &HpaReconciliation<'_>) -> Self {
        let is_gate_on = round.controller.feature_gates.hpa_scale_to_zero;
        let scaled_to_zero = is_gate_on && round.status.holds(&ConditionType::ScaledToZero);
        Self {
            scaled_to_zero,
            can_scale_from_zero: scaled_to_zero && round.hpa.spec.has_object_or_external_metric(),
        }
    }
}

/// The consequence for a target of zero replicas with this `minReplicas`. A minimum above zero that
/// was set after scaling to zero is enough to compute metrics.
pub const fn zero_replicas(min_replicas: i32, zero: Zero) -> ZeroReplicas {
    let is_needed = (min_replicas != 0 && zero.scaled_to_zero) || zero.can_scale_from_zero;
    ZeroReplicas {
        needs_metric_computation: is_needed,
        should_disable: !is_needed,
    }
}
